// What ResourcePool<T> knows without knowing T: who may have an object, which are idle, and who has borrowed which.
//
// A place is a permit of a semaphore: the right to one object. Invariants:
// - Every object that is not idle belongs to exactly one holder of a place: lent, or being made, tested or destroyed. It
//   becomes idle, or is gone, before its place is given back.
// - A holder makes an object only when it has found none idle. Then all there are belong to the other holders, of whom
//   there are fewer than `capacity`. So there are never more than `capacity`, not even for a moment.
// - Idle objects are kept in the order they came back. The newest is lent first, so that those nobody needs grow old.
// - Once closed nothing is made, becomes idle or is lent any more.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/thread_info.hpp"
#include "handoff/refusal.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/stats.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct ResourcePoolOptions {
  std::size_t capacity;  // How many objects there may be, idle ones included. From 1 to 2^31 - 1.
  Duration max_idle_time = Duration::max();  // What nobody borrowed for that long is destroyed.
  Duration test_after{};       // What was idle for less is lent without a test. At least 0.
  std::string_view name = {};  // How waits(), snapshot() and reports call it; copied.
};

// Who has borrowed an object, and has not given it back.
struct LeaseInfo {
  std::string thread;          // Who borrowed it; "thread #7" if that one has ended.
  std::source_location where;  // Where borrow() was called.
  TimePoint since{};
};

namespace detail {

// An object's place on the list of the idle or of the lent ones.
struct PooledItem {
  PooledItem* next = nullptr;
  PooledItem* previous = nullptr;
  TimePoint since{};
  ThreadId thread = no_thread;
  std::source_location where;
};

class ItemList {
 public:
  void push_back(PooledItem& item);
  void remove(PooledItem& item);
  PooledItem* front() const { return front_; }
  PooledItem* back() const { return back_; }
  std::size_t size() const { return size_; }

 private:
  PooledItem* front_ = nullptr;
  PooledItem* back_ = nullptr;
  std::size_t size_ = 0;
};

class ResourceCore {
 public:
  explicit ResourceCore(const ResourcePoolOptions& options);
  ResourceCore(const ResourceCore&) = delete;
  ResourceCore& operator=(const ResourceCore&) = delete;
  // Stops the program if something is still lent, after saying who has borrowed it.
  ~ResourceCore();

  // Takes a place; nothing is returned then. Otherwise the refusal.
  std::optional<Refusal> enter(const Wait& wait, std::source_location where);
  std::optional<Refusal> try_enter();
  void leave() { places_.release(); }

  // For the holder of a place.
  struct Idle {
    PooledItem* item = nullptr;  // Null if none is idle.
    bool is_closed = false;      // Then none is to be made either.
    bool is_expired = false;
    bool wants_test = false;
  };
  Idle take_idle();
  bool lend(PooledItem& item, std::source_location where);  // False if it is closed.
  bool take_back(PooledItem& item);                         // False if it is closed.
  void forget(PooledItem& item);                            // One that was lent.

  // An idle object that nobody has wanted for too long, and a place for it; or null.
  PooledItem* take_expired();

  void close();
  bool is_closed() const;
  PooledItem* take_leftover();  // After close(): an idle object to be destroyed, or null.

  std::vector<LeaseInfo> leases() const;
  std::size_t idle() const;
  std::size_t capacity() const { return capacity_; }
  Stats stats() const { return places_.stats(); }
  void report_failed_hook(const char* hook, std::string_view what) const;

 private:
  bool is_expired_locked(const PooledItem& item, TimePoint at) const;
  std::optional<Refusal> wait_for_place(const Wait& wait, std::source_location where);
  std::expected<void, Refusal> acquire_place(const Wait& wait, std::source_location where);

  const std::size_t capacity_;
  const Duration max_idle_time_;
  const Duration test_after_;
  const std::string name_;
  Semaphore places_;
  std::stop_source closing_;  // Ends the waits of those who wait for a place.
  mutable SmallLock lock_;
  // Guarded by lock_.
  ItemList idle_;
  ItemList lent_;
  bool closed_ = false;
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
