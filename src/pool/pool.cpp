#include "handoff/pool.hpp"

#include <fmt/core.h>

#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

Duration checked_period(Duration period) {
  if (period > Duration::zero()) return period;
  throw std::invalid_argument(
      fmt::format("the period of every() must be positive, got {} ns", period.count()));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
