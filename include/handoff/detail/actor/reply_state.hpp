// What who asks and who answers share: a future that is completed by the answer.
#pragma once

#include <cstddef>
#include <exception>
#include <expected>
#include <new>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include "handoff/clock.hpp"
#include "handoff/detail/actor/ask_error.hpp"
#include "handoff/detail/actor/message_view.hpp"
#include "handoff/detail/coro/frame_memory.hpp"
#include "handoff/detail/pool/future_state.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Without knowing the answer's type: for what comes to an end without one.
class ReplyCore {
 public:
  // `type` stands for that of the answer.
  ReplyCore(Deadline deadline, const void* type) : deadline_(deadline), type_(type) {}
  ReplyCore(const ReplyCore&) = delete;
  ReplyCore& operator=(const ReplyCore&) = delete;

  // No answer will come. Ends the answering side's reference.
  virtual void refuse(AskError::Code code, std::exception_ptr cause) noexcept = 0;
  // Until when who asked waits.
  Deadline deadline() const { return deadline_; }
  const void* type() const { return type_; }

 protected:
  ~ReplyCore() = default;

 private:
  const Deadline deadline_;
  const void* const type_;
};

template <typename R>
using ReplyValue = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

template <typename R>
class ReplyState final : public FutureState<std::expected<R, AskError>>, public ReplyCore {
  using Result = std::expected<R, AskError>;
  static_assert(!std::is_reference_v<R>, "an answer is a value");

 public:
  ReplyState(Deadline deadline, std::source_location where)
      : FutureState<Result>(nullptr, where, nullptr), ReplyCore(deadline, &type_tag<R>) {}

  // It comes and goes with every question.
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* state, std::size_t size) { free_frame(state, size); }
  static void* operator new(std::size_t size, std::align_val_t alignment) {
    return ::operator new(size, alignment);
  }
  static void operator delete(void* state, std::size_t, std::align_val_t alignment) {
    ::operator delete(state, alignment);
  }

  // Ends the answering side's reference, as refuse() does. If the value's constructor throws, nothing has happened.
  template <typename... Value>
  void answer(Value&&... value) {
    complete_with(Result(std::in_place, std::forward<Value>(value)...));
  }
  void refuse(AskError::Code code, std::exception_ptr cause) noexcept override {
    complete_with(std::unexpected(AskError{.code = code, .cause = std::move(cause)}));
  }

 private:
  void complete_with(Result&& result) {
    const bool is_first = this->begin();
    HANDOFF_ASSERT(is_first);
    std::exception_ptr error;
    try {
      this->keep(std::move(result));
    } catch (...) {  // The answer's move constructor.
      error = std::current_exception();
    }
    this->complete(std::move(error));
    this->drop_reference();
  }
  // Nobody calls it: it is begun and completed.
  void call(const std::stop_token&) override { HANDOFF_ASSERT(false); }
  void drop() noexcept override {}
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
