// For tests of programs that use tasks: a clock that the test moves, handlers on the test's own thread, and what was enqueued. For any test framework.
//
//   TEST(SignUp, SendsOneWelcomeMailHoweverOftenTheServerIsDown) {
//     handoff::testing::ManualTaskClock clock;
//     const auto tasks = handoff::testing::open_tasks(clock);                            // in memory
//     sign_up(tasks, "new@example.org");                                                 // the code under test
//
//     const auto mails = handoff::testing::enqueued<WelcomeEmail>(tasks, {.queue = "email"});
//     ASSERT_EQ(mails.size(), 1u);
//     EXPECT_EQ(mails[0].to, "new@example.org");
//
//     handoff::tasks::Worker worker{tasks, handoff::testing::inline_worker({"email"})};
//     add_handlers(worker, smtp);                                                        // the code under test
//     smtp.is_down = true;
//     EXPECT_EQ(worker.run_until_idle().failed, 1u);
//     smtp.is_down = false;
//     EXPECT_EQ(worker.run_until_idle().done, 0u);                                       // not before it is due
//     clock.advance(1min);
//     EXPECT_EQ(worker.run_until_idle().done, 1u);
//   }
//
// That very test is in tests/tasks/testing_test.cpp.
//
// What the clock governs: run_at, delays, retries, deferrals, schedules, expiry, rates, how long things are kept; leases and when a worker extends them, timeouts of attempts. Not: deadlines of waits
// (Tasks::wait(), Watch::take(), run()'s grace), and what handlers wait for themselves: these go by handoff::now(), see handoff/testing/manual_clock.hpp.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/clock.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

// Stands still until it is moved. Begins on 2026-11-17 at noon, UTC. Make it before the stores that go by it. Thread safety: any member, any thread.
class ManualTaskClock final : public tasks::TaskClock {
 public:
  ManualTaskClock();
  ManualTaskClock(const ManualTaskClock&) = delete;
  ManualTaskClock& operator=(const ManualTaskClock&) = delete;
  ~ManualTaskClock();

  tasks::Time now() const override;
  std::chrono::milliseconds since_boot() const override;

  // Moves both times. When it returns, all that is due by now has become so: in stores that go by this clock what was scheduled is ready, what has expired is cancelled, and leases that are over were
  // taken back. So a step longer than a lease is to a task that runs as if its worker had been held up. Not from inside a callback of on_finished().
  void advance(std::chrono::milliseconds time);
  // Somebody sets the time of day, also back. Leases and timeouts do not go by it.
  void set(tasks::Time time);

  bool moves_by_itself() const override { return false; }
  void subscribe(const void* who, std::function<void()> moved) const override;
  void unsubscribe(const void* who) const override;

 private:
  void tell_all();

  handoff::detail::atomic<std::int64_t> now_;
  handoff::detail::atomic<std::int64_t> since_boot_;
  mutable Mutex lock_{{.name = "a manual clock"}};
  // Guarded by lock_.
  mutable std::map<const void*, std::function<void()>> subscribers_;
};

// A store in memory that goes by that clock, which must live as long.
tasks::Tasks open_tasks(const ManualTaskClock& clock);

// All that were enqueued and are not forgotten, in any state, the first first.
std::vector<tasks::Task> enqueued_tasks(const tasks::Tasks& tasks,
                                        const tasks::ListOptions& options = {});
// The payloads of those of T's kind. Throws std::runtime_error if one of them is no T.
template <typename T>
std::vector<T> enqueued(const tasks::Tasks& tasks, tasks::ListOptions options = {}) {
  if (options.kind.empty()) options.kind = tasks::kind_of<T>();
  std::vector<T> payloads;
  for (const tasks::Task& each : enqueued_tasks(tasks, options)) {
    auto payload = tasks::from_json<T>(each.payload);
    if (!payload) throw std::runtime_error("payload: " + payload.error().to_string());
    payloads.push_back(std::move(*payload));
  }
  return payloads;
}

// For a Worker whose handlers run on the thread that calls run_until_idle(), one after the other: the same test has the same order each time.
tasks::WorkerOptions inline_worker(const std::vector<std::string>& queues);

// Runs there all that is ready in these queues: `setup(worker)` says what handles it.
template <std::invocable<tasks::Worker&> Setup>
tasks::WorkerReport run_inline(const tasks::Tasks& tasks, const std::vector<std::string>& queues,
                               Setup setup) {
  tasks::Worker worker{tasks, inline_worker(queues)};
  setup(worker);
  return worker.run_until_idle();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
