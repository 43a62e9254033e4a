// The two locks that everything else stands on.
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/queue/index_lock.hpp"
#include "weak_memory/kernel.hpp"

namespace handoff::weak_memory {
namespace {

struct SmallLockKernel : Kernel<SmallLockKernel, 3> {
  detail::SmallLock lock;
  Plain<int> count;

  void work(unsigned index) {
    if (index == 0) {
      while (!lock.try_lock()) {
        detail::SmallGuard until_it_is_free(lock);
      }
      count.add(1);
      lock.unlock();
    } else {
      for (int i = 0; i < 2; ++i) {
        detail::SmallGuard guard(lock);
        count.add(1);
      }
    }
  }
  void after() { check(count.read() == 5); }
};
const Added small_lock = add<SmallLockKernel>("SmallLock");

struct IndexLockKernel : Kernel<IndexLockKernel, 3> {
  detail::IndexLock lock;
  Plain<int> items[4];
  Plain<int> count;

  void work(unsigned index) {
    if (index < 2) {
      for (int i = 0; i < 2; ++i) {
        const auto at = lock.lock();
        items[at].write(1);
        count.add(1);
        lock.unlock(at + 1);
      }
    } else {
      // Whoever reads the index sees all that is below it, without the lock.
      for (auto seen = lock.index(); seen > 0; --seen) check(items[seen - 1].read() == 1);
    }
  }
  void after() { check(lock.index() == 4 && count.read() == 4); }
};
const Added index_lock = add<IndexLockKernel>("IndexLock");

}  // namespace
}  // namespace handoff::weak_memory
