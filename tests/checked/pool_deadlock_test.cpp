// Rings of different things: a job that waits for a future, and one that waits for a lock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using testing::eventually;

class PoolDeadlock : public ::testing::Test {
 protected:
  PoolDeadlock() {
    before_ = on_lock_problem([this](const LockProblem& problem) {
      const std::scoped_lock held(lock_);
      problems_.push_back(problem);
    });
  }
  ~PoolDeadlock() override { on_lock_problem(std::move(before_)); }

  std::vector<LockProblem> problems() {
    const std::scoped_lock held(lock_);
    return problems_;
  }

 private:
  std::mutex lock_;
  std::vector<LockProblem> problems_;
  LockProblemHandler before_;
};

TEST_F(PoolDeadlock, AJobThatWantsALockHeldByTheJobThatWaitsForIt) {
  std::stop_source stop;
  Mutex accounts{{.name = "accounts"}};
  Event begun;
  Event locked;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  auto wants_lock = pool.submit([&] {
    begun.set();
    (void)locked.wait();
    return accounts.acquire({.stop = stop.get_token()}).has_value();
  });
  (void)begun.wait();  // Else the job that waits for it would run it itself, in one thread.
  auto holds_lock = pool.submit([&] {
    const auto held = accounts.hold();
    locked.set();
    return wants_lock->get({.stop = stop.get_token()}).has_value();
  });
  eventually([&] { return !problems().empty(); });
  // All of them are marked, for whoever looks at the waits.
  const auto all = waits();
  EXPECT_EQ(std::ranges::count_if(all, &WaitInfo::deadlocked), 2);
  stop.request_stop();
  EXPECT_TRUE(holds_lock->get());

  ASSERT_EQ(problems().size(), 1u);
  EXPECT_EQ(problems()[0].kind, LockProblem::Kind::deadlock);
  EXPECT_THAT(problems()[0].locks,
              ::testing::UnorderedElementsAre(
                  "Mutex \"accounts\"", ::testing::StartsWith("Future \"pool_deadlock_test")));
}

TEST_F(PoolDeadlock, TwoJobsThatWaitForEachOther) {
  std::stop_source stop;
  Event both_known;
  Future<bool> first;
  Future<bool> second;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  Future<bool> first_future = *pool.submit([&] {
    (void)both_known.wait();
    return second.get({.stop = stop.get_token()}).has_value();
  });
  Future<bool> second_future = *pool.submit([&] {
    (void)both_known.wait();
    return first.get({.stop = stop.get_token()}).has_value();
  });
  eventually([&] { return pool.stats().queued == 0; });  // Both run: neither can be helped with.
  first = std::move(first_future);
  second = std::move(second_future);
  both_known.set();
  eventually([&] { return !problems().empty(); });
  stop.request_stop();
  EXPECT_TRUE(pool.shutdown(finish_within(std::chrono::seconds(30))).is_complete());
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_EQ(problems()[0].kind, LockProblem::Kind::deadlock);
}

}  // namespace
}  // namespace handoff
