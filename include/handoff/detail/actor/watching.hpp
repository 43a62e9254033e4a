// Beginning and ending to watch an actor.
#pragma once

#include <memory>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ActorCell;
struct Watch;

// Its watcher is told when it has stopped, or now if it has.
void watch(const std::shared_ptr<Watch>& watch);
void unwatch(ActorCell& watcher, ActorCell& watched);
void forget_watch(Watch& watch);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
