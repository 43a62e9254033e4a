// Telling others that a task has ended: by a task of its own, so that it is neither lost nor forgotten.
//
//   NewTask report{.queue = "reports", .kind = "monthly"};
//   report.notify_url = "http://127.0.0.1:9000/reports-are-done";
//
// When such a task is done, dead or cancelled, however that came, the same transaction puts a task of kind "notify" into the queue "handoff.notify":
//
//   {"url": "http://...", "task": {"id", "queue", "kind", "state", "result", "reason", "finished_at", "workflow", "step"}}
//
// A server of the store (`handoff serve`) POSTs `task` to `url`, and tries again as the settings of that queue say. A task that is retried tells once more when it ends again.
// Where no server runs, they wait in that queue: for one that does, or for a Worker of yours that handles them.
//
// They are stored whether their queue has room or not; but while it has none, a new task that asks for one is refused as `full`, with the field "notify". So there are never more
// of them than that queue's capacity, and one for each task that was accepted before. A result that cannot stand there as JSON, because a codec has encoded it or it is nested too deep, is in `result_text`, as it is stored.
//
// Queues whose names begin with "handoff." are for such things: they can be looked at, set, paused and worked off as others, but nobody else puts tasks into them.
#pragma once

#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

inline constexpr std::string_view reserved_prefix = "handoff.";
inline constexpr std::string_view notify_queue = "handoff.notify";
inline constexpr std::string_view notify_kind = "notify";

inline bool is_reserved(std::string_view queue) { return queue.starts_with(reserved_prefix); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
