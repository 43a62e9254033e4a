#include "handoff/shutdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/latch.hpp"
#include "handoff/log.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

TEST(PoolShutdown, FinishesWhatIsQueuedAndWhatThatHandsIn) {
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pool.post([&] {
      ++ran;
      EXPECT_TRUE(pool.post([&] { ++ran; }));
    }));
  }
  const auto report = pool.shutdown(finish_within(10s));
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(pool.post([] {}).error(), Refusal::closed);
  EXPECT_EQ(pool.stats().threads, 0u);
}

TEST(PoolShutdown, HandsBackWhatHasNotBegunByTheDeadline) {
  testing::ManualClock clock;
  std::atomic<int> ran = 0;
  Event entered;
  Event open;
  WorkerPool pool{{.workers = 1, .capacity = 10, .name = "reports"}};
  ASSERT_TRUE(pool.post([&] {
    entered.set();
    (void)open.wait();
  }));
  ASSERT_TRUE(entered.wait());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));

  ShutdownReport report;
  std::jthread caller([&] { report = pool.shutdown(finish_within(30s)); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(30s);
  caller.join();
  EXPECT_EQ(report.finished, 0u);
  ASSERT_EQ(report.still_running.size(), 1u);
  EXPECT_EQ(report.still_running[0].thread, "reports 1");
  EXPECT_THAT(to_string(report), ::testing::MatchesRegex("0 finished, 5 handed back, 1 still "
                                                         "running: shutdown_test.cpp:[0-9]+ on "
                                                         "reports 1"));
  for (Job& job : report.handed_back) job();
  EXPECT_EQ(ran, 5);
  open.set();
}

TEST(PoolShutdown, AnInterruptAsksRunningJobsToStop) {
  Latch running{{.count = 2}};
  std::atomic<int> stopped = 0;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pool.post([&](std::stop_token stop) {
      running.count_down();
      Event never;
      stopped += never.wait({.stop = stop}).error() == Refusal::stopped;
    }));
  }
  // Handed in once both run: of three at once, a worker may claim two and begin the first, while another begins the third.
  ASSERT_TRUE(running.wait());
  ASSERT_TRUE(pool.post([] { FAIL() << "must be handed back"; }));
  const auto report = pool.shutdown(interrupt());
  EXPECT_EQ(stopped, 2);
  EXPECT_EQ(report.handed_back.size(), 1u);
  EXPECT_TRUE(report.still_running.empty());
  EXPECT_EQ(report.finished, 2u);
}

TEST(PoolShutdown, FirstWaitsThenInterrupts) {
  testing::ManualClock clock;
  Event running;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.post([&](std::stop_token stop) {
    running.set();
    Event never;
    (void)never.wait({.stop = stop});
  }));
  ASSERT_TRUE(running.wait());
  ShutdownReport report;
  std::jthread caller([&] { report = pool.shutdown(finish_within(30s).then_interrupt(5s)); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(30s);
  caller.join();
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(report.finished, 1u);
}

// A job that heeds the stop makes room for another, which must not begin.
TEST(PoolShutdown, AnInterruptBeginsNoJob) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun = 0;
    Latch running{{.count = 4}};
    WorkerPool pool{{.workers = 4, .capacity = 1000}};
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(pool.post([&](std::stop_token stop) {
        running.count_down();
        Event never;
        (void)never.wait({.stop = stop});
      }));
    }
    ASSERT_TRUE(running.wait());
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pool.post([&] { ++begun; }));
    EXPECT_EQ(pool.shutdown(interrupt()).handed_back.size(), 1000u);
    EXPECT_EQ(begun, 0);
  }
}

TEST(PoolShutdown, AStopEndsTheTimeToFinish) {
  Event entered;
  std::stop_source impatience;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.post([&](std::stop_token stop) {
    entered.set();
    Event never;
    (void)never.wait({.stop = stop});
  }));
  ASSERT_TRUE(entered.wait());
  ASSERT_TRUE(pool.post([] {}));
  std::jthread user([&] { impatience.request_stop(); });
  const auto report =
      pool.shutdown(finish_within(1h).then_interrupt().or_until(impatience.get_token()));
  EXPECT_EQ(report.handed_back.size(), 1u);
  EXPECT_TRUE(report.still_running.empty());
}

