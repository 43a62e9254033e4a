// One worker thread's share of a pool: its jobs, what it runs, what it has counted. Records are made when a thread first
// needs one, are reused by later threads, and live as long as the pool: what they have counted stays counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/thread_info.hpp"
#include "handoff/detail/pool/future_memory.hpp"
#include "handoff/detail/pool/job_ring.hpp"
#include "handoff/detail/pool/join_deque.hpp"
#include "handoff/detail/pool/newcomers.hpp"
#include "handoff/detail/pool/ready_list.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class PoolCore;
class FutureCore;

// How often a worker looks first where it looks last otherwise, so that nobody is starved: once in so many jobs. A prime, as it meets
// no pattern.
inline constexpr std::uint32_t look_period = 61;

struct Worker {
  // Jobs claimed from the shared queue at a time. They still count against its capacity.
  static constexpr std::size_t claim_size = 16;
  // Jobs handed in by this worker's own jobs, past which they run on the spot.
  static constexpr std::size_t local_size = 256;
  // How deep jobs may run on top of each other: one run on the spot, or one that somebody waits for.
  static constexpr int most_nested = 64;

  Worker(PoolCore& owner, std::size_t position) : pool(owner), number(position) {}

  PoolCore& pool;
  const std::size_t number;  // Place in the roster.

  JobRing<claim_size> claimed;
  JobRing<local_size> local;
  JoinDeque joins;

  // Coroutines that were made ready by what this worker ran. The last of them goes next, while all it needs is in the
  // cache. See pool_coroutines.cpp for when others take them.
  alignas(cache_line) atomic<Runnable*> next_up{nullptr};
  ReadyList ready;
  Newcomers newcomers;
  atomic<bool> has_told{
      false};  // Others, that there is something to take, and nobody has come yet.
  // Times in a row that one came, and found that the worker gets on.
  atomic<std::uint32_t> told_in_vain{0};

  // -- The thread's own --------------------------------------------------------------------------
  // Times it looked for work; now and then the shared queue goes first. Others see by it that the worker gets on.
  alignas(cache_line) atomic<std::uint32_t> ticks{0};
  std::uint32_t tells_to_skip = 0;  // See is_worth_telling().
  // Coroutines that were counted in and out here: see PoolCore::begin_coroutine().
  atomic<std::uint64_t> coroutine_permits{
      0};  // To begin one without asking. Given and taken back under a lock.
  atomic<std::uint64_t> coroutines_begun{0};
  atomic<std::uint64_t> coroutines_ended{0};
  std::uint32_t claims = 0;  // From the shared queue.
  int nested = 0;
  std::uint32_t random = 0x9e3779b9;
  FreedBlocks freed;

  // -- Written by the thread, read by others -----------------------------------------------------
  // Times it began to look for work << 1 | whether it has found none since: see PoolCore::is_quiet().
  alignas(cache_line) atomic<std::uint64_t> activity{0};
  atomic<ThreadId> thread{no_thread};
  atomic<std::source_location> running{std::source_location()};  // Line 0: nothing.
  // Counters, relaxed: nothing is published with them.
  atomic<std::uint64_t> finished{0};
  atomic<std::uint64_t> failed{0};
  atomic<std::uint64_t> spawned{0};
  atomic<Duration::rep> busy{0};        // Time spent at work in stretches that have ended.
  atomic<Duration::rep> busy_since{0};  // When the current stretch began; 0: it is idle.
  // What it waits for inside a job, if that is a future without a deadline. Guarded by the crew's lock.
  FutureCore* awaited = nullptr;
  int blocked_depth = 0;
  bool is_leaving = false;              // Counted out already.
  atomic<std::uint32_t> ticks_seen{0};  // By others: see PoolCore::take_left_lying().

  bool has_coroutines() const {
    return next_up.load(seq_cst) != nullptr || !ready.is_empty() || !newcomers.is_empty();
  }

  // Sequentially consistent, as is_quiet() compares what several workers have done. Written by the worker alone.
  void begin_to_look() { activity.store((activity.load(relaxed) / 2 + 1) * 2, seq_cst); }
  void found_nothing() { activity.store(activity.load(relaxed) | 1, seq_cst); }

  std::uint32_t next_tick() {
    // One writer; others see by it that the worker gets on.
    const std::uint32_t tick = ticks.load(relaxed) + 1;
    ticks.store(tick, relaxed);
    return tick;
  }
  static void count(atomic<std::uint64_t>& counter) {
    counter.store(counter.load(relaxed) + 1, relaxed);  // One writer.
  }
};

// The worker of a pool that the calling thread is; null for any other thread.
inline thread_local constinit Worker* this_worker = nullptr;

// Every worker record of a pool. Grows, never shrinks.
class Roster {
 public:
  static constexpr std::size_t most_workers = 4096;

  std::size_t size() const { return size_.load(acquire); }  // Pairs with the store in add().
  Worker& operator[](std::size_t number) const { return *workers_[number]; }

  // Under the crew's lock.
  Worker& add_locked(PoolCore& pool) {
    const std::size_t number = size_.load(relaxed);  // Written under the same lock.
    workers_[number] = std::make_unique<Worker>(pool, number);
    size_.store(number + 1, release);  // Pairs with the acquire in size().
    return *workers_[number];
  }

 private:
  // All the room there will ever be, so that it can be read while it grows.
  const std::unique_ptr<std::unique_ptr<Worker>[]> workers_ =
      std::make_unique<std::unique_ptr<Worker>[]>(most_workers);
  atomic<std::size_t> size_{0};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
