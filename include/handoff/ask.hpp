// What came of a question to an actor, and the way to answer one later.
//
//   auto cents = account.ask(Balance{}, 1s);                  // std::expected<std::int64_t, AskError>
//   if (!cents) log("no balance: {}", to_string(cents.error()));
//
// In a handler, instead of returning the answer:
//
//   void on(Quote quote) { waiting_.push_back(reply_later<Quote>()); }     // ReplyTo<Price>
//   void on(Tick tick) { for (auto& each : waiting_) each.reply(tick.price); }
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// Answers one question, once. Move-only; may be kept, and passed on to others. If it is destroyed first, who asked is told `unanswered`.
template <typename R>
class ReplyTo {
 public:
  ReplyTo() = default;                                               // Of nobody.
  explicit ReplyTo(detail::ReplyState<R>* state) : state_(state) {}  // Takes over a reference.
  ReplyTo(ReplyTo&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  ReplyTo& operator=(ReplyTo&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~ReplyTo() {
    if (state_ != nullptr) state_->refuse(AskError::Code::unanswered, nullptr);
  }

  // False for one that has answered, and for a message that was sent and not asked: nobody waits for the answer.
  bool is_awaited() const { return state_ != nullptr; }

  // Does nothing if nobody waits any more.
  template <typename... Value>
    requires(std::is_void_v<R> ? sizeof...(Value) == 0
                               : std::is_constructible_v<detail::ReplyValue<R>, Value && ...>)
  void reply(Value&&... value) {
    if (auto* const state = std::exchange(state_, nullptr)) {
      state->answer(std::forward<Value>(value)...);
    }
  }
  // Who asked is told `failed`, with this as the cause.
  void fail(std::exception_ptr cause) {
    if (auto* const state = std::exchange(state_, nullptr)) {
      state->refuse(AskError::Code::failed, std::move(cause));
    }
  }

 private:
  detail::ReplyState<R>* state_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
