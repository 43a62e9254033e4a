// Sending to an actor whose class is not known, only what it does with the message. What ActorRef, Address and Router have in common.
#pragma once

#include <expected>
#include <source_location>
#include <stop_token>
#include <utility>

#include "handoff/detail/actor/asks.hpp"
#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/actor/room_wait.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/actor/typed_cell.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/future.hpp"
#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// A reference to an actor of any class: keeps what there is of it.
class AnyRef {
 public:
  AnyRef() = default;
  explicit AnyRef(ActorCell* cell) : cell_(cell) {}  // Takes over a reference.
  AnyRef(const AnyRef& other) : cell_(other.cell_) {
    if (cell_ != nullptr) cell_->add_reference();
  }
  AnyRef(AnyRef&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  AnyRef& operator=(AnyRef other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~AnyRef() {
    if (cell_ != nullptr) cell_->drop_reference();
  }
  ActorCell* get() const { return cell_; }

 private:
  ActorCell* cell_ = nullptr;
};

template <typename M>
std::expected<void, Refusal> send_message(ActorCell* cell, const MessageHandler& handler,
                                          M&& message, const Wait& wait,
                                          std::source_location where) {
  if (cell == nullptr) return std::unexpected(Refusal::closed);
  const auto construct = [&message](void* place) {
    Stored<std::remove_cvref_t<M>>::construct(place, std::forward<M>(message));
  };
  if (const auto refusal = cell->push(handler, nullptr, Waits::by_outbox, wait, where, construct)) {
    return std::unexpected(*refusal);
  }
  return {};
}

// The answering side's half of a question that was refused, or of what nobody will answer.
template <typename R>
class Question {
 public:
  using Result = std::expected<R, AskError>;
  Question(Deadline deadline, std::source_location where)
      : state_(new ReplyState<R>(deadline, where)), future_(state_) {}
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() {
    if (!is_accepted_) state_->drop_reference();
  }

  ReplyCore* reply() { return state_; }
  FutureCore& state() { return *state_; }
  void accepted() { is_accepted_ = true; }
  Future<Result>& future() { return future_; }
  static Result result_of(std::expected<Result, Refusal> got) {
    if (!got) return std::unexpected(ask_error(got.error()));
    return std::move(*got);
  }

 private:
  ReplyState<R>* const state_;
  Future<Result> future_;
  bool is_accepted_ = false;
};

template <typename R>
class AsyncAnswer final : public AnswerWait {
 public:
  AsyncAnswer(Question<R>& question, const ActorCell& asked, Deadline deadline)
      : AnswerWait(question.state(), asked, deadline), question_(question) {}
  std::expected<std::expected<R, AskError>, Refusal> result() {
    if (refusal()) return std::unexpected(*refusal());
    return question_.future().get();
  }

 private:
  Question<R>& question_;
};

template <typename M>
auto ask_message(ActorCell* cell, const MessageHandler& handler, M&& message, const Wait& wait,
                 std::source_location where)
    -> std::expected<ReplyOf<std::remove_cvref_t<M>>, AskError> {
  using Type = std::remove_cvref_t<M>;
  using R = ReplyOf<Type>;
  if (cell == nullptr) return std::unexpected(AskError{AskError::Code::closed});
  WaitsFor edge;
  ActorCell* const from = ActorCell::current();
  if (!edge.begin_ask(from, *cell)) {
    return std::unexpected(AskError{AskError::Code::deadlock});
  }
  if (from != nullptr) from->about_to_wait();
  Question<R> question(wait.deadline, where);
  const auto construct = [&message](void* place) {
    Stored<Type>::construct(place, std::forward<M>(message));
  };
  if (const auto refusal =
          cell->push(handler, question.reply(), Waits::here, wait, where, construct)) {
    return std::unexpected(ask_error(*refusal));
  }
  question.accepted();
  return Question<R>::result_of(question.future().get(wait, where));
}

// Whom the wait of a coroutine holds up: the actor whose handler it is, unless that takes other messages meanwhile.
inline ActorCell* held_up_by_coroutine() {
  ActorCell* const cell = ActorCell::current();
  return cell == nullptr || cell->is_reentrant() ? nullptr : cell;
}

// From coroutines. Everything is an argument: it lives as long as the coroutine does.
template <typename M>
Lazy<std::expected<void, Refusal>> send_later(AnyRef to, const MessageHandler& handler, M message,
                                              ReplyCore* reply, Deadline deadline,
                                              std::source_location where) {
  if (to.get() == nullptr) co_return std::unexpected(Refusal::closed);
  ActorCell& cell = *to.get();
  auto construct = [&message](void* place) { Stored<M>::construct(place, std::move(message)); };
  const WaitSite site{.operation = "send", .where = where};
  const auto refusal = cell.push_now_or_behind(handler, reply, MessageMaker(construct));
  if (!refusal) co_return std::expected<void, Refusal>();
  if (*refusal != Refusal::timed_out) co_return std::unexpected(*refusal);
  WaitsFor edge;
  if (!edge.begin_room(held_up_by_coroutine(), cell)) co_return std::unexpected(Refusal::full);
  const std::uintptr_t extra = cell.extra_for(reply);
  const auto sent =
      co_await Awaitable<Sending>(site, deadline, cell, handler, extra, MessageMaker(construct));
  if (!sent && has_trace(extra)) static_cast<void>(take_reply(extra));
  co_return sent;
}

template <typename M>
Lazy<std::expected<ReplyOf<M>, AskError>> ask_later(AnyRef to, const MessageHandler& handler,
                                                    M message, Deadline deadline,
                                                    std::source_location where) {
  if (to.get() == nullptr) co_return std::unexpected(AskError{AskError::Code::closed});
  ActorCell& cell = *to.get();
  WaitsFor edge;
  if (!edge.begin_ask(held_up_by_coroutine(), cell)) {
    co_return std::unexpected(AskError{AskError::Code::deadlock});
  }
  Question<ReplyOf<M>> question(deadline, where);
  auto construct = [&message](void* place) { Stored<M>::construct(place, std::move(message)); };
  auto refusal = cell.push_now_or_behind(handler, question.reply(), MessageMaker(construct));
  if (refusal == Refusal::timed_out) {  // It has to wait.
    auto waiting =
        send_later<M>(to, handler, std::move(message), question.reply(), deadline, where);
    const auto sent = co_await std::move(waiting);
    refusal = sent ? std::nullopt : std::optional(sent.error());
  }
  if (refusal) co_return std::unexpected(ask_error(*refusal));
  question.accepted();
  const WaitSite site{.operation = "ask", .where = where};
  auto got =
      co_await Awaitable<AsyncAnswer<ReplyOf<M>>>(site, Deadline(), question, cell, deadline);
  co_return Question<ReplyOf<M>>::result_of(std::move(got));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
