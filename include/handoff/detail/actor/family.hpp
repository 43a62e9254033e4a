// Those who have the same parent.
#pragma once

#include <cstddef>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ActorCell;

class Family {
 public:
  // False if no more are taken in.
  bool add(ActorCell& cell);
  void remove(ActorCell& cell);
  void close();
  void reopen();
  // Under the lock, so they are all alive.
  template <typename F>
  void for_each(F f) const;
  std::size_t size() const { return size_.load(seq_cst); }

 private:
  mutable SmallLock lock_;
  // Guarded by lock_.
  ActorCell* first_ = nullptr;
  bool is_closed_ = false;
  atomic<std::size_t> size_{0};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
