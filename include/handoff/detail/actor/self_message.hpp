// Messages of an actor to itself, later.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/typed_cell.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// What after() and every() of an actor return. Dropping it is fine: the timer goes on.
class SelfTimerHandle {
 public:
  SelfTimerHandle() = default;
  explicit SelfTimerHandle(const std::shared_ptr<detail::SelfTimer>& timer) : timer_(timer) {}
  // In the actor's handlers: no more messages come from it.
  void cancel() {
    if (const auto timer = timer_.lock()) timer->cancel();
  }

 private:
  std::weak_ptr<detail::SelfTimer> timer_;
};

namespace detail {

template <typename A, typename M>
class TypedSelfTimer final : public SelfTimer {
 public:
  TypedSelfTimer(ActorCell& cell, M&& message, Duration period)
      : SelfTimer(cell, period),
        is_periodic_(period > Duration::zero()),
        message_(std::move(message)) {}

 private:
  void handle() override {
    ReplyCore* nobody = nullptr;
    auto& count = cell_.extras().from_timers;
    count.store(count.load(relaxed) + 1, relaxed);  // For inspect(); one writer.
    try {
      if constexpr (std::is_copy_constructible_v<M>) {
        if (is_periodic_) {
          M copy(message_);
          return handle_message<A, M>(cell_, std::move(copy), nobody);
        }
      }
      handle_message<A, M>(cell_, std::move(message_), nobody);
    } catch (...) {
      cell_.fail(std::current_exception(), MessageView(message_ops<M>, &message_));
    }
  }

  const bool is_periodic_;
  M message_;
};

template <typename A, typename M>
SelfTimerHandle arm_self(ActorCell& cell, M&& message, TimePoint due, Duration period) {
  static_assert(A::Messages::template has<M>, "this actor does not take this message");
  auto timer = std::make_shared<TypedSelfTimer<A, M>>(cell, std::move(message), period);
  auto& timers = cell.extras().timers;
  std::erase_if(timers, [](const auto& each) { return each->is_cancelled(); });
  timers.push_back(timer);
  timer->arm(due);
  return SelfTimerHandle(timer);
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
