// One burst: clicks come, a pool works on them, and the caller's thread shows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

#include "click.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "options.hpp"
#include "screen.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"
#include "support/waiting_times.hpp"
#include "unbounded.hpp"

namespace burst {

// What happened in one run. Nothing is lost if accepted == processed + handed_back.
struct Outcome {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t processed = 0;
  std::uint64_t handed_back = 0;
  handoff::PoolStats pool;
  std::string report;
  handoff::Duration half_waited{};
  handoff::Duration longest_wait{};
  handoff::Duration longest_answer{};
  std::uint64_t most_resident = 0;  // Bytes.
  Unbounded::Look unbounded;
  std::uint64_t most_resident_unbounded = 0;
  bool stopped = false;

  bool nothing_lost() const {
    return accepted == processed + handed_back && accepted == pool.accepted &&
           refused == pool.refused && pool.high_water <= pool.capacity;
  }
};

// One thread stands for the web server, the pool does the work, and the caller's thread shows it all.
class Run {
 public:
  Run(const Options& options, example::Terminal& terminal, std::stop_token stop,
      Unbounded* unbounded)
      : options_(options), terminal_(terminal), stop_(std::move(stop)), unbounded_(unbounded) {}

  Outcome operator()();

 private:
  void serve_visitors();
  void work_on(const Click& click);
  void watch_until_done();
  Picture picture();
  Side pool_side() const;
  Side unbounded_side() const;

  const Options& options_;
  example::Terminal& terminal_;
  const std::stop_token stop_;
  Unbounded* const unbounded_;  // Null: without the comparison.
  Screen screen_{terminal_};
  example::SlowService database_;
  example::WaitingTimes waits_;
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> processed_ = 0;
  handoff::Duration longest_answer_{};  // Of the web server's thread; read when that has ended.
  handoff::Event all_came_{{.name = "all clicks came"}};
  std::uint64_t most_resident_ = 0;
  std::uint64_t most_resident_unbounded_ = 0;
  const handoff::TimePoint began_ = handoff::now();
  handoff::WorkerPool pool_{{.workers = options_.workers,
                             .capacity = options_.capacity,
                             .when_full = handoff::WhenFull::reject,
                             .name = "clicks"}};
};

}  // namespace burst
