// A queue as JSON, with the names that GET /v1/queues has; what only a server can know, such as rates, is not there.
#pragma once

#include <string>

#include "handoff/tasks/queue.hpp"

namespace handoff::cli {

std::string to_json_text(const tasks::QueueLook& queue);
std::string_view name_of(WhenFull policy);
// "sidekiq", "fixed:30s", "exponential:1s:1h": as `handoff queues set --backoff` takes it.
std::string to_text(const tasks::RetryPolicy& policy);

}  // namespace handoff::cli
