// A turn at a queue as something to co_await, and as one case of a select. Written once for all queues.
//
// Turn is a Turnstile::Turn with a few more members: place() is where it waits, Stay how it stands there (Turnstile::Visit, or what has
// the same members); finish() gives the result, once; refuse(refusal) is the result of a wait that ended first.
#pragma once

#include <optional>
#include <source_location>
#include <stop_token>
#include <utility>

#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename Turn>
struct TurnOwner {
  template <typename... Args>
  explicit TurnOwner(Args&&... args) : turn(std::forward<Args>(args)...) {}
  Turn turn;  // There before the stay that refers to it.
};

// Is its stay rather than having one: that is 16 bytes less of every suspended take.
template <typename Turn>
class TurnOperation final : private TurnOwner<Turn>, public Turn::Stay {
  using TurnOwner<Turn>::turn;

 public:
  template <typename... Args>
  explicit TurnOperation(Args&&... args)
      : TurnOwner<Turn>(std::forward<Args>(args)...), Turn::Stay(turn.place(), turn) {}

  bool ready(const std::stop_token& stop) {
    if (!stop.stop_requested()) return turn.attempt();
    this->refuse(Refusal::stopped);
    return true;
  }
  auto result() {
    if (const auto refusal = this->refusal()) return turn.refuse(*refusal);
    return turn.finish();
  }
};

// A take as a case: what on_take() returns. Turn has besides: is_finished(), and may_finish(queue), which only looks.
template <typename Queue, typename Turn, typename F>
class TakeCase final : public WatchedCase {
 public:
  TakeCase(Queue& queue, F handler, std::source_location where)
      : WatchedCase(where), queue_(queue), handler_(std::move(handler)) {}
  TakeCase(TakeCase&& other)
      : WatchedCase(other), queue_(other.queue_), handler_(std::move(other.handler_)) {}

  bool attempt() override { return turn_.emplace(queue_).attempt(); }
  void stand_in_line(Waiter& waiter) override {
    turn_.emplace(queue_);
    stay_.emplace(turn_->place(), *turn_).stand_in_line(waiter);
  }
  bool look() override { return stay_->look(); }
  bool may_happen() const override {
    // Whoever was to give it a turn there, and could not claim it, is past the lock: what the turn was for can be seen.
    if (stay_) stay_->pass_lock();
    return Turn::may_finish(queue_);
  }
  bool leave() override {
    if (!stay_) return false;
    stay_.reset();
    return turn_->is_finished();
  }
  std::optional<Refusal> finish() override {
    const ResetAtEnd at_end(turn_);
    return handle(handler_, turn_->finish());
  }

 private:
  struct Stay final : Turn::Stay {
    using Turn::Stay::Stay;
  };
  struct ResetAtEnd {
    explicit ResetAtEnd(std::optional<Turn>& owner) : turn(owner) {}
    ~ResetAtEnd() { turn.reset(); }
    std::optional<Turn>& turn;
  };

  Queue& queue_;
  F handler_;
  std::optional<Turn> turn_;
  std::optional<Stay> stay_;  // While it stands in line.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
