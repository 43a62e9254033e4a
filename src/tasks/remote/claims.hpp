// How a worker here gets tasks of a server.
//
// What it wants now is asked for at once, by its own thread. What is not there is a wish: a thread of ours waits for it at the server, in one request for all queues that the
// worker has room in, and rings the worker when something has come. Nobody polls.
//
// Invariants:
// - For each queue, what has arrived and what is asked for is never more than the worker had room for: a queue is asked for by one of the two threads at a time, and after
//   something has arrived only once the worker has taken it.
// - Each request has an id of its own. If its answer is lost, or not waited for any more, the server is told to take back what it may have given. Until it could be told, that is remembered; if
//   too many are, or this process dies, leases end.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/thread.hpp"
#include "tasks/remote/connection.hpp"
#include "tasks/remote/wire.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

struct ClaimsOptions {
  WorkerRow worker;
  bool has_codec = false;
  std::function<void()> ring;  // Something has come. Called by a thread of ours.
};

class Claims {
 public:
  Claims(Connection& server, ClaimsOptions options);
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Throws StoreFailure; then nothing was taken.
  ClaimResult claim(const ClaimRequest& request);
  // From now on what is not there is no wish.
  void wait_for_nothing();
  // Takes no more, and gives back what was not taken from here.
  void end();

 private:
  wire::Claim claim_of(std::map<std::string, int> queues, Millis wait) const;
  std::expected<std::vector<Claimed>, Problem> ask(const wire::Claim& claim,
                                                   const std::stop_token& stop);
  void wish(const std::string& queue, int most);
  Millis choose_locked();
  void run(const std::stop_token& stop);
  void wait_at_server(const std::stop_token& stop);
  void take_in(std::vector<Claimed> tasks);
  void note_failure(const Problem& problem);
  void note_success();
  void forget(std::string claim_id);
  bool release_lost(const std::stop_token& stop);

  Connection& server_;
  const ClaimsOptions options_;
  Event bell_;
  Mutex lock_{{.name = "claims at a server"}};
  // Guarded by lock_.
  Millis lease_for_{};
  std::map<std::string, int> wishes_;
  std::map<std::string, int> asked_;  // In the request that waits now.
  std::string asked_last_;            // Of many queues.
  std::stop_source ends_request_;     // Of that one.
  std::map<std::string, std::vector<Claimed>> arrived_;
  std::vector<std::string> lost_;  // Requests whose answers nobody has.
  bool waits_ = true;
  bool is_ended_ = false;

  bool is_failing_ = false;  // The thread's own,
  Backoff backoff_;          // the same.
  Thread thread_;            // Last: it uses all of the above.
};

// Gives back what somebody has claimed and does not want. Their leases end all the same.
void give_back(Connection& server, const std::vector<Claimed>& tasks);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
