// A worker's own jobs, first in, first out: only the worker adds, anybody may take, the worker included.
//
// Invariants:
// - Jobs stand in [taken, added). `added` moves by the owner alone, `taken` by one compare-and-swap per job; whoever
//   moves it on from i owns the job in place i.
// - A place is filled again only once its flag says that the job in it has been moved out: a taker that was
//   descheduled between its claim and its move is not overrun, there is just less room until it goes on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/job.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <std::size_t places>
class JobRing {
  static_assert((places & (places - 1)) == 0, "a power of two");

 public:
  JobRing() : jobs_(std::make_unique<std::array<Job, places>>()) {}

  // -- For the owner -----------------------------------------------------------------------------

  // The place for the next job, empty, or null if there is none. publish() makes `count` of them visible.
  Job* place(std::size_t ahead = 0) {
    const std::uint64_t index = added_.load(relaxed) + ahead;  // Written by this thread alone.
    // Pairs with the release in take(): the job that was there is out.
    if (ahead >= places || occupied_[index % places].load(acquire)) return nullptr;
    return &(*jobs_)[index % places];
  }
  void publish(std::size_t count) {
    const std::uint64_t first = added_.load(relaxed);  // Written by this thread alone.
    // Before the jobs become visible, and so before anybody can clear the flags.
    for (std::size_t i = 0; i < count; ++i) occupied_[(first + i) % places].store(true, relaxed);
    // The store half of the handshake with a worker that is about to sleep; and pairs with take().
    added_.store(first + count, seq_cst);
  }

  // -- For anybody -------------------------------------------------------------------------------

  // Moves the oldest job into `job`, which is empty. False if there is none.
  bool take(Job& job) {
    std::uint64_t index = taken_.load(seq_cst);
    while (index != added_.load(seq_cst)) {
      // Sequentially consistent: for outside jobs this is what makes room, and the taker then looks for sleepers.
      if (!taken_.compare_exchange_weak(index, index + 1, seq_cst)) continue;
      job = std::move((*jobs_)[index % places]);
      occupied_[index % places].store(false, release);  // Pairs with the acquire in place().
      return true;
    }
    return false;
  }
  bool is_empty() const {
    const std::uint64_t taken = taken_.load(seq_cst);
    return taken == added_.load(seq_cst);
  }
  std::size_t size() const {
    const std::uint64_t taken = taken_.load(seq_cst);
    return static_cast<std::size_t>(added_.load(seq_cst) - taken);
  }
  std::uint64_t taken() const { return taken_.load(seq_cst); }

 private:
  alignas(cache_line) atomic<std::uint64_t> taken_{0};
  alignas(cache_line) atomic<std::uint64_t> added_{0};
  std::unique_ptr<std::array<Job, places>> jobs_;
  std::array<atomic<bool>, places> occupied_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
