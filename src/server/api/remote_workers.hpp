// Workers that claim over HTTP: known by the names they give, so that those who look see who takes tasks.
//
// Each has a row in the store while it is known, as workers of this process have: so does explain() know that somebody takes tasks of a queue. Who has not claimed for a while, and
// has no task in hand, is forgotten.
//
// Several may share a name: those who give none, behind one address; and one that claims from its queues by turns. So a name takes what it was last seen to claim from, all of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"
#include "tasks/store.hpp"

namespace handoff::server {

class RemoteWorkers {
 public:
  static constexpr std::size_t most = 10'000;  // Others work too, but nobody sees them.
  static constexpr Duration remembered = std::chrono::minutes(2);

  static constexpr std::size_t most_queues = 1000;  // Of one.
  // Longer than any claim waits.
  static constexpr Duration queue_remembered = std::chrono::minutes(10);

  struct Arrival {
    tasks::WorkerRow worker;
    std::optional<std::int64_t> replaces{};  // A row that is to be removed then.
  };
  // Whether the worker has said from which queues it claims at all, or that is one claim of it.
  enum class Says : std::uint8_t { all_queues, some_queues };
  // What a claim has to store about its worker: nothing, if that is known.
  std::optional<Arrival> come(tasks::WorkerRow worker, Says says);
  // It is stored, in that row; or it could not be, and what it replaces is still there.
  void stored(const std::string& name, std::optional<std::int64_t> row);
  bool knows(const std::string& name);
  // It has said something about a task it has in hand.
  void heard_of(const std::string& name);
  // The claim of that worker has ended.
  void go(const std::string& name);

  // How long ago it was last heard of; nothing, if it is not known. Who waits for an answer is here.
  std::optional<tasks::Millis> unseen_for(const std::string& name);

  // It says itself that it has gone. Its row, which is to be removed, if it has one. Another one of that name is seen again with its next claim.
  std::optional<std::int64_t> leave(const std::string& name);
  // Rows of those who are forgotten now: to be removed from the store. Not of those who are `at_work`, in order: while they extend their leases they have no time to claim.
  std::vector<std::int64_t> forget(const std::vector<std::string>& at_work);

 private:
  struct Known {
    struct Queue {
      int concurrency = 1;
      TimePoint claimed_at{};
    };
    std::map<std::string, Queue> queues{};
    std::string description{};  // Of what it takes, as it is stored.
    std::optional<std::int64_t> row{};
    bool is_being_stored = false;
    int claims = 0;  // That wait now.
    TimePoint seen_at{};
    TimePoint at_work_at{};  // When it had a task in hand at last, whether or not it was heard of.
  };
  Mutex lock_{{.name = "workers elsewhere"}};
  static void note_queues(Known& known, tasks::WorkerRow& worker, Says says);
  std::map<std::string, Known> known_;
};

// Its new row.
std::int64_t store_worker(tasks::Transaction& transaction, const RemoteWorkers::Arrival& arrival);

}  // namespace handoff::server
