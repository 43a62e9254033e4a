#include <memory>
#include <utility>

#include "handoff/detail/core/small_lock.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace {

// Shared, so that a report in the making keeps its handler alive while another thread replaces it.
struct Handler {
  detail::SmallLock lock;
  std::shared_ptr<const LockProblemHandler> current;
};

Handler& handler() {
  static auto* const instance = new Handler;  // Never destroyed: static destructors lock, too.
  return *instance;
}

}  // namespace

LockProblemHandler on_lock_problem(LockProblemHandler next) {
  auto replacement = next ? std::make_shared<const LockProblemHandler>(std::move(next)) : nullptr;
  {
    detail::SmallGuard guard(handler().lock);
    handler().current.swap(replacement);
  }
  return replacement ? *replacement : LockProblemHandler();
}

namespace detail {

void report_lock_problem(const LockProblem& problem) noexcept {
  std::shared_ptr<const LockProblemHandler> current;
  {
    SmallGuard guard(handler().lock);
    current = handler().current;
  }
  if (current) {
    (*current)(problem);
  } else {
    log_line(problem.report);
  }
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