TEST(PoolShutdown, FromInsideAJobIsAnErrorNotAHang) {
  WorkerPool pool{{.workers = 1, .capacity = 10, .name = "mail"}};
  auto message = pool.submit([&]() -> std::string {
    try {
      pool.shutdown(finish_within(1s));
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "nothing was thrown";
  });
  EXPECT_THAT(*message->get(), ::testing::HasSubstr("WorkerPool \"mail\": shutdown() was called by "
                                                    "one of its own jobs"));
  EXPECT_TRUE(pool.post([] {}));  // Nothing has happened to the pool.
}

TEST(PoolShutdown, WhatIsHandedBackMayGoToAnotherPool) {
  Event entered;
  WorkerPool first{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(first.post([&](std::stop_token stop) {
    entered.set();
    Event stopped;
    (void)stopped.wait({.stop = stop});
  }));
  ASSERT_TRUE(entered.wait());
  auto future = first.submit([] { return 7; });
  auto report = first.shutdown(interrupt());
  WorkerPool second{{.workers = 1, .capacity = 10}};
  for (Job& job : report.handed_back) EXPECT_TRUE(second.post(std::move(job)));
  EXPECT_EQ(*future->get(), 7);
}

TEST(PoolShutdown, HappensOnce) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  EXPECT_TRUE(pool.shutdown(finish_within(1s)).is_complete());
  EXPECT_TRUE(pool.shutdown(interrupt()).is_complete());
}

TEST(PoolShutdown, ASecondCallWaitsForWhatWasLeftRunning) {
  Event entered;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.post([&](std::stop_token stop) {
    entered.set();
    Event never;
    (void)never.wait({.stop = stop});
  }));
  ASSERT_TRUE(entered.wait());
  EXPECT_EQ(pool.shutdown(finish_within(1ms)).still_running.size(), 1u);
  EXPECT_TRUE(pool.shutdown(interrupt()).still_running.empty());
}

TEST(PoolShutdown, TheDestructorInterruptsAndReports) {
  std::vector<std::string> lines;
  auto before = set_log([&](std::string_view line) { lines.emplace_back(line); });
  int given_back = 0;
  Event entered;
  {
    WorkerPool pool{{.workers = 1, .capacity = 10, .name = "mail"},
                    {.on_drop = [&](Job& job) { given_back += job ? 1 : 0; }}};
    ASSERT_TRUE(pool.post([&](std::stop_token stop) {
      entered.set();
      Event never;
      (void)never.wait({.stop = stop});
    }));
    ASSERT_TRUE(entered.wait());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.post([] {}));
  }
  set_log(std::move(before));
  EXPECT_EQ(given_back, 3);
  EXPECT_THAT(lines, ::testing::ElementsAre(
                         "WorkerPool \"mail\": destroyed with 3 jobs that had not begun"));
}

// A job that runs may wait for one that has been handed back: it is told, and the destructor ends.
TEST(PoolShutdown, TheDestructorDoesNotWaitForAJobThatWaitsForAnother) {
  auto log = set_log([](std::string_view) {});
  Event go_on;
  Refusal told{};
  {
    Future<int> never;
    Event entered;
    WorkerPool pool{{.workers = 1, .capacity = 10, .spares = 0}};
    ASSERT_TRUE(pool.post([&](std::stop_token stop) {
      entered.set();
      Event stopped;
      (void)stopped.wait({.stop = stop});
      (void)go_on.wait();  // By then the other one is nobody's.
      told = never.get().error();
    }));
    ASSERT_TRUE(entered.wait());
    never = *pool.submit([] { return 1; });
    ASSERT_TRUE(
        pool.post([guard = std::shared_ptr<void>(nullptr, [&](void*) { go_on.set(); })] {}));
  }
  set_log(std::move(log));
  EXPECT_EQ(told, Refusal::closed);
}

// Handed back is handed back: who waits for it inside the pool does not run it any more.
TEST(PoolShutdown, AJobThatWasHandedBackIsRunByItsOwnerOnly) {
  Event go_on;
  std::atomic<int> ran = 0;
  Future<void> later;
  Event entered;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.post([&] {
    entered.set();
    (void)go_on.wait();
    (void)later.get();
  }));
  ASSERT_TRUE(entered.wait());
  later = *pool.submit([&] { ++ran; });
  auto report = pool.shutdown(finish_within(1ms));
  ASSERT_EQ(report.handed_back.size(), 1u);
  go_on.set();
  eventually([&] { return pool.stats().blocked == 1; });  // It waits.
  EXPECT_EQ(ran, 0);
  report.handed_back[0]();
  EXPECT_TRUE(pool.shutdown(interrupt()).is_complete());
  EXPECT_EQ(ran, 1);
}

TEST(PoolShutdown, WakesAProducerThatWaitsForRoom) {
  Event entered;
  Event open;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  ASSERT_TRUE(pool.post([&] {
    entered.set();
    (void)open.wait();
  }));
  ASSERT_TRUE(entered.wait());
  ASSERT_TRUE(pool.post([] {}));
  std::jthread producer([&] { EXPECT_EQ(pool.post([] {}).error(), Refusal::closed); });
  std::jthread opener([&] {
    producer.join();
    open.set();
  });
  EXPECT_EQ(pool.shutdown(interrupt()).handed_back.size(), 1u);
}

// While others find nothing to do, the last job hands in one and waits for it outside the library's sight: somebody must be
// left to run it.
TEST(PoolShutdown, WorkersStayUntilTheLastJobHasEnded) {
  for (int round = 0; round < 200; ++round) {
    WorkerPool pool{{.workers = 2, .capacity = 10}};
    ASSERT_TRUE(pool.post([&] {
      std::atomic<bool> child_ran = false;
      ASSERT_TRUE(pool.post([&] {
        child_ran = true;
        child_ran.notify_one();
      }));
      child_ran.wait(false);
    }));
    ASSERT_TRUE(pool.shutdown(finish_within(60s)).is_complete());
  }
}

}  // namespace
}  // namespace handoff
