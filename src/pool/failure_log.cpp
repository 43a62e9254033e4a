#include "handoff/detail/pool/failure_log.hpp"

#include <fmt/core.h>

#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

void FailureLog::note(std::string_view line) {
  unsaid_.fetch_add(1, relaxed);  // Counters only: nothing is published with them.
  const auto at = now().time_since_epoch();
  auto until = quiet_until_.load(relaxed);
  if (at.count() < until) return;
  if (!quiet_until_.compare_exchange_strong(until, (at + interval).count(), relaxed)) return;
  const auto times = unsaid_.exchange(0, relaxed);  // A counter only.
  log_line(times <= 1 ? std::string(line) : fmt::format("{} ({} times)", line, times));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
