// A bounded pool of things that are costly to make and can be used again: connections, buffers, sessions.
//
//   handoff::ResourcePool<Connection> connections{{.capacity = 8, .name = "connections"},
//                                                 {.make = [] { return connect("db:5432"); }}};
//   auto connection = connections.borrow({.deadline = handoff::within(1s), .stop = stop});
//   if (!connection) return connection.error();             // timed_out, stopped or closed
//   (*connection)->execute("...");                          // given back at the end of the scope
//   if ((*connection)->is_broken()) connection->discard();  // or not: destroyed, and its place given to the next
//
//              waits     now or refused    deadline and stop_token
//   borrow     borrow    try_borrow        borrow({...})
//
// - Objects are made when they are needed, by the thread that borrows, without a lock; never more than `capacity` are alive.
// - Places are given out strictly first come, first served. Which idle object you get is the pool's choice: the one given
//   back last, so that the others may grow old and go.
// - A `make` that throws gives its place back, and the exception to the one who borrows; nobody else notices.
// - `test` is asked before an idle object is lent again. One that fails, or throws, is destroyed and another one is taken.
// - What was idle for longer than max_idle_time is not lent any more. It is destroyed when next an object is given back (one
//   each time), or by trim(). There is no thread that does it.
// - close() refuses borrowers with `closed` and destroys what is idle; what is lent is destroyed when it is given back.
// - leases() tells who has borrowed what and not given it back. Waits for a place are seen in waits(), as those of a Semaphore
//   with the pool's name.
//
// A lease must not outlive its pool: the destructor then logs who borrowed what, and where, and stops the program. It does
// not wait, because the one it would wait for may be its own thread.
//
// Thread safety: pool: any member, any thread, until the destructor begins. A Lease belongs to one thread at a time, and may
// be moved to another. The hooks may be called on several threads at once, for different objects, and may use the pool.
// Visibility: all a thread did before it gave an object back is seen by the one who borrows it next.
#pragma once

#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <utility>
#include <vector>

#include "handoff/detail/pool/resource_core.hpp"
#include "handoff/refusal.hpp"
#include "handoff/stats.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
class ResourcePool;

template <typename T>
struct ResourceHooks {
  std::function<T()> make;            // Required. May throw.
  std::function<bool(T&)> test = {};  // Whether an idle object can still be used.
  std::function<void(T&)> destroy =
      {};  // Called before an object's destructor. What it throws is logged.
};

// A borrowed object, given back when it goes out of scope.
template <typename T>
class [[nodiscard]] Lease {
 public:
  Lease(Lease&& other) noexcept : pool_(other.pool_), item_(std::exchange(other.item_, nullptr)) {}
  // Gives back what it had.
  Lease& operator=(Lease&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    pool_ = other.pool_;
    item_ = std::exchange(other.item_, nullptr);
    return *this;
  }
  ~Lease() { give_back(); }

  // Not after give_back() or discard(), nor of one that was moved from.
  T& operator*() const { return item_->object; }
  T* operator->() const { return &item_->object; }
  explicit operator bool() const { return item_ != nullptr; }

  // Before the end of the scope. Doing it again does nothing.
  void give_back() noexcept {
    if (item_ != nullptr) pool_->take_back(*std::exchange(item_, nullptr));
  }
  // It is broken: destroys it, and gives its place to the next borrower, who makes another one.
  void discard() noexcept {
    if (item_ != nullptr) pool_->discard(*std::exchange(item_, nullptr));
  }

 private:
  friend class ResourcePool<T>;
  using Item = typename ResourcePool<T>::Item;
  Lease(ResourcePool<T>& pool, Item& item) : pool_(&pool), item_(&item) {}

  ResourcePool<T>* pool_;
  Item* item_;
};

template <typename T>
class ResourcePool {
 public:
  using Result = std::expected<Lease<T>, Refusal>;

  // Throws std::invalid_argument if there is no `make` or an option is out of its limits.
  ResourcePool(ResourcePoolOptions options, ResourceHooks<T> hooks)
      : hooks_(std::move(hooks)), core_(options) {
    if (!hooks_.make) throw std::invalid_argument("make must be given, got an empty function");
  }
  // Closes it. Everything must have been given back.
  ~ResourcePool() { close(); }

