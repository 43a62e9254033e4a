// What a pool must offer to take part.
//
//   Pool pool{2, 1024};     two workers; holds 1024 jobs, if it has a bound at all
//   pool.post(job);         from outside; waits while full
//   pool.spawn(job);        from inside a job
//   pool.finish();          from outside, after the last post: all jobs have run when it returns
//
// For pool_fork_join, instead of post and spawn:
//
//   pool.run(work);                     runs `work` as a job and waits for it
//   auto [a, b] = pool.fork_join(f, g)  from inside a job: f and g may run side by side
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

namespace bench {

template <typename Pool>
concept ContenderPool =
    std::constructible_from<Pool, std::size_t, std::size_t> && requires(Pool pool, void (*job)()) {
      pool.post(job);
      pool.spawn(job);
      pool.finish();
      { Pool::version() } -> std::convertible_to<std::string>;
    };

template <typename Pool>
concept ForkJoinPool =
    std::constructible_from<Pool, std::size_t> && requires(Pool pool, std::size_t (*work)()) {
      pool.run(work);
      { pool.fork_join(work, work).first } -> std::convertible_to<std::size_t>;
      { Pool::version() } -> std::convertible_to<std::string>;
    };

}  // namespace bench
