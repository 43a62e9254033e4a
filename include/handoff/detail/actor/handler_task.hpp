// A coroutine of an actor: a handler that waits, or the outbox that waits for room elsewhere. Each time it goes on, it does so in the actor's
// turn.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/coro/frame_memory.hpp"
#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Where it runs.
class TurnExecutor : public Executor {
 public:
  explicit TurnExecutor(ActorCell& cell) : cell_(cell) {}
  void run_soon(Runnable& runnable) noexcept final;
  std::string_view executor_name() const final { return cell_.type().name; }

 protected:
  ~TurnExecutor() = default;
  ActorCell& cell_;
};

class HandlerTask : public TurnExecutor, public Task {
 public:
  HandlerTask(ActorCell& cell, const Wait& limits, std::source_location where, ReplyCore* reply)
      : TurnExecutor(cell), Task(static_cast<TurnExecutor&>(*this), limits, where), reply_(reply) {}

  ReplyCore* take_reply() { return std::exchange(reply_, nullptr); }
  void give_back_reply(ReplyCore* reply) { reply_ = reply; }
  // The one whose coroutine the calling thread runs now, if it is one of that actor's.
  static HandlerTask* running_of(ActorCell& cell);

 protected:
  ~HandlerTask() = default;
  ReplyCore* reply_;

 private:
  friend class ActorCell;
  HandlerTask* next_ = nullptr;
  HandlerTask* previous_ = nullptr;
};

// What a handler's coroutines end by: the interrupt of the system.
const Wait& limits_of(SystemCore& system);

// `handler(message)` returns a Lazy<R>; its message lives here, since the coroutine may refer to it.
template <typename Actor, typename M, typename R>
class TypedHandlerTask final : public HandlerTask, public InFrameMemory {
 public:
  // `keeps` is what has the handler, if that is not the actor.
  TypedHandlerTask(ActorCell& cell, M&& message, ReplyCore* reply, std::shared_ptr<void> keeps)
      : HandlerTask(cell, limits_of(cell.system()), std::source_location::current(), reply),
        keeps_(std::move(keeps)),
        message_(std::move(message)) {}

  template <typename Handler>
  void begin(Handler& handler) {
    cell_.begin_task(*this);
    try {
      lazy_.emplace(handler(std::move(message_)));
    } catch (...) {
      end(std::current_exception());
      return;
    }
    start(LazyAccess::promise(*lazy_));
  }

 private:
  void done() noexcept override {
    auto& promise = LazyAccess::promise(*lazy_);
    auto error = promise.error();
    if (!error && reply_ != nullptr) {
      try {
        if constexpr (std::is_void_v<R>) {
          if constexpr (requires { typename M::Reply; }) {
            if constexpr (std::is_void_v<typename M::Reply>) answer();
          }
        } else {
          answer(std::move(*promise.value()));
        }
      } catch (...) {
        error = std::current_exception();
      }
    }
    end(std::move(error));
  }
  template <typename... Value>
  void answer(Value&&... value) {
    auto& state = *static_cast<ReplyState<typename M::Reply>*>(reply_);
    state.answer(std::forward<Value>(value)...);
    reply_ = nullptr;
  }
  void end(std::exception_ptr error) noexcept {
    lazy_.reset();
    cell_.end_task(*this, error, MessageView(message_ops<M>, &message_));
    // Last, and the error is his then: who hears of a failure finds it noted.
    const auto code = error ? AskError::Code::failed : AskError::Code::unanswered;
    if (ReplyCore* const reply = take_reply()) reply->refuse(code, std::move(error));
    delete this;
  }

  const std::shared_ptr<void> keeps_;
  M message_;
  std::optional<Lazy<R>> lazy_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
