#include "future_subject.hpp"

#include <fmt/core.h>

#include "handoff/detail/core/places.hpp"
#include "handoff/detail/core/wait_graph.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "sync/line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

FutureSubject::FutureSubject(FutureCore& core, const Worker* blocked)
    : Primitive("Future", fmt::format("{}:{}", file_of(core.where()), core.where().line())),
      core_(core),
      blocked_(blocked) {
  enter_if_named();
}

FutureSubject::~FutureSubject() {
  retire();
#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
  forget_holders(*this);
#endif
}

Stats FutureSubject::stats() const { return stats_of(core_.waiters()); }

void FutureSubject::report_waits(std::vector<WaitInfo>& waits) const {
  const std::size_t before = waits.size();
  core_.waiters().report(*this, waits);
  if (blocked_ == nullptr || core_.phase() > FutureCore::Phase::withdrawn) return;
  for (std::size_t i = before; i < waits.size(); ++i) waits[i].held_by = blocked_->pool.shortage();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
