// Faults on request: they happen, and what ought to bear them does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stop_token>

#include "handoff/channel.hpp"
#include "handoff/detail/core/futex.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/found.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::simulate;

// How often it was refused, of 100 times.
template <typename Try>
int refusals_of(double probability, Try attempt) {
  int refused = 0;
  simulate({.runs = 1, .faults = {.refusal = probability}}, [&] {
    for (int i = 0; i < 100; ++i) refused += attempt() ? 0 : 1;
  });
  return refused;
}

template <typename Try>
void expect_refusals_on_request(Try attempt) {
  EXPECT_EQ(refusals_of(0, attempt), 0);
  const int refused = refusals_of(0.5, attempt);
  EXPECT_GT(refused, 20);
  EXPECT_LT(refused, 80);
  EXPECT_EQ(refusals_of(1, attempt), 100);
}

TEST(Faults, WhatNeedNotWaitIsRefusedOnRequest) {
  expect_refusals_on_request([] {
    BlockingQueue<int> queue{{.capacity = 1}};
    return queue.offer(1) != std::unexpected(Refusal::full);
  });
  expect_refusals_on_request([] {
    PriorityBlockingQueue<int> queue{{.capacity = 1}};
    return queue.offer(1) != std::unexpected(Refusal::full);
  });
  expect_refusals_on_request([] {
    Channel<int> channel{{.capacity = 1}};
    return channel.try_send(1) != std::unexpected(Refusal::full);
  });
  expect_refusals_on_request([] { return Semaphore{{.permits = 1}}.try_acquire(); });
  expect_refusals_on_request([] {
    Mutex mutex;
    const std::unique_lock lock(mutex, std::try_to_lock);
    return lock.owns_lock();
  });
  expect_refusals_on_request([] {
    SharedMutex mutex;
    const std::shared_lock lock(mutex, std::try_to_lock);
    return lock.owns_lock();
  });
}

TEST(Faults, APoolThatRejectsDoesSoOnRequest) {
  simulate({.runs = 10, .faults = {.refusal = 1}}, [] {
    WorkerPool pool{{.workers = 1, .capacity = 4, .when_full = WhenFull::reject}};
    check(pool.post([] {}) == std::unexpected(Refusal::full), "accepted");
  });
}

TEST(Faults, AThreadWakesForNoReasonOnRequest) {
  const auto wakes_of = [](double probability) {
    int wakes = 0;
    simulate({.runs = 20, .faults = {.spurious_wake = probability}}, [&] {
      detail::atomic<std::uint32_t> word{0};
      Thread sleeper([&] {
        while (word.load() == 0) wakes += detail::futex_wait(word, 0, TimePoint::max()) ? 1 : 0;
      });
      for (int i = 0; i < 200; ++i) static_cast<void>(word.load());
      word.store(1);
      detail::futex_wake_one(&word);
    });
    return wakes;
  };
  EXPECT_LE(wakes_of(0), 20);  // Once a run, by the one that is meant to wake it.
  EXPECT_GT(wakes_of(0.5), 60);
}

TEST(Faults, AWeakExchangeFailsForNoReasonOnRequest) {
  const auto failures_of = [](double probability) {
    int failures = 0;
    simulate({.runs = 1, .faults = {.weak_failure = probability}}, [&] {
      detail::atomic<int> word{0};
      for (int i = 0; i < 100; ++i) {
        int seen = i;
        if (!word.compare_exchange_weak(seen, i + 1)) {
          check(seen == i, "it failed and saw something else");
          ++failures;
          word.store(i + 1);
        }
      }
    });
    return failures;
  };
  EXPECT_EQ(failures_of(0), 0);
  EXPECT_GT(failures_of(0.5), 20);
  EXPECT_EQ(failures_of(1), 100);
}

// By virtual time nothing passes while threads run; with slow threads it does.
TEST(Faults, ASlowThreadLosesTime) {
  const auto time_of = [](double probability) {
    Duration time{};
    simulate({.runs = 1, .faults = {.slow_thread = probability}}, [&] {
      const auto start = now();
      Mutex mutex;
      for (int i = 0; i < 50; ++i) static_cast<void>(mutex.hold());
      time = now() - start;
    });
    return time;
  };
  EXPECT_EQ(time_of(0), Duration::zero());
  EXPECT_GT(time_of(0.5), Duration::zero());
}

TEST(Faults, TheClockJumpsBeyondADeadline) {
  const auto late_of = [](double probability) {
    Duration late{};
    simulate({.runs = 1, .faults = {.clock_jump = probability}}, [&] {
      const auto due = now() + 1s;
      Event never;
      check(!never.wait({.deadline = due}), "it was set");
      late = now() - due;
    });
    return late;
  };
  EXPECT_EQ(late_of(0), Duration::zero());
  EXPECT_GT(late_of(1), Duration::zero());
  EXPECT_LE(late_of(1), 1s);
}

TEST(Faults, ASuddenStopComesAtManyDifferentSteps) {
  std::set<int> rounds_seen;
  simulate({.runs = 500}, [&] {
    const std::stop_token stop = testing::sudden_stop();
    Mutex mutex;
    int rounds = 0;
    while (!stop.stop_requested() && rounds < 1'000) {
      static_cast<void>(mutex.hold());
      ++rounds;
    }
    rounds_seen.insert(rounds);
  });
  EXPECT_GT(rounds_seen.size(), 20U);
  EXPECT_TRUE(rounds_seen.contains(0) || rounds_seen.contains(1));
}

TEST(Faults, ASuddenStopEndsAWaitThatNothingElseWould) {
  simulate({.runs = runs}, [] {
    Event never;
    check(never.wait({.stop = testing::sudden_stop()}) == std::unexpected(Refusal::stopped),
          "it ended for no reason");
  });
}

// Everything at once: nothing is lost for all that.
TEST(Faults, NothingIsLostUnderAllOfThem) {
  const testing::Faults all{.spurious_wake = 0.02,
                            .weak_failure = 0.1,
                            .slow_thread = 0.01,
                            .clock_jump = 0.1,
                            .refusal = 0.2};
  simulate({.runs = runs, .faults = all}, [] {
    Ledger ledger(8);
    BlockingQueue<int> queue{{.capacity = 2, .name = "queue"}};
    const std::stop_token stop = testing::sudden_stop();
    std::vector<Thread> threads;
    for (int producer = 0; producer < 2; ++producer) {
      threads.emplace_back([&, producer] {
        for (int i = 0; i < 4; ++i) {
          const int item = producer * 4 + i;
          const bool is_in =
              i % 2 == 0
                  ? queue.offer(int{item}).has_value()
                  : queue.put(int{item}, {.deadline = within(1ms), .stop = stop}).has_value();
          if (is_in) ledger.accepted(item);
        }
      });
    }
    for (int consumer = 0; consumer < 2; ++consumer) {
      threads.emplace_back([&] {
        while (true) {
          const auto item = queue.take({.deadline = within(5ms), .stop = stop});
          if (!item) break;
          ledger.delivered(*item);
        }
      });
    }
    threads.clear();
    for (const int item : queue.drain()) ledger.delivered(item);
    ledger.check();
  });
}

}  // namespace
}  // namespace handoff::tests
