// The bodies of Family. See family.hpp.
#pragma once

#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/family.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename F>
void Family::for_each(F f) const {
  SmallGuard guard(lock_);
  for (ActorCell* each = first_; each != nullptr; each = each->next_) f(*each);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
