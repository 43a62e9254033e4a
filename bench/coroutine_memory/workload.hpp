// What does a coroutine cost in memory while it waits to receive?
//
// `--coroutines` of them wait to receive from one channel or, with `--queue 1`, to take from one queue: the growth of
// resident memory since before the pool, divided by their number. Then each gets an item, adds it, and ends; unless all
// did and the sum is right, the measurement fails.
// For C++ coroutines also what is left of it without the frame that the compiler needs at least: that of the same
// coroutine around a promise and an awaitable that hold nothing.
#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <thread>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/json_line.hpp"
#include "../support/report_errors.hpp"
#include "../support/resident_memory.hpp"

namespace bench {

// Waiting waiting{2, 1000};   carried by two threads, if it can be; for a thousand coroutines
// waiting.start();            starts them; each calls JobCounts::mine().add_spawned(1) before it waits
// waiting.finish();           gives each an item, 1 to 1000, to call JobCounts::mine().add_job(item) with
template <typename Waiting>
concept ContenderWaiting =
    std::constructible_from<Waiting, std::size_t, std::uint64_t> && requires(Waiting waiting) {
      waiting.start();
      waiting.finish();
      { Waiting::is_stackless } -> std::convertible_to<bool>;
      { Waiting::version() } -> std::convertible_to<std::string>;
    };

// -- The least a frame can be ---------------------------------------------------------------------

struct BareCoroutine {
  struct promise_type {
    static inline std::size_t frame_bytes = 0;

    static void* operator new(std::size_t size) {
      frame_bytes = size;
      return ::operator new(size);
    }
    static void operator delete(void* frame) { ::operator delete(frame); }

    BareCoroutine get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };

  std::coroutine_handle<promise_type> handle;
};

struct BareItem {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  std::uint64_t await_resume() const noexcept { return 1; }
};

inline BareCoroutine receive_bare(std::uint64_t& channel) {
  JobCounts::mine().add_spawned(1);
  channel += co_await BareItem{};
}

inline std::size_t bare_frame_bytes() {
  std::uint64_t channel = 0;
  receive_bare(channel).handle.destroy();
  return BareCoroutine::promise_type::frame_bytes;
}

// -- The measurement ------------------------------------------------------------------------------

// No contender can say that a coroutine waits, only that it has begun: after that it has a few instructions to go.
inline void wait_until_all_wait(std::uint64_t coroutines) {
  while (JobCounts::total().spawned < coroutines) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{10});  // The last of them are about to.
}

template <ContenderWaiting Waiting>
double measure_waiting(std::size_t workers, std::uint64_t coroutines) {
  const std::uint64_t before = resident_bytes();
  Waiting waiting{workers, coroutines};
  waiting.start();
  wait_until_all_wait(coroutines);
  const std::uint64_t after = resident_bytes();
  waiting.finish();
  check_jobs(JobCounts::total(), coroutines, coroutines * (coroutines + 1) / 2);
  return static_cast<double>(after - before) / static_cast<double>(coroutines);
}

// OverQueue: the contender with `--queue 1`.
template <ContenderWaiting Waiting, ContenderWaiting OverQueue = Waiting>
int coroutine_memory(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t coroutines = arguments.number("coroutines", 100'000);
    const std::size_t workers = arguments.number("workers", 2);
    const double bytes = arguments.number("queue", 0) != 0
                             ? measure_waiting<OverQueue>(workers, coroutines)
                             : measure_waiting<Waiting>(workers, coroutines);

    JsonLine line{Waiting::version()};
    line.add("coroutines", coroutines);
    line.add("bytes_per_coroutine", bytes);
    if (Waiting::is_stackless) {
      line.add("bytes_beyond_frame", bytes - static_cast<double>(bare_frame_bytes()));
    }
    line.print();
  });
}

}  // namespace bench
