// What Tasks::async_enqueue() does, for those who have to know when it waits for room.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "handoff/lazy.hpp"
#include "tasks/core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// Of a queue that is full and lets those wait who hand something in.
struct WhileFull {
  std::stop_token stop{};          // Ends the waiting, with `full`: then nothing was stored.
  std::function<void()> begins{};  // Called each time it begins to wait; must not throw.
};

Lazy<std::expected<std::vector<Enqueued>, TaskError>> enqueue_into(std::shared_ptr<TasksCore> core,
                                                                   std::vector<NewTask> all,
                                                                   WhileFull while_full);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
