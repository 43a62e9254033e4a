// Runs a test many times, each time with its threads in another order, and finds the order that breaks it.
//
//   TEST(Orders, NoneIsLost) {
//     handoff::testing::simulate({.runs = 10'000}, [] {
//       handoff::BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
//       handoff::Thread producer([&] { orders.put(1).value(); orders.close(); });
//       int sum = 0;
//       for (int order : orders) sum += order;
//       handoff::testing::check(sum == 1, "an order was lost");
//     });
//   }
//
// Link handoff::handoff_sim instead of handoff::handoff; the headers are the same. In that flavour the body, and every thread made through
// Handoff (Thread, WorkerPool, Scope), run one at a time. They change only inside Handoff's operations, in an order drawn from a seed:
// the same seed, the same run. Time is virtual: when all wait, it jumps to the next deadline.
//
// A run fails if check() does, if the body or a thread throws, if all wait and no deadline will come (a deadlock; the report says who waits for
// what), if it takes more than max_steps steps, or if a thread is still alive at the end. simulate() then makes the schedule as short as it can
// and throws SimulationFailed, with a table of what happened. To see it again:
//
//   HANDOFF_SEED=4711 ./my_tests            the run with that seed, and no other
//   HANDOFF_SEED=4711 HANDOFF_SCHEDULE='1@12>2,...' ./my_tests    the shortened one, as printed
//   HANDOFF_TABLE=all ...                   and every step of it in the table
//
// What is not simulated: code that is compiled for the other flavour (compile what is tested for this one, too), threads made otherwise, and waits
// outside of Handoff (std::mutex, sleeping, I/O). A thread_local is the OS thread's, which later runs use again. A thread that waits so has
// the only permission to run; after `patience` of real time the run fails, and its name is told. Plain data that threads share without a
// lock is seen to race if it is a Var (testing/var.hpp). Memory is sequentially consistent: bugs of weaker orders are for ThreadSanitizer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/detail/core/config.hpp"

#if !(defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED)
#error "handoff/testing/simulate.hpp is for the simulated flavour: link handoff::handoff_sim"
#endif

namespace handoff::inline HANDOFF_FLAVOUR::testing {

// How the next thread is chosen.
struct Strategy {
  enum class Kind : std::uint8_t { random, pct, exhaustive };
  Kind kind = Kind::random;
  unsigned depth = 0;  // pct: of the bugs it looks for. exhaustive: the most preemptions in a run.
};
// Now and then, at random. The default.
inline constexpr Strategy random{};
// By priorities that change `depth` - 1 times in a run, early or late: good for bugs that need a few unlucky moments far apart. From 1 to 1000.
constexpr Strategy pct(unsigned depth) { return {.kind = Strategy::Kind::pct, .depth = depth}; }
// All orders in which a thread that could go on is interrupted at most `preemptions` times. For small bodies.
constexpr Strategy exhaustive(unsigned preemptions) {
  return {.kind = Strategy::Kind::exhaustive, .depth = preemptions};
}

// What may go wrong by chance, each with this probability, from 0 to 1, whenever it can.
struct Faults {
  double spurious_wake = 0;  // A thread that waits wakes up for no reason.
  double weak_failure = 0;   // A weak compare-and-swap fails for no reason.
  double slow_thread = 0;    // A thread does not run for a while, by virtual time.
  double clock_jump = 0;     // Time jumps ahead, by up to a second.
  double refusal =
      0;  // offer(), try_lock() and their like, and a pool that rejects, refuse what they could do.
};

struct SimulateOptions {
  std::uint64_t runs = 1'000;  // With exhaustive(): at most so many.
  std::uint64_t first_seed = 1;
  Strategy strategy = random;
  Faults faults = {};
  std::uint64_t max_steps = 1'000'000;           // In one run.
  Duration patience = std::chrono::seconds(10);  // Real time that a step may take.
  bool shorten = true;                           // The schedule of a failure.
};

struct Simulated {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
  std::uint64_t digest = 0;  // Of who ran when, in all runs: the same again, or they were others.
  bool is_complete = false;  // exhaustive(): these were all.
};

struct FoundFailure {
  std::string what;  // In one or a few lines, without the table.
  std::uint64_t seed = 0;
  std::uint64_t runs = 0;  // Until it was found.
  std::string schedule;    // For HANDOFF_SCHEDULE.
};

class SimulationFailed : public std::runtime_error {
 public:
  SimulationFailed(const std::string& report, FoundFailure found)
      : std::runtime_error(report), found_(std::move(found)) {}
  const FoundFailure& found() const { return found_; }

 private:
  FoundFailure found_;
};

// Throws SimulationFailed, and std::invalid_argument if an option makes no sense. The body is called once a run, and must be the same each time: what it needs it makes itself.
Simulated simulate(const SimulateOptions& options, const std::function<void()>& body);

// How many runs all calls of simulate() in this process have begun; repeated and shortened ones do not count.
std::uint64_t schedules_so_far();

// Fails the run, from any of its threads.
void check(bool is_true, std::string_view what_is_wrong);

// The same at the next step of any thread: for those who must return first, such as an EXPECT_ that fails (see testing/gtest.hpp).
void fail_soon(std::string_view what_is_wrong);

// The calling thread waits for this long, by virtual time.
void pause(Duration time);

// A token whose stop is requested at any step of the run, in each run at another.
std::stop_token sudden_stop();

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
