// What a failure looks like, and simulations inside GoogleTest.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "handoff/queue.hpp"
#include "handoff/testing/gtest.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"
#include "handoff/waits.hpp"
#include "sim/found.hpp"

namespace handoff::tests {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::check;
using testing::simulate_test;
using testing::Var;

TEST(Report, NamesOperationsPrimitivesAndThreads) {
  std::string report;
  const auto found = find(
      {.runs = 100},
      [] {
        BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
        Thread mailer([&] {
          name_this_thread("mailer");
          while (auto order = orders.take()) {
          }
        });
        check(orders.put(1).has_value(), "refused");
        mailer.join();  // And nobody closes the queue.
      },
      &report);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("deadlock"));
  EXPECT_THAT(found->what,
              HasSubstr("mailer waits to take BlockingQueue \"orders\" at report_test.cpp:"));
  EXPECT_THAT(found->what, ContainsRegex("body has waited since step [0-9]+"));
  EXPECT_THAT(report, ContainsRegex("step +body +mailer\n"));
  EXPECT_THAT(report, HasSubstr("put BlockingQueue \"orders\""));
  EXPECT_THAT(report, HasSubstr("take BlockingQueue \"orders\""));
  EXPECT_THAT(report, HasSubstr("take: waits"));
  EXPECT_THAT(report, HasSubstr("join thread 2"));
  EXPECT_THAT(report, ContainsRegex("again: +HANDOFF_SEED=[0-9]+\n"));
  EXPECT_THAT(report, ContainsRegex("shortened: +HANDOFF_SEED=[0-9]+ HANDOFF_SCHEDULE='[0-9]"));
}

TEST(Report, ShowsWhoUsedAVariable) {
  std::string report;
  const auto found = find(
      {.runs = 1'000},
      [] {
        Var<int> hits{0, "hits"};
        Thread one([&] { ++hits; });
        Thread two([&] { ++hits; });
      },
      &report);
  ASSERT_TRUE(found);
  EXPECT_THAT(report, AllOf(HasSubstr("read hits"), HasSubstr("fails")));
}

TEST(Report, CanShowEveryStep) {
  std::string some;
  std::string all;
  ASSERT_TRUE(find({.runs = 1'000}, lock_in_both_orders, &some));
  setenv("HANDOFF_TABLE", "all", 1);
  ASSERT_TRUE(find({.runs = 1'000}, lock_in_both_orders, &all));
  unsetenv("HANDOFF_TABLE");
  EXPECT_GT(std::ranges::count(all, '\n'), std::ranges::count(some, '\n'));
  EXPECT_THAT(all, HasSubstr("mutex.hpp:"));
}

// -- GoogleTest -----------------------------------------------------------------------------------

void expect_that_two_is_one() {
  Thread other([] { EXPECT_EQ(2, 1) << "as it had to come"; });
}

TEST(SimulateTest, AnExpectationThatFailsInAThreadFailsTheTestOnce) {
  EXPECT_NONFATAL_FAILURE(
      { simulate_test({.runs = 10}, expect_that_two_is_one); }, "as it had to come");
  EXPECT_NONFATAL_FAILURE(
      { simulate_test({.runs = 10}, expect_that_two_is_one); }, "HANDOFF_SEED=1\n");
}

TEST(SimulateTest, FailsOnlyInTheOrdersInWhichItDoes) {
  const auto body = [] {
    detail::atomic<int> counter{0};
    const auto add = [&] { counter.store(counter.load() + 1); };
    {
      Thread one(add);
      Thread two(add);
    }
    EXPECT_EQ(counter.load(), 2);
  };
  EXPECT_NONFATAL_FAILURE({ simulate_test({.runs = 1'000}, body); }, "counter.load()");
}

TEST(SimulateTest, AnAssertionEndsTheFunctionItIsIn) {
  static bool went_on = false;
  const auto body = [] {
    ASSERT_TRUE(false) << "it ends here";
    went_on = true;
  };
  EXPECT_NONFATAL_FAILURE({ simulate_test({.runs = 10}, body); }, "it ends here");
  EXPECT_FALSE(went_on);
}

// The expectation is why the rest fails, and so it is what is told.
TEST(SimulateTest, WhatFailedFirstIsToldAndNotWhatItCaused) {
  static std::uint64_t seed = 0;
  for (seed = 1; seed <= 40; ++seed) {
    EXPECT_NONFATAL_FAILURE(
        {
          simulate_test({.runs = 1, .first_seed = seed, .shorten = false}, [] {
            BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
            Thread producer([&] {
              ASSERT_TRUE(false) << "no order today";
              static_cast<void>(orders.put(1));
            });
            static_cast<void>(orders.take());
          });
        },
        "no order today");
  }
}

TEST(SimulateTest, AnExpectationThatFailsInARealThreadFailsTheTestToo) {
  EXPECT_NONFATAL_FAILURE(
      {
        simulate_test({.runs = 2},
                      [] { std::jthread real([] { EXPECT_EQ(2, 1) << "outside of it all"; }); });
      },
      "outside of it all");
}

TEST(SimulateTest, PassesIfAllRunsDo) {
  const auto done = simulate_test({.runs = 100}, [] {
    BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
    Thread producer([&] { EXPECT_TRUE(orders.put(1)); });
    EXPECT_EQ(orders.take(), 1);
  });
  EXPECT_EQ(done.runs, 100U);
}

// Afterwards GoogleTest works as ever, for all threads.
TEST(SimulateTest, LeavesGoogleTestAsItWas) {
  EXPECT_NONFATAL_FAILURE({ simulate_test({.runs = 1}, expect_that_two_is_one); }, "as it had");
  ::testing::TestPartResultArray seen;
  {
    const ::testing::ScopedFakeTestPartResultReporter all(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &seen);
    simulate_test({.runs = 1}, [] {});
    std::jthread real([] { ADD_FAILURE() << "an ordinary one"; });
  }
  ASSERT_EQ(seen.size(), 1);
  EXPECT_THAT(seen.GetTestPartResult(0).message(), HasSubstr("an ordinary one"));
}

}  // namespace
}  // namespace handoff::tests