  // Waits while all objects are lent. Refused with `timed_out`, `stopped` or `closed`; throws what `make` throws. The
  // deadline is for the wait, not for `make` and `test`.
  [[nodiscard]] Result borrow(const Wait& wait = {},
                              std::source_location where = std::source_location::current()) {
    if (const auto refusal = core_.enter(wait, where)) return std::unexpected(*refusal);
    return lend(where);
  }
  // Does not wait for others. Refused with `empty` or `closed`.
  [[nodiscard]] Result try_borrow(std::source_location where = std::source_location::current()) {
    if (const auto refusal = core_.try_enter()) return std::unexpected(*refusal);
    return lend(where);
  }

  // Destroys what has been idle for longer than max_idle_time. Returns how many.
  std::size_t trim();
  // Closing again does nothing.
  void close();
  bool is_closed() const { return core_.is_closed(); }

  // Everything that is lent, the longest first.
  std::vector<LeaseInfo> leases() const { return core_.leases(); }
  std::size_t idle() const { return core_.idle(); }
  std::size_t capacity() const { return core_.capacity(); }
  // Of the places. size: places taken, that is objects lent, being made or tested. waiting_consumers: who waits to borrow.
  Stats stats() const { return core_.stats(); }

 private:
  friend class Lease<T>;
  struct Item : detail::PooledItem {
    explicit Item(const std::function<T()>& make) : object(make()) {}  // T need not be movable.
    T object;
  };
  // Given back unless there is a lease in the end.
  class Place {
   public:
    explicit Place(detail::ResourceCore& core) : core_(&core) {}
    ~Place() {
      if (core_ != nullptr) core_->leave();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void keep() { core_ = nullptr; }

   private:
    detail::ResourceCore* core_;
  };

  Result lend(std::source_location where);
  Item* idle_or_new();
  bool passes_test(Item& item) noexcept;
  void take_back(Item& item) noexcept;
  void discard(Item& item) noexcept;
  bool destroy_expired() noexcept;
  void destroy(Item& item) noexcept;
  static Item& item_of(detail::PooledItem& item) { return static_cast<Item&>(item); }

  const ResourceHooks<T> hooks_;
  detail::ResourceCore core_;
};

template <typename T>
auto ResourcePool<T>::lend(std::source_location where) -> Result {
  Place place(core_);
  Item* const item = idle_or_new();
  if (item == nullptr) return std::unexpected(Refusal::closed);
  if (!core_.lend(*item, where)) {
    destroy(*item);
    return std::unexpected(Refusal::closed);
  }
  place.keep();
  return Lease<T>(*this, *item);
}

// Null if the pool is closed.
template <typename T>
auto ResourcePool<T>::idle_or_new() -> Item* {
  while (true) {
    const auto idle = core_.take_idle();
    if (idle.is_closed) return nullptr;
    if (idle.item == nullptr) return new Item(hooks_.make);  // NOLINT: the lists own it.
    Item& item = item_of(*idle.item);
    if (!idle.is_expired && (!idle.wants_test || passes_test(item))) return &item;
    destroy(item);
  }
}

template <typename T>
bool ResourcePool<T>::passes_test(Item& item) noexcept {
  try {
    return !hooks_.test || hooks_.test(item.object);
  } catch (...) {
    return false;
  }
}

template <typename T>
void ResourcePool<T>::take_back(Item& item) noexcept {
  if (!core_.take_back(item)) destroy(item);
  core_.leave();
  static_cast<void>(destroy_expired());
}

template <typename T>
void ResourcePool<T>::discard(Item& item) noexcept {
  core_.forget(item);
  destroy(item);
  core_.leave();
}

template <typename T>
bool ResourcePool<T>::destroy_expired() noexcept {
  detail::PooledItem* const expired = core_.take_expired();
  if (expired == nullptr) return false;
  destroy(item_of(*expired));
  core_.leave();
  return true;
}

template <typename T>
void ResourcePool<T>::destroy(Item& item) noexcept {
  const std::unique_ptr<Item> owned(&item);
  if (!hooks_.destroy) return;
  try {
    hooks_.destroy(item.object);
  } catch (const std::exception& error) {
    core_.report_failed_hook("destroy", error.what());
  } catch (...) {
    core_.report_failed_hook("destroy", "something that is no std::exception");
  }
}

template <typename T>
std::size_t ResourcePool<T>::trim() {
  std::size_t count = 0;
  while (destroy_expired()) ++count;
  return count;
}

template <typename T>
void ResourcePool<T>::close() {
  core_.close();
  while (detail::PooledItem* const item = core_.take_leftover()) destroy(item_of(*item));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
