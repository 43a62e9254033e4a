// How many empty jobs a second does a pool run that its own jobs spawn?
//
// One job is posted. It spawns all the others itself or, with `--tree 1`, it spawns two, which spawn two each, and
// so on, until there are `--jobs` or `--milliseconds` have passed. Time runs from the post until the last job has
// run. Jobs count themselves and what they spawned; unless the two match, the measurement fails.
#pragma once

#include <atomic>
#include <chrono>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/job_rate.hpp"
#include "../support/pools/contender.hpp"
#include "../support/report_errors.hpp"

namespace bench {

template <ContenderPool Pool>
struct Spawning {
  Pool& pool;
  std::uint64_t jobs;
  std::chrono::steady_clock::time_point deadline;
  std::atomic<bool> is_over = false;  // Time is up.

  void look_at_the_clock() {
    if (std::chrono::steady_clock::now() >= deadline) is_over.store(true);
  }
};

template <ContenderPool Pool>
void spawn_all(Spawning<Pool>& spawning) {
  JobCounts& mine = JobCounts::mine();
  for (std::uint64_t job = 2; job <= spawning.jobs && !spawning.is_over; ++job) {
    mine.add_spawned(1);
    spawning.pool.spawn([] { JobCounts::mine().add_job(); });
    if (job % jobs_per_look_at_the_clock == 0) spawning.look_at_the_clock();
  }
  mine.add_job();
}

// The node of a tree whose children are 2 * number and 2 * number + 1, up to spawning.jobs.
template <ContenderPool Pool>
struct TreeJob {
  Spawning<Pool>* spawning;
  std::uint64_t number;

  void operator()() const {
    if (number % jobs_per_look_at_the_clock == 0) spawning->look_at_the_clock();
    for (std::uint64_t child = 2 * number; child <= 2 * number + 1; ++child) {
      if (child > spawning->jobs || spawning->is_over.load(std::memory_order_relaxed)) break;
      JobCounts::mine().add_spawned(1);
      spawning->pool.spawn(TreeJob{spawning, child});
    }
    JobCounts::mine().add_job();
  }
};

template <ContenderPool Pool>
int pool_inside(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const bool is_tree = arguments.number("tree", 0) != 0;
    const std::chrono::milliseconds time_limit{arguments.number("milliseconds", 500)};
    Pool pool{arguments.number("workers", 2), arguments.number("capacity", 1024)};

    JobStopwatch stopwatch;
    Spawning<Pool> spawning{.pool = pool,
                            .jobs = arguments.number("jobs", 5'000'000),
                            .deadline = std::chrono::steady_clock::now() + time_limit};
    if (is_tree) {
      pool.post(TreeJob<Pool>{&spawning, 1});
    } else {
      pool.post([&spawning] { spawn_all(spawning); });
    }
    pool.finish();
    stopwatch.stop();
    const JobTotals ran = JobCounts::total();
    check_jobs(ran, ran.spawned + 1);
    if (!spawning.is_over) check_jobs(ran, spawning.jobs);
    stopwatch.print(Pool::version(), ran.jobs);
  });
}

}  // namespace bench
