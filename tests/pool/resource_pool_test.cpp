#include "handoff/resource_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <future>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "handoff/log.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::HasSubstr;

// Counts how many there are, and how many there ever were at once.
struct Workshop {
  std::atomic<int> alive{0};
  std::atomic<int> most{0};
  std::atomic<int> made{0};
};

class Tool {
 public:
  explicit Tool(Workshop& workshop) : workshop_(workshop), number(++workshop.made) {
    const int alive = ++workshop.alive;
    int most = workshop.most;
    while (most < alive && !workshop.most.compare_exchange_weak(most, alive)) {
    }
  }
  ~Tool() { --workshop_.alive; }
  Tool(const Tool&) = delete;  // Neither copied nor moved: the pool hands out what was made.
  Tool& operator=(const Tool&) = delete;

 private:
  Workshop& workshop_;

 public:
  const int number;
  int uses = 0;
};

class ResourcePoolTest : public ::testing::Test {
 protected:
  ResourceHooks<Tool> hooks() {
    return {.make = [this] { return Tool(workshop); }};
  }
  std::future<Refusal> refused_elsewhere(ResourcePool<Tool>& pool, Wait wait = {}) {
    return std::async(std::launch::async, [&pool, wait] { return pool.borrow(wait).error(); });
  }
  static void await_waiters(const ResourcePool<Tool>& pool, std::size_t count) {
    eventually([&] { return pool.stats().waiting_consumers == count; });
  }

  Workshop workshop;
};

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

static_assert(!std::is_copy_constructible_v<Lease<int>> &&
              std::is_move_constructible_v<Lease<int>>);

TEST_F(ResourcePoolTest, MakesObjectsOnlyWhenTheyAreNeededAndUsesThemAgain) {
  ResourcePool<Tool> pool{{.capacity = 2}, hooks()};
  EXPECT_EQ(workshop.made, 0);
  for (int i = 0; i < 3; ++i) {
    auto tool = pool.borrow();
    ASSERT_TRUE(tool);
    EXPECT_EQ((*tool)->uses++, i);
    EXPECT_EQ((**tool).number, 1);
  }
  EXPECT_EQ(workshop.made, 1);
  EXPECT_EQ(pool.idle(), 1u);
}

TEST_F(ResourcePoolTest, LendsWhatWasGivenBackLast) {
  ResourcePool<Tool> pool{{.capacity = 2}, hooks()};
  auto first = pool.borrow();
  auto second = pool.borrow();
  second->give_back();
  first->give_back();
  first->give_back();
  EXPECT_FALSE(*first);
  EXPECT_EQ((*pool.borrow())->number, 1);
}

TEST_F(ResourcePoolTest, TryBorrowIsRefusedWhileAllAreLent) {
  ResourcePool<Tool> pool{{.capacity = 1}, hooks()};
  auto tool = pool.try_borrow();
  ASSERT_TRUE(tool);
  EXPECT_EQ(pool.try_borrow().error(), Refusal::empty);
  tool->give_back();
  EXPECT_TRUE(pool.try_borrow());
}

TEST_F(ResourcePoolTest, AMovedLeaseIsGivenBackOnce) {
  ResourcePool<Tool> pool{{.capacity = 2}, hooks()};
  auto first = pool.borrow();
  auto second = pool.borrow();
  {
    Lease<Tool> moved = std::move(*first);
    moved = std::move(*second);  // Gives the first one back.
    EXPECT_EQ(moved->number, 2);
    EXPECT_EQ(pool.idle(), 1u);
  }
  EXPECT_EQ(pool.idle(), 2u);
  EXPECT_EQ(pool.stats().size, 0u);
}

TEST_F(ResourcePoolTest, BorrowersWaitInTheOrderTheyCame) {
  ResourcePool<Tool> pool{{.capacity = 1}, hooks()};
  auto held = pool.borrow();
  std::vector<int> order;
  std::vector<std::jthread> borrowers;
  for (int i = 0; i < 4; ++i) {
    borrowers.emplace_back([&, i] {
      auto tool = pool.borrow();
      order.push_back(i);
    });
    await_waiters(pool, static_cast<std::size_t>(i) + 1);
  }
  held->give_back();
  borrowers.clear();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(workshop.made, 1);
}

