#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/log.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

// A job that keeps its worker until it is let go.
struct Gate {
  Event entered;
  Event open;
  auto job() {
    return [this] {
      entered.set();
      (void)open.wait();
    };
  }
};

TEST(WorkerPool, RunsWhatIsPosted) {
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));
  const auto report = pool.shutdown(finish_within(10s));
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(pool.stats().finished, 100u);
}

TEST(WorkerPool, GivesTheResultOfWhatIsSubmitted) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto future = pool.submit([] { return std::make_unique<int>(7); });
  ASSERT_TRUE(future);
  EXPECT_EQ(**future->get(), 7);
  EXPECT_FALSE(future->is_valid());
}

TEST(WorkerPool, OneWorkerRunsJobsInOrder) {
  std::vector<int> order;
  {
    WorkerPool pool{{.workers = 1, .capacity = 1000}};
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pool.post([&order, i] { order.push_back(i); }));
    pool.shutdown(finish_within(10s));
  }
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(WorkerPool, RefusesWithFullAndLeavesTheJobWithItsOwner) {
  Gate gate;
  WorkerPool pool{{.workers = 1, .capacity = 2, .when_full = WhenFull::reject}};
  ASSERT_TRUE(pool.post(gate.job()));
  ASSERT_TRUE(gate.entered.wait());
  ASSERT_TRUE(pool.post([] {}));
  ASSERT_TRUE(pool.post([] {}));

  auto job = [text = std::make_unique<std::string>("mine")] { return *text; };
  const auto refused = pool.submit(std::move(job));
  EXPECT_EQ(refused.error(), Refusal::full);
  EXPECT_EQ(job(), "mine");
  EXPECT_EQ(pool.stats().refused, 1u);
  EXPECT_EQ(pool.stats().queued, 2u);
  gate.open.set();
}

TEST(WorkerPool, CountsClaimedJobsAgainstTheCapacityUntilTheyBegin) {
  Gate first;
  Gate second;
  WorkerPool pool{{.workers = 1, .capacity = 4, .when_full = WhenFull::reject}};
  ASSERT_TRUE(pool.post(first.job()));
  ASSERT_TRUE(first.entered.wait());
  ASSERT_TRUE(pool.post(second.job()));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.post([] {}));
  first.open.set();
  // The second job was claimed in one run with the other three, which have not begun.
  ASSERT_TRUE(second.entered.wait());

  EXPECT_EQ(pool.stats().queued, 3u);
  EXPECT_TRUE(pool.post([] {}));
  EXPECT_EQ(pool.post([] {}).error(), Refusal::full);
  second.open.set();
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
  EXPECT_LE(pool.stats().high_water, 4u);
}

TEST(WorkerPool, BlocksAProducerUntilAJobBegins) {
  Gate gate;
  WorkerPool pool{{.workers = 1, .capacity = 1, .name = "small"}};
  ASSERT_TRUE(pool.post(gate.job()));
  ASSERT_TRUE(gate.entered.wait());
  ASSERT_TRUE(pool.post([] {}));

  std::jthread producer([&] { EXPECT_TRUE(pool.post([] {})); });
  eventually([] {
    return std::ranges::any_of(waits(), [](const WaitInfo& each) {
      return each.operation == "post" && each.name == "small";
    });
  });
  gate.open.set();
}

TEST(WorkerPool, AProducerGivesUpAtItsDeadlineOrWhenStopped) {
  Gate gate;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  ASSERT_TRUE(pool.post(gate.job()));
  ASSERT_TRUE(gate.entered.wait());
  ASSERT_TRUE(pool.post([] {}));

  EXPECT_EQ(pool.post([] {}, {.deadline = within(1ms)}).error(), Refusal::timed_out);
  std::stop_source source;
  std::jthread producer(
      [&] { EXPECT_EQ(pool.post([] {}, {.stop = source.get_token()}).error(), Refusal::stopped); });
  source.request_stop();
  producer.join();
  gate.open.set();
}

