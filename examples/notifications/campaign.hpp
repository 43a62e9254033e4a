// Notifications to everybody, at a rate, in memory that does not grow.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

#include "gateway.hpp"
#include "handoff/pool.hpp"
#include "support/terminal.hpp"

namespace notifications {

inline constexpr std::size_t packets_waiting = 64;

struct Options {
  std::uint64_t count = 10'000'000;
  std::uint64_t rate = 500'000;  // A second.
  std::uint64_t workers = 4;

  // Notifications in a packet: few if the rate is low, so that they go out evenly.
  std::uint64_t packet() const {
    return std::clamp<std::uint64_t>(rate / 100, 1, most_in_a_packet);
  }
};

struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  std::uint64_t arrived_twice = 0;
  std::uint64_t handed_back = 0;  // Packets.
  std::uint64_t failed = 0;       // Packets that could not be sent.
  std::string report;
  handoff::Duration elapsed{};
  std::uint64_t resident_at_first = 0;
  std::uint64_t most_resident = 0;
  bool stopped = false;

  bool is_exact() const { return sent == arrived && arrived_twice == 0 && failed == 0; }
  double rate() const {
    return static_cast<double>(sent) / std::chrono::duration<double>(elapsed).count();
  }
};

class Campaign {
 public:
  Campaign(const Options& options, example::Terminal& terminal, std::stop_token stop)
      : options_(options), terminal_(terminal), stop_(std::move(stop)) {}

  Outcome operator()();
  std::uint64_t sent() const { return sent_; }  // So far; by any thread.

 private:
  void hand_in_all();
  void send_packet(std::uint64_t first);
  void watch();
  void show();

  const Options& options_;
  example::Terminal& terminal_;
  const std::stop_token stop_;
  Gateway gateway_{options_.count};
  std::atomic<std::uint64_t> sent_ = 0;
  std::atomic<bool> all_in_ = false;
  std::uint64_t resident_at_first_ = 0;
  std::uint64_t most_resident_ = 0;
  const handoff::TimePoint began_ = handoff::now();
  // For the rate of the last second.
  handoff::TimePoint looked_ = began_;
  std::uint64_t sent_then_ = 0;
  double rate_now_ = 0;
  // The queue is short: whoever hands in waits, so what has not been sent yet does not exist yet.
  handoff::WorkerPool pool_{{.workers = options_.workers,
                             .capacity = packets_waiting,
                             .name = "notifications",
                             .rate = handoff::per_second(static_cast<double>(options_.rate) /
                                                         static_cast<double>(options_.packet()))}};
};

}  // namespace notifications
