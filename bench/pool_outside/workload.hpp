// How many empty jobs a second does a pool run that one thread outside gives it?
//
// One thread posts until `--jobs` are posted or `--milliseconds` have passed. Time runs from the first post until
// the last job has run. A job only counts itself; unless all posted jobs have run, the measurement fails.
#pragma once

#include <chrono>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/job_rate.hpp"
#include "../support/pools/contender.hpp"
#include "../support/report_errors.hpp"

namespace bench {

template <ContenderPool Pool>
std::uint64_t post_jobs(Pool& pool, std::uint64_t jobs, std::chrono::milliseconds time_limit) {
  const auto deadline = std::chrono::steady_clock::now() + time_limit;
  std::uint64_t posted = 0;
  while (posted < jobs) {
    pool.post([] { JobCounts::mine().add_job(); });
    ++posted;
    if (posted % jobs_per_look_at_the_clock == 0 && std::chrono::steady_clock::now() >= deadline)
      break;
  }
  return posted;
}

template <ContenderPool Pool>
int pool_outside(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t jobs = arguments.number("jobs", 5'000'000);
    const std::chrono::milliseconds time_limit{arguments.number("milliseconds", 500)};
    Pool pool{arguments.number("workers", 2), arguments.number("capacity", 1024)};

    JobStopwatch stopwatch;
    const std::uint64_t posted = post_jobs(pool, jobs, time_limit);
    pool.finish();
    stopwatch.stop();
    check_jobs(JobCounts::total(), posted);
    stopwatch.print(Pool::version(), posted);
  });
}

}  // namespace bench
