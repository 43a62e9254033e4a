// std::atomic with a point before each access, where another simulated thread may come in. Sequentially consistent whatever the
// order asked for: one thread runs at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "handoff/detail/core/simulation.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

template <typename T>
class Atomic {
  using Order = std::memory_order;
  using Where = std::source_location;
  using Difference = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic.
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(Order = std::memory_order_seq_cst, Where where = Where::current()) const noexcept {
    point(this, Access::load, where);
    return value_.load();
  }
  void store(T value, Order = std::memory_order_seq_cst, Where where = Where::current()) noexcept {
    point(this, Access::store, where);
    value_.store(value);
  }
  T exchange(T value, Order = std::memory_order_seq_cst, Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    return value_.exchange(value);
  }
  bool compare_exchange_strong(T& expected, T value, Order = std::memory_order_seq_cst,
                               Order = std::memory_order_seq_cst,
                               Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    return value_.compare_exchange_strong(expected, value);
  }
  bool compare_exchange_weak(T& expected, T value, Order = std::memory_order_seq_cst,
                             Order = std::memory_order_seq_cst,
                             Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    if (fails_for_no_reason()) {
      expected = value_.load();
      return false;
    }
    return value_.compare_exchange_strong(expected, value);
  }

  T fetch_add(Difference value, Order = std::memory_order_seq_cst,
              Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    return value_.fetch_add(value);
  }
  T fetch_sub(Difference value, Order = std::memory_order_seq_cst,
              Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    return value_.fetch_sub(value);
  }
  T fetch_and(T value, Order = std::memory_order_seq_cst, Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    return value_.fetch_and(value);
  }
  T fetch_or(T value, Order = std::memory_order_seq_cst, Where where = Where::current()) noexcept {
    point(this, Access::change, where);
    return value_.fetch_or(value);
  }

  operator T() const noexcept { return load(); }  // NOLINT: as std::atomic.
  T operator=(T value) noexcept {                 // NOLINT: as std::atomic.
    store(value);
    return value;
  }
  T operator++() noexcept { return fetch_add(1) + 1; }
  T operator--() noexcept { return fetch_sub(1) - 1; }

 private:
  std::atomic<T> value_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
