// What happens at a server, as it happens: GET /v1/events, opened again whenever it ends.
//
//   EventStream stream(server, "/v1/events?stats=none", {.happened = ..., .missed = ...});
//   stream.start();                                   // returns when it is open, or the server cannot be reached now
//
// Thread safety: any member, any thread. What it calls is called by a thread of its own, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/detail/pool/failure_log.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/thread.hpp"
#include "tasks/remote/connection.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

class EventStream {
 public:
  // What they throw is logged; then something counts as missed, and is said to be once it listens again.
  struct Hooks {
    std::function<void(const Changes&)> happened;
    // So many were missed, or nobody knows how many. Also before the first event, if the first try has failed.
    std::function<void(std::optional<std::uint64_t>)> missed;
  };

  EventStream(Connection& server, std::string path, Hooks hooks);
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  void start();
  // Afterwards it calls nobody.
  void end();

 private:
  void run(const std::stop_token& stop);
  bool listen(const std::stop_token& stop);
  void note_failure(std::string_view what);
  bool read(std::string_view part);
  void read_block(std::string_view block, Changes& changes);

  Connection& server_;
  const std::string path_;
  const Hooks hooks_;
  Event first_try_;  // Has succeeded, or failed.
  Mutex lock_{{.name = "an event stream"}};
  bool is_ended_ = false;  // Guarded by lock_.

  std::string buffer_;  // The thread's own, with what follows.
  std::string last_id_;
  bool is_open_ = false;
  handoff::detail::FailureLog failures_;
  std::optional<Thread> thread_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
