// The shared queue of a pool: bounded, first in, first out, filled from outside and emptied in short runs.
//
// It differs from BlockingQueue in when room comes back: not when a worker claims a job, but when somebody starts it.
// A claimed job waits in the ring of its worker, where others can take it, and still counts.
//
// Invariants:
// - Jobs not claimed yet stand in [head index, tail index).
// - started() <= head index <= tail index, and tail index - started() <= capacity. Started is counted where it
//   happens, by each worker for itself, so that nobody writes a shared line per job; producers add the counts up
//   only when what they knew has run out.
// - The tail lock guards filling and closing, the head lock claiming. Claimed jobs are visible in the worker's ring
//   before the head lock is released: who finds neither here nor there that there is a job, knows there is none.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <type_traits>

#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/pool/job_maker.hpp"
#include "handoff/detail/pool/worker.hpp"
#include "handoff/detail/queue/index_lock.hpp"
#include "handoff/detail/queue/queue_core.hpp"
#include "handoff/detail/queue/slots.hpp"
#include "handoff/detail/queue/turnstile.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class JobQueue {
 public:
  JobQueue(Primitive& subject, const Roster& workers, Turnstile& consumers, std::size_t capacity);
  ~JobQueue();

  // -- Producers ---------------------------------------------------------------------------------

  template <typename Make>
  Tried try_put(Make& make);
  // Waits for room. A refusal means that the wait ended first, or that the queue is closed.
  std::optional<Refusal> put_waiting(JobMaker make, const Wait& wait, WaitSite site);
  void close();
  // Sequentially consistent, as the numbers of coroutines: the last to end sees that it is closed, or who closes it sees the end.
  bool is_closed() const { return closed_.load(seq_cst); }

  // -- Workers -----------------------------------------------------------------------------------

  // Moves the oldest jobs, up to `most`, into the worker's ring of claimed ones. Returns how many.
  std::size_t claim(Worker& worker, std::size_t most);
  // Takes the oldest one out by itself: it counts as started.
  bool take(Job& job);
  // To be called after a job was taken out of a ring of claimed ones: there is room now.
  void tell_producers() {
    if (producers_.someone_sleeps()) [[unlikely]]
      producers_.notify();
  }

  // -- Look --------------------------------------------------------------------------------------

  bool is_empty() const;  // Nothing to claim.
  std::size_t capacity() const { return capacity_; }
  std::uint64_t accepted() const { return tail_.index(); }
  std::uint64_t started() const;
  std::size_t size() const;
  // For the stats.
  std::size_t high_water() const { return static_cast<std::size_t>(high_water_.load(relaxed)); }
  WaitTotals producers() const { return producers_.totals(); }
  void report(std::vector<WaitInfo>& waits) const { producers_.report(waits); }

 private:
  class PutTurn;

  bool has_room_locked(std::uint64_t tail) {
    // Below its highest mark the size need not be known exactly.
    if (tail - started_seen_ >= high_water_.load(relaxed)) [[unlikely]]
      started_seen_ = started();
    return tail - started_seen_ < capacity_;
  }
  Job* place_locked() const { return &slots_[fill_position_]; }
  void publish_index(std::uint64_t tail) {
    if (tail + 1 - started_seen_ > high_water_.load(relaxed))  // Only the lock's holder writes it.
      high_water_.store(tail + 1 - started_seen_, relaxed);
    fill_position_ = wrapped(fill_position_ + 1);
    tail_.unlock(tail + 1);
  }
  void tell_consumers() {
    if (consumers_.someone_sleeps()) [[unlikely]]
      consumers_.notify();
  }
  [[gnu::noinline]] bool serve_producer(std::uint64_t tail);
  std::size_t wrapped(std::size_t position) const {
    return position < capacity_ ? position : position - capacity_;
  }

  const std::size_t capacity_;
  const Roster& workers_;
  Turnstile& consumers_;
  const Slots<Job> slots_;

  // The producers' side, guarded by the tail lock.
  alignas(cache_line) IndexLock tail_;
  std::uint64_t started_seen_ = 0;  // Never more than have been started.
  std::size_t fill_position_ = 0;
  atomic<std::uint64_t> high_water_{0};
  atomic<bool> closed_{false};

  // The workers' side, guarded by the head lock.
  alignas(cache_line) IndexLock head_;
  std::uint64_t tail_seen_ = 0;
  std::size_t empty_position_ = 0;

  alignas(cache_line) atomic<std::uint64_t> taken_singly_{0};
  Turnstile producers_;
};

template <typename Make>
Tried JobQueue::try_put(Make& make) {
  while (true) {
    const auto tail = tail_.lock();
    const bool closed = closed_.load(relaxed);  // Written under the same lock.
    if (closed || !has_room_locked(tail)) [[unlikely]] {
      tail_.unlock(tail);
      return closed ? Tried::closed : Tried::not_yet;
    }
    if (tail >= producers_.overtake_limit() && serve_producer(tail)) [[unlikely]]
      continue;
    try {
      make(place_locked());
    } catch (...) {
      tail_.unlock(tail);
      throw;
    }
    publish_index(tail);
    tell_consumers();
    return Tried::done;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
