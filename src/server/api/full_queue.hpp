// Whom a full queue has refused is told when to come back: by how fast it was worked off in the last minute.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

#include "handoff/tasks/error.hpp"
#include "server/api/call.hpp"
#include "server/api/context.hpp"
#include "server/events/meters.hpp"

namespace handoff::server {

inline constexpr std::chrono::seconds longest_until_room{60};
// Where nothing was done in the last minute: soon enough to meet a worker that has just begun, and for clients that try for ten seconds.
inline constexpr std::chrono::seconds until_room_if_idle{5};

// How long such a queue takes to do so many tasks; 1 s to the longest.
std::chrono::seconds until_room(std::size_t tasks, const Meters::Look& queue);

// Of a call that has handed in so many tasks.
ApiError refusal_of(ApiContext& api, const tasks::TaskError& error, std::size_t tasks);

// As must().
template <typename Expected>
auto must_have_room(ApiContext& api, std::size_t tasks, Expected&& result) {
  if (!result) throw ApiFailure(refusal_of(api, result.error(), tasks));
  return *std::forward<Expected>(result);
}

}  // namespace handoff::server
