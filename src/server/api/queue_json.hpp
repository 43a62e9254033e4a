// Queues as JSON, and what a request may set.
#pragma once

#include <string>

#include "handoff/tasks/queue.hpp"
#include "server/api/call.hpp"
#include "server/events/meters.hpp"
#include "server/push/push_hosts.hpp"

namespace handoff::server {

std::string to_json_text(const tasks::QueueLook& queue, const Meters::Look& meter, tasks::Time now);

// What such a call takes.
BodyTaken settings_body();
// What the call sets; the rest stays as it is. Throws ApiFailure.
tasks::QueueSettings changed(tasks::QueueSettings settings, const Call& call,
                             const PushHosts& hosts);

}  // namespace handoff::server