TEST_F(ResourcePoolTest, AWaitEndsByItsDeadlineOrByAStop) {
  ManualClock clock;
  ResourcePool<Tool> pool{{.capacity = 1}, hooks()};
  auto held = pool.borrow();
  std::stop_source stop;
  auto late = refused_elsewhere(pool, {.deadline = within(1s)});
  auto stopped = refused_elsewhere(pool, {.stop = stop.get_token()});
  await_waiters(pool, 2);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(late.get(), Refusal::timed_out);
  stop.request_stop();
  EXPECT_EQ(stopped.get(), Refusal::stopped);
  held->give_back();
  EXPECT_EQ(pool.borrow({.stop = stop.get_token()}).error(), Refusal::stopped);
  EXPECT_TRUE(pool.borrow());
}

// -- Broken objects --------------------------------------------------------------------------------

TEST_F(ResourcePoolTest, ADiscardedObjectIsDestroyedAndTheNextBorrowerMakesAnother) {
  ResourcePool<Tool> pool{{.capacity = 1}, hooks()};
  auto broken = pool.borrow();
  auto next = std::async(std::launch::async, [&] { return (*pool.borrow())->number; });
  await_waiters(pool, 1);
  broken->discard();
  broken->discard();
  EXPECT_EQ(next.get(), 2);
  EXPECT_EQ(workshop.most, 1);
}

TEST_F(ResourcePoolTest, AMakeThatThrowsGivesItsPlaceBack) {
  std::atomic<bool> is_down{true};
  ResourcePool<Tool> pool{{.capacity = 1}, {.make = [&] {
                            if (is_down) throw std::runtime_error("connection refused");
                            return Tool(workshop);
                          }}};
  EXPECT_THROW((void)pool.borrow(), std::runtime_error);
  EXPECT_THROW((void)pool.try_borrow(), std::runtime_error);
  EXPECT_EQ(pool.stats().size, 0u);
  is_down = false;
  EXPECT_TRUE(pool.borrow());
}

TEST_F(ResourcePoolTest, AnIdleObjectThatFailsItsTestIsReplaced) {
  auto with_test = hooks();
  int tests = 0;
  with_test.test = [&](Tool& tool) {
    ++tests;
    if (tool.number == 1) return false;
    if (tool.number == 2) throw std::runtime_error("no answer");
    return true;
  };
  ResourcePool<Tool> pool{{.capacity = 1}, with_test};
  for (int number = 1; number <= 3; ++number) EXPECT_EQ((*pool.borrow())->number, number);
  EXPECT_EQ((*pool.borrow())->number, 3);
  EXPECT_EQ(tests, 3);  // None for what was just made.
  EXPECT_EQ(workshop.most, 1);
}

TEST_F(ResourcePoolTest, WhatWasIdleForAMomentOnlyIsNotTested) {
  ManualClock clock;
  auto with_test = hooks();
  int tests = 0;
  with_test.test = [&](Tool&) { return ++tests > 0; };
  ResourcePool<Tool> pool{{.capacity = 1, .test_after = 5s}, with_test};
  (void)pool.borrow();
  clock.advance(4s);
  (void)pool.borrow();
  EXPECT_EQ(tests, 0);
  clock.advance(5s);
  (void)pool.borrow();
  EXPECT_EQ(tests, 1);
}

TEST_F(ResourcePoolTest, WhatNobodyWantsForTooLongIsDestroyed) {
  ManualClock clock;
  ResourcePool<Tool> pool{{.capacity = 3, .max_idle_time = 1min}, hooks()};
  {
    const auto first = pool.borrow();
    const auto second = pool.borrow();
    const auto third = pool.borrow();
  }
  clock.advance(40s);
  (void)pool.borrow();  // One is fresh again.
  clock.advance(40s);
  EXPECT_EQ(workshop.alive, 3);
  (void)pool.borrow();  // When it is given back, one of the old ones goes.
  EXPECT_EQ(workshop.alive, 2);
  EXPECT_EQ(pool.trim(), 1u);
  EXPECT_EQ(pool.idle(), 1u);
  EXPECT_EQ(pool.stats().size, 0u);
  clock.advance(61s);
  EXPECT_EQ((*pool.borrow())->number, 4);  // The last one had expired, too.
}

