// Everything for threads and coroutines that share state. One concept a header; this one brings them all.
//
//   Mutex         mutex.hpp          a lock, with a name, an owner and waits that can be ended
//   SharedMutex   shared_mutex.hpp   many readers or one writer, by turns
//   Monitor       monitor.hpp        state that can only be touched under its lock, and conditions to wait for
//   lock_all      lock_all.hpp       several locks at once, without deadlock
//   Semaphore     semaphore.hpp      a number of permits
//   Latch         latch.hpp          a count that goes down once
//   Barrier       barrier.hpp        a meeting point
//   Event         event.hpp          something that has happened or not
//                 lock_order.hpp     finds lock orders that can deadlock, in checked builds
//
// Coroutines wait for the same objects without holding a thread: async_lock(), async_acquire(), async_wait() and so on suspend
// them instead, in the same lines and with the same promises. Not for a Monitor or lock_all(), which are for threads.
//
// Not sure? State that several threads change: Monitor. Work that goes from one thread to another: a queue, not a lock.
#pragma once

#include "handoff/barrier.hpp"
#include "handoff/event.hpp"
#include "handoff/latch.hpp"
#include "handoff/lock_all.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/monitor.hpp"
#include "handoff/mutex.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
