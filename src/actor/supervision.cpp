// What happens when a handler throws.
#include "handoff/supervision.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "family.ipp"
#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/core/error_text.hpp"
#include "order.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

std::shared_ptr<const Supervision> supervise(Supervision policy) {
  if (policy.within <= Duration::zero()) {
    throw std::invalid_argument("within must be positive: the time in which restarts are counted");
  }
  if (policy.backoff < Duration::zero() || policy.most_backoff < Duration::zero()) {
    throw std::invalid_argument("backoff and most_backoff must not be negative");
  }
  return std::make_shared<const Supervision>(std::move(policy));
}

namespace detail {

namespace {
const Supervision& default_policy() {
  static const Supervision policy;
  return policy;
}
}  // namespace

const Supervision& ActorCell::policy() const {
  if (parent_ == nullptr) return system_.supervision();
  const ActorExtras* const of_parent = parent_->extras_if_any();
  return of_parent != nullptr && of_parent->policy ? *of_parent->policy : default_policy();
}

Directive ActorCell::decide(const Supervision& policy, const Failure& failure) const {
  Directive directive = policy.directive;
  if (policy.decide) {
    try {
      directive = policy.decide(failure);
    } catch (...) {
      directive = Directive::stop;
    }
  }
  if (directive == Directive::escalate && parent_ == nullptr) return Directive::stop;
  // There is nothing that could go on.
  if (directive == Directive::resume && object_ == nullptr) return Directive::stop;
  return directive;
}

Directive ActorCell::fail(std::exception_ptr error, MessageView message) {
  const Supervision& by = policy();
  const Failure failure{.actor = path(), .message = message, .error = error};
  const Directive directive = decide(by, failure);
  {
    std::string text = text_of(error);
    if (message) text = fmt::format("{}: {}", message.type(), text);
    ActorExtras& all = extras();
    SmallGuard guard(lock_);
    ++all.failures;
    all.last_failure = std::move(text);
  }
  system_.note_failure(failure, directive);
  if (!is_stopping()) apply(directive, by, error);
  return directive;
}

void ActorCell::apply(Directive directive, const Supervision& by, const std::exception_ptr& error) {
  const auto to_siblings = [&](auto tell) {
    Family* const all = by.one_for_all ? family() : nullptr;
    if (all == nullptr) return;
    all->for_each([&](ActorCell& each) {
      if (&each != this) tell(each);
    });
  };
  switch (directive) {
    case Directive::resume: return;
    case Directive::restart:
      restart_or_stop(by);
      return to_siblings([this](ActorCell& each) {
        if (is_stopping()) return each.request_stop(Stop::now);  // It has been too often.
        Order::give(each, Order::Kind::restart);
      });
    case Directive::stop:
      to_siblings([](ActorCell& each) { each.request_stop(Stop::now); });
      has_failed_ = true;
      return begin_stop(StopReason::failed);
    case Directive::escalate:
      phase_.store(Phase::failed, relaxed);  // Its turn's own; others only look.
      return Order::give(*parent_, Order::Kind::failed, this, error);
  }
}

void ActorCell::restart_or_stop(const Supervision& by) {
  auto& times = extras().restart_times;
  const TimePoint at = now();
  std::erase_if(times, [&](TimePoint each) { return at - each > by.within; });
  if (times.size() >= by.most_restarts) {
    has_failed_ = true;
    return begin_stop(StopReason::failed);
  }
  Duration delay = std::min(by.backoff, by.most_backoff);
  for (std::size_t i = 0; i < times.size() && delay < by.most_backoff; ++i) {
    delay = std::min(delay * 2, by.most_backoff);
  }
  times.push_back(at);
  begin_restart(delay);
}

// The parent was told to go on, and so is the child that had left its failure to it; and so on down.
void ActorCell::resume_after_failure() {
  if (phase() != Phase::failed) return;
  if (object_ == nullptr) {  // Its constructor has thrown: nothing could go on.
    has_failed_ = true;
    return begin_stop(StopReason::failed);
  }
  phase_.store(Phase::running, relaxed);  // Its turn's own.
  if (ActorExtras* const all = extras_if_any()) {
    all->children.for_each([](ActorCell& each) { Order::give(each, Order::Kind::resume); });
  }
}

// -- Orders ---------------------------------------------------------------------------------------

Order::Order(ActorCell& whom, Kind kind, ActorCell* child, std::exception_ptr error)
    : Runnable(&Order::run_in_turn),
      whom_(whom),
      kind_(kind),
      child_(child),
      error_(std::move(error)) {
  whom_.add_reference();
  if (child_ != nullptr) child_->add_reference();
}

Order::~Order() {
  whom_.drop_reference();
  if (child_ != nullptr) child_->drop_reference();
}

void Order::give(ActorCell& whom, Kind kind, ActorCell* child, std::exception_ptr error) {
  auto* const order = new Order(whom, kind, child, std::move(error));
  if (!whom.run_urgently(*order)) delete order;
}

void Order::run_in_turn(Runnable& runnable) {
  const auto destroy = [](Order* order) { delete order; };
  const std::unique_ptr<Order, decltype(destroy)> order(static_cast<Order*>(&runnable), destroy);
  ActorCell& whom = order->whom_;
  if (whom.is_stopping()) {
    // It decides no more. The child may be draining, and would wait for it for ever.
    if (order->kind_ == Kind::failed) order->child_->request_stop(ActorCell::Stop::now);
    return;
  }
  switch (order->kind_) {
    case Kind::restart:
      if (whom.phase() == ActorCell::Phase::running) whom.begin_restart(Duration::zero());
      return;
    case Kind::resume: return whom.resume_after_failure();
    case Kind::failed:
      // Restarted or stopped, it stops its children itself.
      if (whom.phase() == ActorCell::Phase::restarting) return;
      if (whom.fail(order->error_, MessageView()) == Directive::resume) {
        give(*order->child_, Kind::resume);
      }
      return;
  }
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