TEST_F(ResourcePoolTest, TheDestroyHookIsCalledOnceForEachAndMayThrow) {
  std::vector<std::string> lines;
  const LogSink before = set_log([&](std::string_view line) { lines.emplace_back(line); });
  std::vector<int> destroyed;
  {
    auto with_destroy = hooks();
    with_destroy.destroy = [&](Tool& tool) {
      destroyed.push_back(tool.number);
      if (tool.number == 1) throw std::runtime_error("socket is gone");
    };
    ResourcePool<Tool> pool{{.capacity = 2, .name = "tools"}, with_destroy};
    auto first = pool.borrow();
    auto second = pool.borrow();
    first->discard();
  }
  set_log(before);
  EXPECT_THAT(destroyed, ::testing::ElementsAre(1, 2));
  EXPECT_THAT(lines,
              ::testing::ElementsAre("ResourcePool \"tools\": destroy threw: socket is gone"));
  EXPECT_EQ(workshop.alive, 0);
}

// -- The end ---------------------------------------------------------------------------------------

TEST_F(ResourcePoolTest, CloseRefusesBorrowersAndDestroysWhatComesBack) {
  ResourcePool<Tool> pool{{.capacity = 2}, hooks()};
  auto first = pool.borrow();
  auto second = pool.borrow();
  std::stop_source stop;
  auto with_stop = refused_elsewhere(pool, {.stop = stop.get_token()});
  auto without_stop = refused_elsewhere(pool);
  await_waiters(pool, 2);
  pool.close();
  pool.close();
  EXPECT_EQ(with_stop.get(), Refusal::closed);
  EXPECT_EQ(without_stop.get(), Refusal::closed);
  EXPECT_EQ(pool.try_borrow().error(), Refusal::closed);
  EXPECT_EQ(pool.borrow().error(), Refusal::closed);
  EXPECT_EQ(workshop.alive, 2);
  first->give_back();
  second->discard();
  EXPECT_EQ(workshop.alive, 0);
}

TEST_F(ResourcePoolTest, CloseDestroysWhatIsIdleAndWhatIsBeingMade) {
  std::optional<ResourcePool<Tool>> pool;
  pool.emplace(ResourcePoolOptions{.capacity = 2}, ResourceHooks<Tool>{.make = [&] {
                 if (workshop.made == 1) pool->close();
                 return Tool(workshop);
               }});
  {
    auto first = pool->borrow();
    EXPECT_EQ(pool->borrow().error(), Refusal::closed);
    EXPECT_EQ(workshop.alive, 1);
  }
  EXPECT_EQ(workshop.alive, 0);
}

TEST_F(ResourcePoolTest, TellsWhoHasBorrowedWhatAndWhereAndSinceWhen) {
  ManualClock clock;
  ResourcePool<Tool> pool{{.capacity = 2, .name = "tools"}, hooks()};
  name_this_thread("carpenter");
  const auto begin = now();
  auto tool = pool.borrow();
  const auto line = std::source_location::current().line() - 1;
  clock.advance(5s);
  const auto leases = pool.leases();
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0].thread, "carpenter");
  EXPECT_EQ(leases[0].since, begin);
  EXPECT_EQ(leases[0].where.line(), line);
  EXPECT_THAT(leases[0].where.file_name(), HasSubstr("resource_pool_test.cpp"));
  tool->give_back();
  EXPECT_TRUE(pool.leases().empty());
}

TEST_F(ResourcePoolTest, AWaitIsSeenInWaitsUnderTheNameOfThePool) {
  ResourcePool<Tool> pool{{.capacity = 1, .name = "tools"}, hooks()};
  auto tool = pool.borrow();
  auto other = refused_elsewhere(pool);
  await_waiters(pool, 1);
  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "tools");
  pool.close();
  EXPECT_EQ(other.get(), Refusal::closed);
}

