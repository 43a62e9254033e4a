// Takes several locks at once, without deadlock, in whatever order others take them.
//
//   auto [from, to] = handoff::lock_all(accounts[a], accounts[b]);          // two Monitor<Account>
//   from->cents -= cents;
//   to->cents += cents;
//
//   auto held = handoff::lock_all(index, handoff::shared(prices), {.stop = stop});
//   if (!held) return held.error();                                        // timed_out or stopped; nothing is held
//
// Two to four locks, any mix of Mutex, SharedMutex (for writing; shared(mutex) for reading) and Monitor. The result is a
// tuple with a guard for each: std::unique_lock, std::shared_lock or Locked.
//
// It waits for one lock while it holds none of the others, and tries the rest; if one of them is taken, it lets go of all and
// waits for that one. So it cannot deadlock with anybody, whatever their order, and it does not spin. (Taking them in the
// order of their addresses would be simpler, but deadlocks with code that takes two of them one by one.) While it
// tries, its place in the lines is not kept: under heavy traffic it may take longer than its fair share.
//
// For threads: there is no async form.
// Throws std::invalid_argument if a lock is given twice.
#pragma once

#include <array>
#include <concepts>
#include <expected>
#include <mutex>
#include <shared_mutex>
#include <source_location>
#include <span>
#include <tuple>
#include <utility>

#include "handoff/monitor.hpp"
#include "handoff/mutex.hpp"
#include "handoff/refusal.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// A SharedMutex to be locked for reading.
struct SharedSide {
  SharedMutex& mutex;
};
inline SharedSide shared(SharedMutex& mutex) { return {mutex}; }

namespace detail {

// One of the locks, whatever its type.
struct AnyLock {
  void* lock;
  std::expected<void, Refusal> (*acquire)(void* lock, const Wait& wait, std::source_location where);
  bool (*try_lock)(void* lock, std::source_location where);
  void (*unlock)(void* lock);
};

// Holds all of them, or none.
std::expected<void, Refusal> lock_each(std::span<const AnyLock> locks, const Wait& wait,
                                       std::source_location where);

// How to take each kind of lock, and the guard that gives it back.
struct LockAllAccess {
  template <typename Lock>
  static AnyLock exclusive(Lock& lock) {
    return {.lock = &lock,
            .acquire = [](void* any, const Wait& wait,
                          std::source_location where) -> std::expected<void, Refusal> {
              auto taken = static_cast<Lock*>(any)->acquire(wait, where);
              if (!taken) return std::unexpected(taken.error());
              taken->release();
              return {};
            },
            .try_lock =
                [](void* any, std::source_location where) {
                  return static_cast<Lock*>(any)->try_lock(where);
                },
            .unlock = [](void* any) { static_cast<Lock*>(any)->unlock(); }};
  }

  static AnyLock erase(Mutex& mutex) { return exclusive(mutex); }
  static AnyLock erase(SharedMutex& mutex) { return exclusive(mutex); }
  static AnyLock erase(SharedSide side);
  template <typename T>
  static AnyLock erase(Monitor<T>& monitor) {
    return exclusive(monitor.mutex_);
  }

  template <typename Lock>
    requires std::same_as<Lock, Mutex> || std::same_as<Lock, SharedMutex>
  static std::unique_lock<Lock> adopt(Lock& mutex) {
    return {mutex, std::adopt_lock};
  }
  static std::shared_lock<SharedMutex> adopt(SharedSide side) {
    return {side.mutex, std::adopt_lock};
  }
  template <typename T>
  static Locked<T> adopt(Monitor<T>& monitor) {
    return {monitor.mutex_, monitor.state_};
  }
};

template <typename Lock>
concept LockableWithOthers = requires(Lock& lock) { LockAllAccess::erase(lock); };

template <typename... Locks>
auto lock_all(const Wait& wait, std::source_location where, Locks&... locks)
    -> std::expected<std::tuple<decltype(LockAllAccess::adopt(locks))...>, Refusal> {
  const std::array<AnyLock, sizeof...(Locks)> each{LockAllAccess::erase(locks)...};
  if (auto taken = lock_each(each, wait, where); !taken) return std::unexpected(taken.error());
  return std::tuple<decltype(LockAllAccess::adopt(locks))...>(LockAllAccess::adopt(locks)...);
}

}  // namespace detail

// Waits as long as it takes.
template <detail::LockableWithOthers A, detail::LockableWithOthers B>
[[nodiscard]] auto lock_all(A&& a, B&& b,
                            std::source_location where = std::source_location::current()) {
  return *detail::lock_all({}, where, a, b);
}
template <detail::LockableWithOthers A, detail::LockableWithOthers B, detail::LockableWithOthers C>
[[nodiscard]] auto lock_all(A&& a, B&& b, C&& c,
                            std::source_location where = std::source_location::current()) {
  return *detail::lock_all({}, where, a, b, c);
}
template <detail::LockableWithOthers A, detail::LockableWithOthers B, detail::LockableWithOthers C,
          detail::LockableWithOthers D>
[[nodiscard]] auto lock_all(A&& a, B&& b, C&& c, D&& d,
                            std::source_location where = std::source_location::current()) {
  return *detail::lock_all({}, where, a, b, c, d);
}

// Within limits. Refused with `timed_out` or `stopped`.
template <detail::LockableWithOthers A, detail::LockableWithOthers B>
[[nodiscard]] auto lock_all(A&& a, B&& b, const Wait& wait,
                            std::source_location where = std::source_location::current()) {
  return detail::lock_all(wait, where, a, b);
}
template <detail::LockableWithOthers A, detail::LockableWithOthers B, detail::LockableWithOthers C>
[[nodiscard]] auto lock_all(A&& a, B&& b, C&& c, const Wait& wait,
                            std::source_location where = std::source_location::current()) {
  return detail::lock_all(wait, where, a, b, c);
}
template <detail::LockableWithOthers A, detail::LockableWithOthers B, detail::LockableWithOthers C,
          detail::LockableWithOthers D>
[[nodiscard]] auto lock_all(A&& a, B&& b, C&& c, D&& d, const Wait& wait,
                            std::source_location where = std::source_location::current()) {
  return detail::lock_all(wait, where, a, b, c, d);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
