// What does a small job cost in memory while it waits for a worker?
//
// Two pools one after the other. The first holds `--jobs` jobs that capture 16 bytes, behind a gate that keeps its
// workers busy: the growth of resident memory since before the pool, divided by the jobs. The second runs
// `--steady_jobs` to warm up and then as many again: the allocations while they are posted and run.
// Each job adds what it carries; unless all jobs of both pools have run and the sums match, the measurement fails.
#pragma once

#include <latch>

#include "../support/arguments.hpp"
#include "../support/count_allocations.hpp"
#include "../support/job_counts.hpp"
#include "../support/json_line.hpp"
#include "../support/pools/contender.hpp"
#include "../support/report_errors.hpp"
#include "../support/resident_memory.hpp"

namespace bench {

struct SmallJob {
  std::uint64_t number;
  std::uint64_t twice;

  void operator()() const { JobCounts::mine().add_job(number + twice); }
};
static_assert(sizeof(SmallJob) == 16);

constexpr std::uint64_t sum_of_jobs(std::uint64_t jobs) { return 3 * (jobs * (jobs + 1) / 2); }

template <ContenderPool Pool>
void post_small_jobs(Pool& pool, std::uint64_t jobs) {
  for (std::uint64_t number = 1; number <= jobs; ++number) pool.post(SmallJob{number, 2 * number});
}

// Bytes per job. The pool's capacity is `jobs`.
template <ContenderPool Pool>
double measure_queued(std::size_t workers, std::uint64_t jobs) {
  const JobTotals before_jobs = JobCounts::total();
  const std::uint64_t before = resident_bytes();
  std::latch blocked{static_cast<std::ptrdiff_t>(workers)};
  std::latch gate{1};
  Pool pool{workers, jobs};
  for (std::size_t i = 0; i < workers; ++i) {
    pool.post([&] {
      blocked.count_down();
      gate.wait();
    });
  }
  blocked.wait();
  post_small_jobs(pool, jobs);
  const std::uint64_t after = resident_bytes();
  gate.count_down();
  pool.finish();
  check_jobs(JobCounts::total() - before_jobs, jobs, sum_of_jobs(jobs));
  return static_cast<double>(after - before) / static_cast<double>(jobs);
}

// Allocations per job, those of the second half.
template <ContenderPool Pool>
double measure_allocations(std::size_t workers, std::size_t capacity, std::uint64_t jobs) {
  const JobTotals before_jobs = JobCounts::total();
  Pool pool{workers, capacity};
  post_small_jobs(pool, jobs);
  const std::uint64_t before = allocations_so_far();
  post_small_jobs(pool, jobs);
  const std::uint64_t after =
      allocations_so_far();  // Ending the pool is no part of a steady state.
  pool.finish();
  check_jobs(JobCounts::total() - before_jobs, 2 * jobs, 2 * sum_of_jobs(jobs));
  return static_cast<double>(after - before) / static_cast<double>(jobs);
}

template <ContenderPool Pool>
int pool_memory(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t jobs = arguments.number("jobs", 1'000'000);
    const std::uint64_t steady_jobs = arguments.number("steady_jobs", 100'000);
    const std::size_t workers = arguments.number("workers", 2);

    JsonLine line{Pool::version()};
    line.add("jobs", jobs);
    line.add("bytes_per_queued_job", measure_queued<Pool>(workers, jobs));
    line.add("allocations_per_job",
             measure_allocations<Pool>(workers, arguments.number("capacity", 1024), steady_jobs));
    line.print();
  });
}

}  // namespace bench
