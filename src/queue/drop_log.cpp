#include "handoff/detail/queue/drop_log.hpp"

#include <fmt/core.h>

#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

void DropLog::note_drop() {
  total_.fetch_add(1, relaxed);  // A counter: nothing is published with it.
  const auto time = now().time_since_epoch();
  auto quiet_until =
      quiet_until_.load(relaxed);  // Whoever moves it on says it: nothing is published with it.
  if (time.count() < quiet_until) return;
  if (quiet_until_.compare_exchange_strong(quiet_until, (time + interval).count(), relaxed)) say();
}

void DropLog::flush() { say(); }

void DropLog::say() {
  const auto total = total_.load(relaxed);  // Counters only.
  const auto said = said_.exchange(total, relaxed);
  if (total <= said) return;
  log_line(fmt::format("{} is full: dropped {} since the last such line, {} in all",
                       subject_.label(), total - said, total));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
