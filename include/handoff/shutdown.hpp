// How a pool is shut down, and what it says afterwards.
//
//   auto report = pool.shutdown(handoff::finish_within(30s));                       // finish what is queued
//   auto report = pool.shutdown(handoff::interrupt());                              // ask jobs to stop, hand back the rest
//   auto report = pool.shutdown(handoff::finish_within(30s).then_interrupt(5s));    // the first, then the second
//   auto report = pool.shutdown(handoff::finish_within(30s).or_until(stop));        // a Ctrl-C ends the patience
//   for (handoff::Job& job : report.handed_back) save_for_later(std::move(job));
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/job.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class Shutdown {
 public:
  // After the time to finish, asks the jobs that still run to stop and waits for them for `grace`.
  Shutdown then_interrupt(Duration grace = std::chrono::seconds(10)) const {
    Shutdown both = *this;
    both.grace_ = grace;
    both.interrupts_ = true;
    return both;
  }

  // When a stop is requested, the time to finish is over.
  Shutdown or_until(std::stop_token stop) const {
    Shutdown shorter = *this;
    shorter.early_end_ = std::move(stop);
    return shorter;
  }

  Duration finish() const { return finish_; }
  Duration grace() const { return grace_; }
  bool interrupts() const { return interrupts_; }
  const std::stop_token& early_end() const { return early_end_; }

 private:
  friend Shutdown finish_within(Duration time);
  friend Shutdown interrupt(Duration grace);
  Shutdown(Duration finish, Duration grace, bool interrupts)
      : finish_(finish), grace_(grace), interrupts_(interrupts) {}

  Duration finish_;
  Duration grace_;
  bool interrupts_;
  std::stop_token early_end_ = {};
};

// Takes no more jobs, finishes those that are there. What has not begun by then is handed back.
inline Shutdown finish_within(Duration time) { return Shutdown(time, Duration::zero(), false); }

// Takes no more jobs, hands back those that have not begun, requests a stop of those that have and waits for them.
inline Shutdown interrupt(Duration grace = std::chrono::seconds(10)) {
  return Shutdown(Duration::zero(), grace, true);
}

// A job that had not ended when the time was up.
struct RunningJob {
  std::string thread;          // The worker that runs it.
  std::source_location where;  // Where it was handed in.
};

struct ShutdownReport {
  std::uint64_t finished = 0;    // Jobs that ended since the shutdown began.
  std::vector<Job> handed_back;  // Accepted, but not begun: yours again, to run or to keep.
  std::vector<RunningJob> still_running;  // Not ended in time. The destructor waits for them.
  std::size_t coroutines = 0;  // Begun and not ended in time; waits() says what they wait for.
  std::size_t timers_cancelled = 0;  // after(), at() and every() that were not due yet.

  // Everything accepted has run to its end.
  bool is_complete() const {
    return handed_back.empty() && still_running.empty() && coroutines == 0;
  }
};

// "412 finished, 3 handed back, 1 still running: report.cpp:88 on reports 2", for a log.
std::string to_string(const ShutdownReport& report);

}  // namespace handoff::inline HANDOFF_FLAVOUR
