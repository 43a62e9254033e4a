// Why a task is not running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

struct Explanation {
  enum class Code : std::uint8_t {
    running,
    finished,
    paused,               // Its queue is.
    future,               // Its time is ahead.
    waiting_for,          // Others must be done first.
    rate_limited,         // Its queue may start no more for a moment.
    concurrency_limited,  // As many of its queue run as may.
    group_busy,           // As many of its group run, or go before it, as may.
    no_worker,            // Nobody takes tasks of its queue, or of its kind.
    next,                 // Nothing stands in its way.
    queued,               // Others go first.
  };
  Code code = Code::queued;
  std::string message;                   // A sentence for people.
  std::optional<std::int64_t> position;  // 1: it is the next of its queue. Not beyond 10,001.
};

std::string_view to_string(Explanation::Code code);

// Who takes tasks.
struct WorkerLook {
  std::string name;
  struct Queue {
    std::string name;
    int concurrency = 0;
  };
  std::vector<Queue> queues;
  std::vector<std::string> kinds;  // Empty: any.
  Time started_at;
  Time
      seen_at;  // Its last heartbeat, if it has one; those in processes of the same machine are known to live.
  struct Running {
    TaskId task;
    std::string queue;
    std::string kind;
    std::optional<Time> since;
  };
  std::vector<Running> running;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
