// To wait for a lock that one owner has at a time, as steps; and what a coroutine gets in the end.
//
// Who owns a lock is a number. A thread's is its own; a coroutine's is that of its task, because it may go on on another
// thread than the one it locked on.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <source_location>
#include <stop_token>
#include <system_error>
#include <utility>

#include "handoff/detail/core/config.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/core/wait_graph.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/lock_tracking.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Of a Mutex, or of a SharedMutex for writing.
template <typename Lock>
class LockSteps : public Steps {
 public:
  LockSteps(Lock& lock, ThreadId owner) : lock_(lock), owner_(owner) {}
  bool begin(Waiter& waiter) final;
  bool go_on(Waiter& waiter, WaitState outcome) final;

  std::expected<void, Refusal> result() const {
    if (refusal_) return std::unexpected(*refusal_);
    return {};
  }

 protected:
  Lock& lock_;
  ThreadId owner_;
  std::optional<Refusal> refusal_;

 private:
  bool finish_if(bool is_mine, const Waiter& waiter);
  bool leave_line(Refusal refusal);

  std::optional<Link> link_;
  std::optional<WaitEdge> edge_;
};

enum class LockSide : std::uint8_t { exclusive, shared };

// Holds a lock on behalf of a coroutine, wherever that runs, until the end of the scope.
template <typename Lock, LockSide side>
class [[nodiscard]] AsyncGuard {
 public:
  // Of a lock that `owner` holds already.
  AsyncGuard(Lock& lock, ThreadId owner) : lock_(&lock), owner_(owner) {}
  AsyncGuard(AsyncGuard&& other) noexcept
      : lock_(std::exchange(other.lock_, nullptr)), owner_(other.owner_) {}
  AsyncGuard& operator=(AsyncGuard&& other) noexcept {
    AsyncGuard before(std::move(*this));
    lock_ = std::exchange(other.lock_, nullptr);
    owner_ = other.owner_;
    return *this;
  }
  ~AsyncGuard() {
    if (lock_ != nullptr) unlock();
  }

  // Before the end of the scope. Throws std::system_error (operation_not_permitted) if it holds nothing any more.
  void unlock() {
    if (lock_ == nullptr) {
      throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                              "the guard holds no lock any more");
    }
    Lock& lock = *std::exchange(lock_, nullptr);
    if constexpr (checked_build) about_to_unlock_for(owner_, lock);
    if constexpr (side == LockSide::exclusive) {
      lock.release_by(owner_);
    } else {
      lock.release_shared();
    }
  }
  bool owns_lock() const { return lock_ != nullptr; }

 private:
  Lock* lock_;  // Null once it is given back, or moved from.
  ThreadId owner_;
};

// What async_lock() does.
template <typename Lock>
class AsyncLocking final : public LockSteps<Lock> {
 public:
  using Guard = AsyncGuard<Lock, LockSide::exclusive>;

  AsyncLocking(Lock& lock, std::source_location where)
      : LockSteps<Lock>(lock, no_thread), where_(where) {}
  void bind(PromiseBase& promise) { this->owner_ = promise.task().owner_id(); }

  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) {
      this->refusal_ = Refusal::stopped;
      return true;
    }
    if (this->lock_.take_if_idle(this->owner_)) [[likely]]
      return true;
    this->lock_.refuse_relocking(this->owner_);
    return this->lock_.take_if_free(this->owner_);
  }

  std::expected<Guard, Refusal> result() {
    if (this->refusal_) return std::unexpected(*this->refusal_);
    this->lock_.count_acquisition();
    if constexpr (checked_build) locked_for(this->owner_, this->lock_, where_);
    return Guard(this->lock_, this->owner_);
  }

 private:
  const std::source_location where_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
