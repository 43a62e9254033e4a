// std::atomic over an atomic of Relacy, which gives back any value that the memory orders allow: an older one, say, to a relaxed load.
// For library code compiled with HANDOFF_WEAK_MEMORY. Relacy itself is known to weak_atomic.cpp alone: its macros would not go
// well with ours.
//
// An atomic made outside an execution (a global one, the lock of a registry) is a plain word: nobody else runs while it is used, and no
// execution leaves a trace in it that Relacy would have to take back. Changes of all plain words order as if they were one atomic.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::weak {

using Where = std::source_location;
enum class Change : std::uint8_t { exchange, add, subtract, conjoin, unite };

// The order of a compare-and-swap that fails, if only one was given.
constexpr std::memory_order load_part_of(std::memory_order order) {
  if (order == std::memory_order::acq_rel) return std::memory_order::acquire;
  return order == std::memory_order::release ? std::memory_order::relaxed : order;
}

// A plain word was changed with this order.
void order_by_plain_change(std::memory_order order);

// What Relacy knows of one atomic.
template <typename Bits>
class Cell {
 public:
  static Cell* make(Bits bits);  // Null outside an execution.
  void destroy();

  Bits load(std::memory_order order, const Where& where);
  void store(Bits bits, std::memory_order order, const Where& where);
  Bits change(Change change, Bits operand, std::memory_order order, const Where& where);
  bool compare_exchange(bool may_fail_for_no_reason, Bits& expected, Bits bits,
                        std::memory_order order, std::memory_order order_of_failure,
                        const Where& where);
  // The newest value, whatever the calling thread may know of it: what the system's kernel compares with.
  Bits newest() const;

 protected:
  Cell() = default;
  ~Cell() = default;
};

template <std::size_t size>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = std::uint8_t;
};
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};

template <typename T>
class Atomic {
  using Order = std::memory_order;
  using Bits = typename BitsOf<sizeof(T)>::Type;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  constexpr Atomic() noexcept : Atomic(T()) {}
  constexpr Atomic(T value) noexcept : plain_(bits_of(value)) {  // NOLINT: as std::atomic.
    if (!std::is_constant_evaluated()) cell_ = Cell<Bits>::make(plain_);
  }
  constexpr ~Atomic() {
    if (cell_ != nullptr) cell_->destroy();
  }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(Order order = Order::seq_cst, Where where = Where::current()) const noexcept {
    return value_of(cell_ == nullptr ? plain_ : cell_->load(order, where));
  }
  void store(T value, Order order = Order::seq_cst, Where where = Where::current()) noexcept {
    if (cell_ == nullptr) {
      plain_ = bits_of(value);
    } else {
      cell_->store(bits_of(value), order, where);
    }
  }
  T exchange(T value, Order order = Order::seq_cst, Where where = Where::current()) noexcept {
    return change(Change::exchange, bits_of(value), order, where);
  }
  T fetch_add(T value, Order order = Order::seq_cst, Where where = Where::current()) noexcept {
    return change(Change::add, bits_of(value), order, where);
  }
  T fetch_sub(T value, Order order = Order::seq_cst, Where where = Where::current()) noexcept {
    return change(Change::subtract, bits_of(value), order, where);
  }
  T fetch_and(T value, Order order = Order::seq_cst, Where where = Where::current()) noexcept {
    return change(Change::conjoin, bits_of(value), order, where);
  }
  T fetch_or(T value, Order order = Order::seq_cst, Where where = Where::current()) noexcept {
    return change(Change::unite, bits_of(value), order, where);
  }

  bool compare_exchange_strong(T& expected, T value, Order order, Order order_of_failure,
                               Where where = Where::current()) noexcept {
    return compare_exchange(false, expected, value, order, order_of_failure, where);
  }
  bool compare_exchange_strong(T& expected, T value, Order order = Order::seq_cst,
                               Where where = Where::current()) noexcept {
    return compare_exchange(false, expected, value, order, load_part_of(order), where);
  }
  bool compare_exchange_weak(T& expected, T value, Order order, Order order_of_failure,
                             Where where = Where::current()) noexcept {
    return compare_exchange(true, expected, value, order, order_of_failure, where);
  }
  bool compare_exchange_weak(T& expected, T value, Order order = Order::seq_cst,
                             Where where = Where::current()) noexcept {
    return compare_exchange(true, expected, value, order, load_part_of(order), where);
  }

  operator T() const noexcept { return load(); }  // NOLINT: as std::atomic.
  T operator=(T value) noexcept {                 // NOLINT: as std::atomic.
    store(value);
    return value;
  }
  T operator++() noexcept { return fetch_add(1) + 1; }
  T operator--() noexcept { return fetch_sub(1) - 1; }

  // For futex_wait().
  bool is_plain() const { return cell_ == nullptr; }
  T newest() const { return value_of(cell_ == nullptr ? plain_ : cell_->newest()); }

 private:
  static constexpr Bits bits_of(T value) {
    if constexpr (std::is_pointer_v<T>) {
      if (std::is_constant_evaluated()) return value == nullptr ? 0 : only_null_is_constant();
    }
    return std::bit_cast<Bits>(value);
  }
  static Bits only_null_is_constant() { return 0; }  // Not constexpr: so others do not compile.
  static T value_of(Bits bits) { return std::bit_cast<T>(bits); }

  T change(Change change, Bits operand, Order order, const Where& where) noexcept {
    if (cell_ != nullptr) return value_of(cell_->change(change, operand, order, where));
    const Bits before = plain_;
    switch (change) {
      case Change::exchange: plain_ = operand; break;
      case Change::add: plain_ = static_cast<Bits>(before + operand); break;
      case Change::subtract: plain_ = static_cast<Bits>(before - operand); break;
      case Change::conjoin: plain_ = static_cast<Bits>(before & operand); break;
      case Change::unite: plain_ = static_cast<Bits>(before | operand); break;
    }
    order_by_plain_change(order);
    return value_of(before);
  }
  bool compare_exchange(bool may_fail_for_no_reason, T& expected, T value, Order order,
                        Order order_of_failure, const Where& where) noexcept {
    Bits seen = bits_of(expected);
    bool done = false;
    if (cell_ != nullptr) {
      done = cell_->compare_exchange(may_fail_for_no_reason, seen, bits_of(value), order,
                                     order_of_failure, where);
    } else if (plain_ == seen) {
      plain_ = bits_of(value);
      order_by_plain_change(order);
      done = true;
    } else {
      seen = plain_;
    }
    if (!done) expected = value_of(seen);
    return done;
  }

  Bits plain_;
  Cell<Bits>* cell_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::weak
