// The sale: tickets, buyers, and what each buyer was told.
//
// A buyer who is taken on is served by a worker. One who finds the queue full waits for 100 ms, then is told to try again
// later. Everyone who came is told exactly one thing, also if the sale is stopped in the middle.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/shutdown.hpp"
#include "handoff/sizing.hpp"
#include "support/slow_service.hpp"
#include "support/waiting_times.hpp"

namespace ticket_sale {

struct Options {
  std::uint64_t tickets = 5'000;
  std::uint64_t planned = 600;  // Buyers a second we are ready for.
  std::uint64_t peak = 800;     // Buyers a second who come.
  double seconds = 10;          // How long they come.
  std::uint64_t workers = 8;
  std::uint64_t milliseconds = 20;  // What a payment takes.

  std::uint64_t buyers() const {
    return static_cast<std::uint64_t>(static_cast<double>(peak) * seconds);
  }
  handoff::Rate drain_rate() const {
    return handoff::per_second(1000.0 * static_cast<double>(workers) /
                               static_cast<double>(milliseconds));
  }
  // (peak - drain) x duration, for the peak we planned for.
  std::size_t capacity() const {
    return handoff::capacity_for({.peak_rate = handoff::per_second(static_cast<double>(planned)),
                                  .drain_rate = drain_rate(),
                                  .burst = std::chrono::duration_cast<handoff::Duration>(
                                      std::chrono::duration<double>(seconds))});
  }
};

enum class Answer : std::uint8_t { ticket, declined, sold_out, try_later, sale_stopped };
inline constexpr std::size_t answers = 5;

class Sale {
 public:
  static constexpr std::chrono::milliseconds patience{100};  // How long a buyer waits for a place.

  explicit Sale(const Options& options);

  // One more buyer, on a thread of the web server. Returns when he has a place in the queue, or an answer.
  void serve(std::uint64_t buyer, std::stop_token stop);
  // Everybody in the queue is served; once `stop` is requested, they are told that instead.
  handoff::ShutdownReport end(const std::stop_token& stop);

  std::uint64_t told(Answer answer) const { return told_[static_cast<std::size_t>(answer)]; }
  std::uint64_t told() const;  // Something.
  std::uint64_t came() const { return came_; }
  std::size_t tickets_left() const { return tickets_.size(); }
  handoff::PoolStats pool() const { return pool_.stats(); }
  handoff::Duration waited(Answer answer, double part) {
    return waits_[static_cast<std::size_t>(answer)].of(part);
  }

  // What is wrong, or nothing. Once the sale has ended.
  std::string_view mistake() const;

 private:
  struct Buyer {
    handoff::TimePoint came;
    std::atomic<std::uint32_t> times_told = 0;
  };

  void sell_to(std::uint64_t buyer, const std::stop_token& stop);
  void give_back(std::uint64_t ticket);
  void tell(std::uint64_t buyer, Answer answer);

  const Options& options_;
  std::vector<Buyer> buyers_;
  std::vector<std::atomic<std::uint32_t>> times_sold_;  // By ticket.
  handoff::BlockingQueue<std::uint64_t> tickets_;
  example::SlowService bank_;
  std::array<std::atomic<std::uint64_t>, answers> told_{};
  std::array<example::WaitingTimes, answers> waits_;
  std::atomic<std::uint64_t> came_ = 0;
  handoff::WorkerPool pool_;  // Last: its jobs use the others.
};

}  // namespace ticket_sale
