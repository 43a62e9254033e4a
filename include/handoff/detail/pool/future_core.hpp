// What a future and its job share, without knowing the result's type.
//
// Phases: pending -> running -> value | error       whoever moves it to running, by one compare-and-swap, runs it
//         pending -> withdrawn                      handed back or dropped: only whoever has the job may run it now
//         withdrawn -> running, never
//         pending -> never                          the job was destroyed without having been run
//         chained -> pending                        one made by then(): what it follows is done
//
// Invariants:
// - The callable lives here, not in the queue: so a waiting job can run what it waits for wherever that is queued.
//   The queue's entry is then spent; running it does nothing.
// - The last phase is stored, and all waiters are let through, under the lock of `waiters_`.
// - Two references: the future's, and the job's. One made by then() keeps two more until it has run: to what it
//   follows, whose result it takes, and to the origin of the chain, which it may have to run while it is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <source_location>
#include <stop_token>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/pool/future_memory.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class PoolCore;

class FutureCore {
 public:
  enum class Phase : std::uint8_t { chained, pending, withdrawn, running, value, error, never };

  FutureCore(const FutureCore&) = delete;
  FutureCore& operator=(const FutureCore&) = delete;

  // See future_memory.hpp. The one with a pool is for those who hand in a job.
  static void* operator new(std::size_t size, ReturnedBlocks& blocks) {
    return allocate_future(size, blocks);
  }
  static void operator delete(void* memory, ReturnedBlocks&) { ::operator delete(memory); }
  static void* operator new(std::size_t size) {
    return ::operator new(size > future_block_size ? size : future_block_size);
  }
  static void operator delete(void* memory, std::size_t size) { free_future(memory, size); }

  // What is aligned beyond the usual is allocated as usual.
  static void* operator new(std::size_t size, std::align_val_t alignment) {
    return ::operator new(size, alignment);
  }
  static void* operator new(std::size_t size, std::align_val_t alignment, ReturnedBlocks&) {
    return ::operator new(size, alignment);
  }
  static void operator delete(void* memory, std::align_val_t alignment, ReturnedBlocks&) {
    ::operator delete(memory, alignment);
  }
  static void operator delete(void* memory, std::size_t, std::align_val_t alignment) {
    ::operator delete(memory, alignment);
  }

  bool is_done() const { return phase_.load(acquire) >= Phase::value; }  // Pairs with finish().
  Phase phase() const { return phase_.load(acquire); }                   // The same.
  // Once it is done: what it threw, which is then the caller's alone.
  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }
  const std::source_location& where() const { return where_; }
  ThreadId runner() const { return runner_.load(relaxed); }  // For people.
  // Whether it has not begun, and only a worker of this pool can begin it; or who runs it. Of a chain: the first of it.
  bool needs_a_worker_of(const PoolCore& pool) const;
  ThreadId runner_now() const;

  // Runs it on this thread. False if somebody has begun to, or if it was withdrawn.
  bool try_run(const std::stop_token& stop) { return try_run_from(Phase::pending, stop); }
  // The same, by who has the job.
  bool run_job(const std::stop_token& stop) {
    return try_run_from(Phase::pending, stop) || try_run_from(Phase::withdrawn, stop);
  }
  // From now on nobody but who has the job may run it. False if somebody has begun to.
  bool withdraw() noexcept;
  // Its job is being destroyed: if it has not run, it never will.
  void abandon();

  // Waits until it is done. On a worker, does the job itself if nobody has begun it, or brings in a spare worker.
  std::optional<Refusal> wait(const Wait& wait, std::source_location where);

  // For one that is not called but completed, a coroutine's: begin() as run_job() does, complete() once it has ended.
  bool begin();
  void complete(std::exception_ptr error);
  // Stands in line until it is done, for a wait in steps. False if it is.
  bool stand_in_line(Link& link);
  WaitList& waiters() { return waiters_; }

  // `next` runs when this one is done, on the thread that finishes it, or here and now. It takes over a reference.
  void then_run(FutureCore& next);

  void add_reference() { references_.fetch_add(1, relaxed); }  // By one who has a reference.
  void drop_reference() {
    // acquire, acq_rel: what others did with it happens before it is destroyed. Who has the only one need not count.
    if (references_.load(acquire) == 1 || references_.fetch_sub(1, acq_rel) == 1) delete this;
  }

 protected:
  // `pool`: whose workers may run it while they wait for it; compared, never used. `follows`: see then_run().
  FutureCore(const PoolCore* pool, std::source_location where, FutureCore* follows);
  virtual ~FutureCore();

  // Calls the callable, keeps the result, and destroys the callable, whether or not it throws.
  virtual void call(const std::stop_token& stop) = 0;
  // Destroys the callable: it will not be called.
  virtual void drop() noexcept = 0;

 private:
  // What was to run once this one is done, with the reference to it.
  struct Next {
    FutureCore* future = nullptr;
    bool will_run = false;  // False: this one never ran.
  };

  bool try_run_from(Phase phase, const std::stop_token& stop);
  bool may_run_here() const;
  void help();
  bool run_once(Phase phase, const std::stop_token& stop, Next& next);
  Next end_without_running();
  Next finish(Phase phase);
  static void run_what_follows(Next next);
  void let_go_of_what_it_follows();

  atomic<Phase> phase_;
  atomic<std::uint32_t> references_{2};
  atomic<ThreadId> runner_{no_thread};
  const PoolCore* const pool_;
  const std::source_location where_;
  FutureCore* follows_;       // The one before in a chain of then(); null once that is not needed.
  FutureCore* const origin_;  // The first of that chain. Both are kept alive by us.
  std::exception_ptr error_;
  // Guarded by the lock of waiters_.
  WaitList waiters_;
  FutureCore* next_ = nullptr;          // To be run once this one is done.
  const Primitive* subject_ = nullptr;  // The wait that is under way, for the wait graph.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
