// Locks, semaphores, events: what their visibility lines promise, by every way through them.
#include <optional>

#include "handoff/event.hpp"
#include "handoff/latch.hpp"
#include "handoff/mutex.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
#include "weak_memory/kernel.hpp"

namespace handoff::weak_memory {
namespace {

// The last to unlock it may destroy it.
struct MutexKernel : Kernel<MutexKernel, 3> {
  std::optional<Mutex> mutex{std::in_place};
  Plain<int> count;

  void work(unsigned index) {
    if (index == 0) {
      while (!mutex->try_lock()) mutex->hold().unlock();
    } else {
      mutex->lock();
    }
    const int now = count.read() + 1;
    count.write(now);
    mutex->unlock();
    if (now == 3) mutex.reset();
  }
  void after() { check(count.read() == 3); }
};
const Added mutex = add<MutexKernel>("Mutex");

struct SemaphoreKernel : Kernel<SemaphoreKernel, 3> {
  Semaphore semaphore{{.permits = 1, .max = 2}};
  Plain<int> count;
  Plain<int> given;

  void work(unsigned index) {
    if (index == 0) {
      if (semaphore.try_acquire()) {
        count.add(1);
        semaphore.release();
      }
      given.write(1);
      semaphore.release();  // A second permit.
    } else if (index == 1) {
      (void)semaphore.acquire(2);  // Only with the second one.
      check(given.read() == 1);
      count.add(1);
      semaphore.release(1);
    } else {
      if (semaphore.try_acquire()) semaphore.release();
    }
  }
  void after() { check(semaphore.available() == 1); }
};
const Added semaphore = add<SemaphoreKernel>("Semaphore");

// As a lock, which strictly passes from one to the next.
struct SemaphoreLockKernel : Kernel<SemaphoreLockKernel, 3> {
  Semaphore semaphore{{.permits = 1}};
  Plain<int> count;

  void work(unsigned) {
    for (int i = 0; i < 2; ++i) {
      const auto permit = semaphore.hold();
      count.add(1);
    }
  }
  void after() { check(count.read() == 6); }
};
const Added semaphore_lock = add<SemaphoreLockKernel>("Semaphore.lock");

// Who was told that it is set may destroy it.
struct EventKernel : Kernel<EventKernel, 2> {
  std::optional<Event> event{std::in_place};
  Plain<int> data;

  void work(unsigned index) {
    if (index == 0) {
      data.write(1);
      event->set();
    } else {
      if (event->is_set()) check(data.read() == 1);
      check(event->wait().has_value());
      check(data.read() == 1);
      event.reset();
    }
  }
};
const Added event = add<EventKernel>("Event");

struct LatchKernel : Kernel<LatchKernel, 3> {
  std::optional<Latch> latch{std::in_place, LatchOptions{.count = 2}};
  Plain<int> data[2];

  void work(unsigned index) {
    if (index < 2) {
      data[index].write(1);
      latch->count_down();
    } else {
      if (latch->is_open()) check(data[0].read() + data[1].read() == 2);
      check(latch->wait().has_value());
      check(data[0].read() + data[1].read() == 2);
      latch.reset();
    }
  }
};
const Added latch = add<LatchKernel>("Latch");

struct SharedMutexKernel : Kernel<SharedMutexKernel, 3> {
  SharedMutex mutex;
  Plain<int> first;
  Plain<int> second;

  void work(unsigned index) {
    if (index == 0) {
      mutex.lock_shared();
      check(first.read() == second.read());
      mutex.unlock_shared();
    } else {
      mutex.lock();
      first.add(1);
      second.add(1);
      mutex.unlock();
      if (index == 1) return;
      mutex.lock_shared();
      check(first.read() == second.read());
      mutex.unlock_shared();
    }
  }
  void after() { check(first.read() == 2); }
};
const Added shared_mutex = add<SharedMutexKernel>("SharedMutex");

}  // namespace
}  // namespace handoff::weak_memory
