// What coroutines see of a Mutex; tests/sync has what threads see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "coro/sync_calls.hpp"
#include "handoff/mutex.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "sync/now_hook.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::StartsWith;

TEST(AsyncMutex, TheCoroutineIsTheOwnerOnWhicheverThreadItGoesOn) {
  ManualExecutor executor;
  Mutex mutex;
  Event until;
  std::optional<Call> call;
  std::jthread([&] { call.emplace(executor, lock(mutex, until)); }).join();
  EXPECT_THAT(detail::thread_name(mutex.holder()), StartsWith("coroutine #"));
  EXPECT_FALSE(mutex.try_lock());
  until.set();
  executor.run();  // On another thread than the one that locked.
  EXPECT_EQ(call->result(), done);
  EXPECT_EQ(mutex.holder(), detail::no_thread);
  EXPECT_EQ(mutex.stats().takes, 1u);
}

Lazy<> lock_twice(Mutex& mutex) {
  auto held = co_await mutex.async_lock();
  auto again = co_await mutex.async_lock();
}

TEST(AsyncMutex, ACoroutineThatLocksWhatItHoldsGetsAnError) {
  ManualExecutor executor;
  Mutex mutex{{.name = "accounts"}};
  Begun<void> call(executor, lock_twice(mutex));
  ASSERT_TRUE(call.is_done());
  try {
    call.result();
    FAIL() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur);
    EXPECT_THAT(error.what(), StartsWith("Mutex \"accounts\" is locked by this very coroutine"));
  }
  EXPECT_EQ(mutex.holder(), detail::no_thread);
}

Lazy<AsyncLock> lock_for_caller(Mutex& mutex) {
  auto held = co_await mutex.async_lock();
  co_return std::move(*held);
}

Lazy<> move_and_unlock(Mutex& mutex, Mutex& other) {
  AsyncLock held = co_await lock_for_caller(mutex);
  EXPECT_TRUE(held.owns_lock());
  AsyncLock second = co_await lock_for_caller(other);
  second = std::move(held);
  EXPECT_EQ(other.holder(), detail::no_thread) << "what it held before is given back";
  EXPECT_FALSE(held.owns_lock());  // NOLINT: after the move.
  EXPECT_NE(mutex.holder(), detail::no_thread);
  second.unlock();
  EXPECT_EQ(mutex.holder(), detail::no_thread);
  EXPECT_THROW(second.unlock(), std::system_error);
}

TEST(AsyncMutex, ItsGuardCanBeMovedAndGivenBackEarly) {
  ManualExecutor executor;
  Mutex mutex;
  Mutex other;
  Begun<void> call(executor, move_and_unlock(mutex, other));
  ASSERT_TRUE(call.is_done());
  call.result();
}

TEST(AsyncMutex, UnlockingGivesAWaitingCoroutineItsTurn) {
  ManualExecutor executor;
  Mutex mutex;
  Event until{{.is_set = true}};
  mutex.lock();
  Call call(executor, lock(mutex, until));
  EXPECT_EQ(waiting(mutex), 1u);
  mutex.unlock();
  EXPECT_EQ(executor.run(), 1u);
  EXPECT_EQ(call.result(), done);
  EXPECT_EQ(mutex.stats().size, 0u);
}

