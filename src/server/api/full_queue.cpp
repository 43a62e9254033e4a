#include "server/api/full_queue.hpp"

#include <algorithm>
#include <cmath>

namespace handoff::server {

std::chrono::seconds until_room(std::size_t tasks, const Meters::Look& queue) {
  if (queue.last_minute.done == 0) return until_room_if_idle;
  const double each = queue.span / static_cast<double>(queue.last_minute.done);
  const double all = std::ceil(static_cast<double>(tasks) * each);
  const auto longest = static_cast<double>(longest_until_room.count());
  return std::chrono::seconds(static_cast<std::int64_t>(std::clamp(all, 1.0, longest)));
}

ApiError refusal_of(ApiContext& api, const tasks::TaskError& error, std::size_t tasks) {
  ApiError refusal = ApiError::from(error);
  if (!error.queue.empty()) {
    refusal.retry_after = until_room(tasks, api.meters.look(error.queue));
  }
  return refusal;
}

}  // namespace handoff::server
