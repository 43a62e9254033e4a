// What the jobs of a measurement did, counted without a word that two threads share.
//
//   JobCounts::mine().add_job();     in a job: two plain instructions
//   JobCounts::total()               any time; exact once all jobs have run
//
// Each thread writes its own cache line; relaxed loads and stores, no read-modify-write.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>

namespace bench {

struct JobTotals {
  std::uint64_t jobs = 0;
  std::uint64_t spawned = 0;  // By other jobs.
  std::uint64_t sum = 0;      // Of what the jobs carried.

  friend JobTotals operator-(JobTotals later, JobTotals earlier) {
    return {later.jobs - earlier.jobs, later.spawned - earlier.spawned, later.sum - earlier.sum};
  }
};

class alignas(64) JobCounts {
 public:
  // The calling thread's own. They outlive the thread.
  static JobCounts& mine() {
    if (mine_ == nullptr) mine_ = &join();
    return *mine_;
  }

  void add_job(std::uint64_t carried = 0) {
    add(sum_, carried);
    add(jobs_, 1);
  }

  void add_spawned(std::uint64_t count) { add(spawned_, count); }

  static JobTotals total() {
    const std::lock_guard lock{mutex_};
    JobTotals all;
    for (const JobCounts& counts : all_) {
      all.jobs += counts.jobs_.load(std::memory_order_relaxed);
      all.spawned += counts.spawned_.load(std::memory_order_relaxed);
      all.sum += counts.sum_.load(std::memory_order_relaxed);
    }
    return all;
  }

 private:
  static void add(std::atomic<std::uint64_t>& count, std::uint64_t more) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  static JobCounts& join() {
    const std::lock_guard lock{mutex_};
    return all_.emplace_back();
  }

  static constinit inline thread_local JobCounts* mine_ = nullptr;
  static inline std::mutex mutex_;
  static inline std::deque<JobCounts> all_;  // Guarded by mutex_.

  std::atomic<std::uint64_t> jobs_ = 0;
  std::atomic<std::uint64_t> spawned_ = 0;
  std::atomic<std::uint64_t> sum_ = 0;
};

// Throws std::runtime_error unless exactly `given` jobs have run and their numbers add up to `sum`.
inline void check_jobs(const JobTotals& ran, std::uint64_t given, std::uint64_t sum = 0) {
  if (ran.jobs == given && ran.sum == sum) return;
  throw std::runtime_error("given " + std::to_string(given) + " jobs with sum " +
                           std::to_string(sum) + ", run " + std::to_string(ran.jobs) +
                           " with sum " + std::to_string(ran.sum));
}

}  // namespace bench