using ResourcePoolDeathTest = ResourcePoolTest;

TEST_F(ResourcePoolDeathTest, ALeaseThatOutlivesItsPoolIsNamedAndStopsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        name_this_thread("forgetful");
        std::optional<ResourcePool<Tool>> pool;
        pool.emplace(ResourcePoolOptions{.capacity = 1, .name = "tools"}, hooks());
        auto tool = pool->borrow();
        pool.reset();
      },
      "ResourcePool \"tools\" is destroyed, but forgetful has not given back what it borrowed at "
      ".*resource_pool_test.cpp");
}

TEST_F(ResourcePoolTest, BadOptionsAreNamed) {
  const auto make = [this](ResourcePoolOptions options) {
    return message_of([&] { ResourcePool<Tool> pool(options, hooks()); });
  };
  EXPECT_EQ(make({.capacity = 0}), "capacity must be from 1 to 2147483647, got 0");
  EXPECT_EQ(make({.capacity = 1, .max_idle_time = 0s}), "max_idle_time must be positive, got 0 ns");
  EXPECT_EQ(make({.capacity = 1, .test_after = -1ns}),
            "test_after must be at least 0 ns, got -1 ns");
  EXPECT_EQ(message_of([] { ResourcePool<Tool> pool({.capacity = 1}, {.make = {}}); }),
            "make must be given, got an empty function");
}

// -- All at once -----------------------------------------------------------------------------------

TEST_F(ResourcePoolTest, NeverHasMoreThanItsCapacityAndLosesNoneWhateverHappens) {
  constexpr std::size_t capacity = 3;
  std::atomic<int> calls{0};
  std::atomic<int> borrowed{0};
  {
    ResourcePool<Tool> pool{{.capacity = capacity, .max_idle_time = 50us},
                            {.make =
                                 [&] {
                                   if (++calls % 7 == 0) throw std::runtime_error("refused");
                                   return Tool(workshop);
                                 },
                             .test = [&](Tool& tool) { return tool.uses % 11 != 10; }}};
    std::vector<std::jthread> workers;
    for (int t = 0; t < 6; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) {
          std::stop_source stop;
          Wait wait;
          if (i % 3 == 1) wait.deadline = within(std::chrono::microseconds(i % 50));
          if (i % 3 == 2) wait.stop = stop.get_token();
          std::jthread stopper;
          if (i % 30 == 2) stopper = std::jthread([&stop] { stop.request_stop(); });
          try {
            auto tool = pool.borrow(wait);
            if (!tool) continue;
            ++borrowed;
            ++(*tool)->uses;  // A race, if another has it as well.
            if ((i + t) % 5 == 0) tool->discard();
            if ((i + t) % 50 == 1) std::this_thread::yield();
          } catch (const std::runtime_error&) {
          }
          if (i % 100 == 0) (void)pool.trim();
        }
      });
    }
    workers.clear();
    EXPECT_EQ(pool.stats().size, 0u);
    EXPECT_TRUE(pool.leases().empty());
    EXPECT_EQ(static_cast<int>(pool.idle()), workshop.alive);
  }
  EXPECT_GT(borrowed, 0);
  EXPECT_LE(workshop.most, static_cast<int>(capacity));
  EXPECT_EQ(workshop.alive, 0);
}

TEST_F(ResourcePoolTest, ClosingInTheMiddleOfEverythingLeavesNothingBehind) {
  for (int round = 0; round < 20; ++round) {
    ResourcePool<Tool> pool{{.capacity = 2}, hooks()};
    std::vector<std::jthread> workers;
    for (int t = 0; t < 4; ++t) {
      workers.emplace_back([&, t] {
        std::stop_source never;
        while (auto tool = pool.borrow(t % 2 == 0 ? Wait{} : Wait{.stop = never.get_token()})) {
          if (t == 3) tool->discard();
        }
      });
    }
    eventually([&] { return pool.stats().takes > 20; });
    pool.close();
    workers.clear();
    ASSERT_EQ(workshop.alive, 0);
    ASSERT_LE(workshop.most, 2);
  }
}

}  // namespace
}  // namespace handoff
