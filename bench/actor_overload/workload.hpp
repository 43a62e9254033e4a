// What does an actor cost in memory that is sent ten times what it can handle?
//
// For `--seconds` the main thread sends a message each microsecond to an actor that needs ten for each. An actor with a
// bound refuses what it has no room for; one without accepts everything. Memory is the highest growth of what was
// resident over that time. Then the actor handles what it has accepted, without delay; unless number and sum of that
// are right, the measurement fails.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/json_line.hpp"
#include "../support/peak_memory.hpp"
#include "../support/report_errors.hpp"

namespace bench {

constexpr std::chrono::microseconds handling_time{10};
constexpr std::chrono::microseconds sending_time{1};

inline std::atomic<bool> is_overload_over = false;

// What the actor does with each message.
inline void handle_slowly(std::uint64_t number) {
  const auto until = std::chrono::steady_clock::now() + handling_time;
  while (!is_overload_over.load(std::memory_order_relaxed) &&
         std::chrono::steady_clock::now() < until) {
  }
  JobCounts::mine().add_job(number);
}

// Overloaded actor{2};     on two workers; calls handle_slowly() with each number
// actor.send(number);      returns whether it was accepted
template <typename Overloaded>
concept ContenderOverloaded = std::constructible_from<Overloaded, std::size_t> &&
                              requires(Overloaded actor, std::uint64_t number) {
                                { actor.send(number) } -> std::same_as<bool>;
                                { Overloaded::version() } -> std::convertible_to<std::string>;
                              };

struct SentMessages {
  std::uint64_t sent = 0;
  std::uint64_t accepted = 0;
  std::uint64_t sum = 0;  // Of what was accepted.
};

template <ContenderOverloaded Overloaded>
SentMessages send_too_much(Overloaded& actor, std::chrono::seconds duration) {
  SentMessages messages;
  const auto began = std::chrono::steady_clock::now();
  for (auto passed = began - began; passed < duration;
       passed = std::chrono::steady_clock::now() - began) {
    const auto due = static_cast<std::uint64_t>(passed / sending_time);
    while (messages.sent < due) {
      if (actor.send(++messages.sent)) {
        ++messages.accepted;
        messages.sum += messages.sent;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return messages;
}

template <ContenderOverloaded Overloaded>
void measure_overload(std::size_t workers, std::chrono::seconds duration) {
  Overloaded actor{workers};
  const PeakMemory peak;
  const SentMessages messages = send_too_much(actor, duration);
  const double growth_mib = peak.growth_mib();
  const std::uint64_t handled = JobCounts::total().jobs;
  is_overload_over = true;
  while (JobCounts::total().jobs < messages.accepted) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  check_jobs(JobCounts::total(), messages.accepted, messages.sum);

  JsonLine line{Overloaded::version()};
  line.add("messages_sent", messages.sent);
  line.add("messages_refused", messages.sent - messages.accepted);
  line.add("messages_handled_in_time", handled);
  line.add("peak_growth_mib", growth_mib);
  line.print();
}

template <typename Overloaded>
int actor_overload(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    measure_overload<Overloaded>(arguments.number("workers", 2),
                                 std::chrono::seconds{arguments.number("seconds", 10)});
  });
}

}  // namespace bench
