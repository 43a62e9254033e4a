// Which memory orders are used, and where; and one of them weakened, to see whether a kernel notices.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::weak {

enum class Access : std::uint8_t { load, store, change };

// One access in the source, and the order it asks for.
struct Site {
  std::string file;
  unsigned line;
  unsigned column;
  Access access;
  std::memory_order order;
};

// What this access is to be done with: as asked for, unless it is the one to be weakened.
std::memory_order order_at(const std::source_location& where, Access access,
                           std::memory_order order);

// From now on notes every access.
void note_sites();
const std::vector<Site>& noted_sites();

// From now on this access has that order.
void weaken(const Site& site, std::memory_order order);

// The orders that are weaker by a step or more.
std::vector<std::memory_order> weaker_than(const Site& site);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::weak
