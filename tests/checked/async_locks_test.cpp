// What a checked build sees of locks that coroutines hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "coro/sync_calls.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/mutex.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace handoff::tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

static_assert(detail::checked_build, "these tests are about the checked build");

// Collects the reports of one test, all from its own thread.
class AsyncLocks : public ::testing::Test {
 protected:
  AsyncLocks() {
    on_lock_problem([this](const LockProblem& problem) { problems_.push_back(problem); });
  }
  ~AsyncLocks() override { on_lock_problem({}); }

  std::vector<LockProblem> problems_;
};

template <typename First, typename Second>
Lazy<Result> lock_both(First& first, Event& then, Second& second) {
  auto outer = co_await first.async_lock();
  if (!outer) co_return std::unexpected(outer.error());
  (void)co_await then.async_wait();
  auto inner = co_await second.async_lock();
  if (!inner) co_return std::unexpected(inner.error());
  co_return Result{};
}

TEST_F(AsyncLocks, CoroutinesThatWaitForEachOtherAreReported) {
  ManualExecutor executor;
  Mutex accounts{{.name = "accounts"}};
  SharedMutex prices{{.name = "prices"}};
  Event go;
  std::stop_source stop;
  Call one(executor, lock_both(accounts, go, prices), stop.get_token());
  Call other(executor, lock_both(prices, go, accounts), stop.get_token());
  EXPECT_THAT(problems_, IsEmpty());
  go.set();
  executor.run();

  ASSERT_THAT(problems_, SizeIs(1));
  EXPECT_EQ(problems_[0].kind, LockProblem::Kind::deadlock);
  EXPECT_THAT(problems_[0].locks, ElementsAre("Mutex \"accounts\"", "SharedMutex \"prices\""));
  EXPECT_THAT(problems_[0].report, HasSubstr("coroutine #"));
  const auto all = waits();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_TRUE(all[0].deadlocked);
  EXPECT_TRUE(all[1].deadlocked);

  stop.request_stop();
  executor.run();
  EXPECT_EQ(one.result(), stopped);
  EXPECT_EQ(other.result(), stopped);
}

TEST_F(AsyncLocks, TheOrderInWhichCoroutinesLockIsNotFollowed) {
  ManualExecutor executor;
  Mutex first;
  Mutex second;
  Event go{{.is_set = true}};
  EXPECT_EQ(Call(executor, lock_both(first, go, second)).result(), done);
  EXPECT_EQ(Call(executor, lock_both(second, go, first)).result(), done);
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(AsyncLocks, WhatACoroutineHoldsIsNotTakenForAThreads) {
  ManualExecutor executor;
  Mutex held;
  Mutex other;
  Event until;
  Call call(executor, lock(held, until));
  {
    auto nothing_else = other.hold();
  }
  std::jthread([&] {
    until.set();
    executor.run();
  }).join();
  EXPECT_EQ(call.result(), done);
  // If the lock were still on this thread's list, this would be the other order.
  auto outer = other.hold();
  auto inner = held.hold();
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(AsyncLocks, ALockThatACoroutineGaveBackIsForgotten) {
  ManualExecutor executor;
  Mutex mutex;
  Event until{{.is_set = true}};
  EXPECT_EQ(Call(executor, lock(mutex, until)).result(), done);
  std::optional<Call> waiter;
  {
    auto held = mutex.hold();
    waiter.emplace(executor, lock(mutex, until));
  }
  executor.run();
  EXPECT_EQ(waiter->result(), done);
  EXPECT_THAT(problems_, IsEmpty());
}

}  // namespace
}  // namespace handoff
