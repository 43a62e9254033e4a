// What a waiting sender and a waiting receiver leave in their links: where to take the item from, where to put it. A peer does that
// under the channel's lock, so a move that throws must not pass through: it is kept for the owner.
#pragma once

#include <exception>
#include <expected>
#include <optional>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/config.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// What a move threw. Takes no room if it cannot throw.
template <bool may_throw>
class KeptError {
 public:
  void keep() noexcept { error_ = std::current_exception(); }
  // Throws it, if there is one, once.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  bool is_set() const { return error_ != nullptr; }

 private:
  std::exception_ptr error_;
};
template <>
class KeptError<false> {
 public:
  void rethrow() {}
};

// Does `move`, and keeps what it throws. False if it did.
template <typename T, typename Move, typename Error>
bool move_keeping_error(Error& error, Move move) noexcept {
  if constexpr (std::is_nothrow_move_constructible_v<T>) {
    move();
  } else {
    try {
      move();
    } catch (...) {
      error.keep();
      return false;
    }
  }
  return true;
}

template <typename T>
class Landing {
 public:
  void take(T&& item) noexcept {
    move_keeping_error<T>(error_, [&] { item_.emplace(std::move(item)); });
  }
  std::expected<T, Refusal> unload() {
    error_.rethrow();
    const ResetAtEnd at_end(item_);
    return std::expected<T, Refusal>(std::in_place, std::move(*item_));
  }

 private:
  struct ResetAtEnd {
    explicit ResetAtEnd(std::optional<T>& owner) : item(owner) {}
    ~ResetAtEnd() { item.reset(); }
    std::optional<T>& item;
  };

  std::optional<T> item_;
  [[no_unique_address]] KeptError<!std::is_nothrow_move_constructible_v<T>> error_;
};

template <typename T>
class Parcel {
 public:
  explicit Parcel(T& item) : item_(&item) {}

  T& item() const { return *item_; }
  // Moves it into the buffer. False if its move threw; its owner is told.
  template <typename Fill>
  bool put(Fill fill) noexcept {
    return move_keeping_error<T>(error_, [&] { fill(std::move(*item_)); });
  }
  void finish() { error_.rethrow(); }

 private:
  T* item_;
  [[no_unique_address]] KeptError<!std::is_nothrow_move_constructible_v<T>> error_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