TEST(WorkerPool, DropsTheOldestJobAndHandsItToTheHook) {
  Gate gate;
  std::vector<std::string> dropped;
  std::atomic<int> ran = 0;
  WorkerPool pool{
      {.workers = 1, .capacity = 2, .when_full = WhenFull::drop_oldest},
      {.on_drop = [&](Job& job) { dropped.emplace_back(job.where().function_name()); }}};
  ASSERT_TRUE(pool.post(gate.job()));
  ASSERT_TRUE(gate.entered.wait());
  auto first = pool.submit([&] { ++ran; });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));
  EXPECT_EQ(dropped.size(), 2u);
  EXPECT_EQ(pool.stats().dropped, 2u);
  EXPECT_EQ(first->get().error(), Refusal::closed);  // Dropped: it will never run.
  gate.open.set();
  pool.shutdown(finish_within(10s));
  EXPECT_EQ(ran, 2);
}

TEST(WorkerPool, DropsTheNewestJobAndCountsIt) {
  Gate gate;
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::drop_newest}};
  ASSERT_TRUE(pool.post(gate.job()));
  ASSERT_TRUE(gate.entered.wait());
  ASSERT_TRUE(pool.post([] {}));
  EXPECT_EQ(pool.post([] {}).error(), Refusal::full);
  EXPECT_EQ(pool.stats().dropped, 1u);
  gate.open.set();
}

TEST(WorkerPool, ReportsWhatAPostedJobThrows) {
  std::vector<std::string> errors;
  WorkerPool pool{{.workers = 1, .capacity = 10},
                  {.on_error = [&](std::exception_ptr error, const std::source_location& where) {
                    try {
                      std::rethrow_exception(error);
                    } catch (const std::exception& caught) {
                      errors.emplace_back(caught.what());
                    }
                    EXPECT_GT(where.line(), 0u);
                  }}};
  ASSERT_TRUE(pool.post([] { throw std::runtime_error("no ink"); }));
  ASSERT_TRUE(pool.post([] {}));
  pool.shutdown(finish_within(10s));
  EXPECT_THAT(errors, ::testing::ElementsAre("no ink"));
  EXPECT_EQ(pool.stats().failed, 1u);
  EXPECT_EQ(pool.stats().finished, 2u);
}

TEST(WorkerPool, LogsWhatAJobThrowsIfThereIsNoHook) {
  testing::ManualClock clock;  // However long it takes, it is the same second.
  std::vector<std::string> lines;
  auto before = set_log([&](std::string_view line) { lines.emplace_back(line); });
  {
    WorkerPool pool{{.workers = 1, .capacity = 10, .name = "printer"}};
    ASSERT_TRUE(pool.post([] { throw std::runtime_error("no ink"); }));
    ASSERT_TRUE(pool.post([] { throw 7; }));
    pool.shutdown(finish_within(10s));
  }
  set_log(std::move(before));
  ASSERT_EQ(lines.size(), 1u);  // The second within a second is counted, not said.
  EXPECT_THAT(lines[0], ::testing::HasSubstr("WorkerPool \"printer\": a job handed in at"));
  EXPECT_THAT(lines[0], ::testing::HasSubstr("threw: no ink"));
}

TEST(WorkerPool, AHookThatThrowsDoesNoHarm) {
  auto before = set_log([](std::string_view) {});
  WorkerPool pool{{.workers = 1, .capacity = 10},
                  {.on_error = [](std::exception_ptr error, const std::source_location&) {
                    std::rethrow_exception(error);
                  }}};
  ASSERT_TRUE(pool.post([] { throw std::runtime_error("no ink"); }));
  EXPECT_EQ(*pool.submit([] { return 1; })->get(), 1);
  set_log(std::move(before));
}

TEST(WorkerPool, CarriesAnExceptionInTheFuture) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto future = pool.submit([]() -> int { throw std::runtime_error("no ink"); });
  EXPECT_THROW((void)future->get(), std::runtime_error);
  EXPECT_FALSE(future->is_valid());
  EXPECT_EQ(pool.stats().failed, 0u);
}

TEST(WorkerPool, TakesJobsOfAnySizeAndKind) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::array<std::uint64_t, 100> large{};
  large[99] = 5;
  EXPECT_EQ(*pool.submit([large] { return large[99]; })->get(), 5u);
  struct alignas(128) Aligned {
    int value = 3;
  };
  EXPECT_EQ(*pool.submit([aligned = Aligned()] { return aligned.value; })->get(), 3);
  std::atomic<int> ran = 0;
  const auto copied = [&] { ++ran; };
  ASSERT_TRUE(pool.post(copied));
  ASSERT_TRUE(pool.post(copied));
  ASSERT_TRUE(pool.post([large, &ran] { ran += static_cast<int>(large[99]); }));
  pool.shutdown(finish_within(10s));
  EXPECT_EQ(ran, 7);
}