TEST(AsyncMutex, ACoroutineThatGotUpInVainIsHandedTheLockNextTime) {
  ManualExecutor executor;
  Mutex mutex;
  Event until;
  mutex.lock();
  Call call(executor, lock(mutex, until));
  mutex.unlock();
  mutex.lock();  // Overtakes it.
  EXPECT_EQ(executor.run(), 1u);
  EXPECT_FALSE(call.is_done());
  mutex.unlock();
  EXPECT_FALSE(mutex.try_lock()) << "it was handed over";
  EXPECT_THAT(detail::thread_name(mutex.holder()), StartsWith("coroutine #"));
  until.set();
  executor.run();
  EXPECT_EQ(call.result(), done);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(AsyncMutex, ACoroutineIsNamedAsTheOwnerInWaits) {
  ManualExecutor executor;
  Mutex mutex{{.name = "accounts"}};
  Event until;
  Call owner(executor, lock(mutex, until));
  Call waiter(executor, lock(mutex, until));
  for (const WaitInfo& wait : waits()) {
    if (wait.kind != "Mutex") continue;
    EXPECT_EQ(wait.operation, "lock");
    EXPECT_EQ(wait.held_by, detail::thread_name(mutex.holder()));
  }
  EXPECT_EQ(waiting(mutex), 1u);
  until.set();
  executor.run();
  EXPECT_EQ(owner.result(), done);
  EXPECT_EQ(waiter.result(), done);
}

TEST(AsyncMutex, AWaitEndsByItsDeadlineOrAStopWhichIsSticky) {
  ManualClock clock;
  ManualExecutor executor;
  Mutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call late(executor, lock(mutex, until, within(1s)));
  Call leaving(executor, lock(mutex, until), stop.get_token());
  stop.request_stop();
  executor.run();
  EXPECT_EQ(leaving.result(), stopped);
  clock.advance(1s);
  eventually([&] { return executor.ready() == 1; });
  executor.run();
  EXPECT_EQ(late.result(), timed_out);
  mutex.unlock();
  Call after(executor, lock(mutex, until), stop.get_token());
  EXPECT_EQ(after.result(), stopped);
  Call past(executor, lock(mutex, until, now() - 1s));
  EXPECT_EQ(past.result(), done) << "past a deadline, what needs no waiting is still done";
  EXPECT_EQ(mutex.stats().refused, 2u);
}

TEST(AsyncMutex, OneThatTimedOutTakesTheLockIfItIsFreeWhenItHearsOfIt) {
  ManualClock clock;
  ManualExecutor executor;
  Mutex mutex;
  Event until{{.is_set = true}};
  mutex.lock();
  Call call(executor, lock(mutex, until, within(1s)));
  clock.advance(1s);
  eventually([&] { return executor.ready() == 1; });
  mutex.unlock();
  executor.run();
  EXPECT_EQ(call.result(), done);
}

TEST(AsyncMutex, AnUnlockPassesOverOneThatIsOnItsWayOut) {
  ManualExecutor executor;
  Mutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call leaving(executor, lock(mutex, until), stop.get_token());
  Call next(executor, lock(mutex, until));
  stop.request_stop();
  mutex.unlock();
  executor.run();
  EXPECT_EQ(leaving.result(), stopped);
  EXPECT_EQ(next.result(), done);
}

TEST(AsyncMutex, OneThatIsStoppedAfterItsTurnWasTakenByAnotherGivesItOn) {
  ManualExecutor executor;
  Mutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call leaving(executor, lock(mutex, until), stop.get_token());
  Call next(executor, lock(mutex, until));
  mutex.unlock();  // The turn of the first,
  mutex.lock();    // who is overtaken,
  stop.request_stop();
  executor.run();  // gets up in vain, and leaves.
  EXPECT_EQ(leaving.result(), stopped);
  EXPECT_FALSE(next.is_done());
  mutex.unlock();
  executor.run();
  EXPECT_EQ(next.result(), done);
}

TEST(AsyncMutex, AStopInTheMiddleOfAnUnlockPassesTheTurnToTheNext) {
  ManualExecutor executor;
  NowHook clock;
  Mutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call leaving(executor, lock(mutex, until), stop.get_token());
  Call next(executor, lock(mutex, until));
  clock.run_at_next_look([&] { stop.request_stop(); });
  mutex.unlock();  // Has chosen the first when the stop comes.
  EXPECT_TRUE(stop.stop_requested());
  executor.run();
  EXPECT_EQ(leaving.result(), stopped);
  EXPECT_EQ(next.result(), done);
}

TEST(AsyncMutex, AStopInTheMiddleOfAHandOverDoesNotLoseTheLock) {
  ManualExecutor executor;
  NowHook clock;
  Mutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call call(executor, lock(mutex, until), stop.get_token());
  mutex.unlock();
  mutex.lock();
  executor.run();  // In vain; and once its time is up, the next unlock() makes it the owner.
  ASSERT_FALSE(call.is_done());
  clock.advance(Mutex::max_overtaking_time);
  clock.run_at_next_look([&] { stop.request_stop(); });
  mutex.unlock();
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_THAT(detail::thread_name(mutex.holder()), StartsWith("coroutine #"));
  executor.run();
  EXPECT_EQ(call.result(), done) << "it was made the owner, so it is";
  EXPECT_EQ(mutex.holder(), detail::no_thread) << "and has let go";
}

}  // namespace
}  // namespace handoff