TEST(WorkerPool, DestroysEachJobOnce) {
  auto alive = std::make_shared<int>();
  {
    WorkerPool pool{{.workers = 2, .capacity = 100}};
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(pool.post([alive] {}));
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(pool.submit([alive] {}));
    pool.shutdown(finish_within(10s));
    EXPECT_EQ(alive.use_count(), 1);
  }
}

TEST(WorkerPool, AJobThatCannotBeMadeChangesNothing) {
  struct ThrowingCopy {
    ThrowingCopy() = default;
    ThrowingCopy(const ThrowingCopy&) { throw std::runtime_error("no copy"); }
    void operator()() const {}
  };
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  const ThrowingCopy job;
  EXPECT_THROW((void)pool.post(job), std::runtime_error);
  EXPECT_EQ(pool.stats().accepted, 0u);
  EXPECT_EQ(*pool.submit([&] {
                   EXPECT_THROW((void)pool.post(job), std::runtime_error);  // From inside as well.
                   return 1;
                 })
                 ->get(),
            1);
}

TEST(WorkerPool, NamesItsThreads) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .name = "mail"}};
  ASSERT_TRUE(pool.submit([] {})->get());
  eventually([] {
    return std::ranges::any_of(waits(), [](const WaitInfo& each) {
      return each.thread == "mail 1" && each.operation == "work" && each.kind == "WorkerPool";
    });
  });
}

TEST(WorkerPool, RefusesUnusableOptions) {
  EXPECT_THROW(WorkerPool({.workers = 0, .capacity = 1}), std::invalid_argument);
  EXPECT_THROW(WorkerPool({.workers = 1025, .capacity = 1}), std::invalid_argument);
  EXPECT_THROW(WorkerPool({.workers = 1, .capacity = 0}), std::invalid_argument);
  EXPECT_THROW(WorkerPool({.workers = 1, .capacity = 1, .spares = 4000}), std::invalid_argument);
  EXPECT_THROW(WorkerPool({.workers = 1, .capacity = 1, .rate = per_second(-1)}),
               std::invalid_argument);
}

// -- Size ------------------------------------------------------------------------------------------

TEST(WorkerPool, GrowsWhileItRuns) {
  Gate gate;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.post(gate.job()));
  ASSERT_TRUE(gate.entered.wait());
  auto waiting = pool.submit([] { return 1; });
  pool.resize(2);
  EXPECT_EQ(*waiting->get(), 1);
  EXPECT_EQ(pool.stats().threads, 2u);
  gate.open.set();
}

TEST(WorkerPool, ShrinksWhenWorkersAreDone) {
  WorkerPool pool{{.workers = 4, .capacity = 10}};
  pool.resize(1);
  eventually([&] { return pool.stats().threads == 1; });
  EXPECT_EQ(*pool.submit([] { return 1; })->get(), 1);
  pool.resize(3);
  EXPECT_EQ(pool.stats().threads, 3u);
  EXPECT_THROW(pool.resize(0), std::invalid_argument);
}

// -- Rate ------------------------------------------------------------------------------------------

TEST(WorkerPool, BeginsNoMoreJobsASecondThanItsRate) {
  testing::ManualClock clock;
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 2, .capacity = 100, .rate = per_second(10), .rate_burst = 3}};
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));
  eventually([&] { return ran == 3; });
  for (int begun = 4; begun <= 20; ++begun) {
    eventually([&] { return clock.waiting() == 1; });  // The first in line waits for its permit.
    clock.advance(99ms);
    EXPECT_EQ(ran, begun - 1);
    clock.advance(1ms);
    eventually([&] { return ran == begun; });
  }
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

TEST(WorkerPool, HandsBackWhatWaitsForTheRate) {
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 2, .capacity = 100, .rate = one_per(1h)}};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));
  eventually([&] { return ran == 1; });
  const auto report = pool.shutdown(interrupt());
  EXPECT_EQ(report.handed_back.size(), 9u);
  EXPECT_TRUE(report.still_running.empty());
}

}  // namespace
}  // namespace handoff
