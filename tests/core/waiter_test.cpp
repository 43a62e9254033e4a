#include "handoff/detail/core/waiter.hpp"

#include <gtest/gtest.h>

#include <coroutine>
#include <cstdlib>
#include <deque>
#include <future>
#include <thread>

#include "handoff/detail/core/wait_list.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "support/await_sleep.hpp"

namespace handoff::detail {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

WaitSite here(std::source_location where = std::source_location::current()) {
  return {"test", where};
}

// Parks a waiter on another thread and says how the wait ended.
class ParkedThread {
 public:
  explicit ParkedThread(Wait wait = {}) : wait_(std::move(wait)), waiter_(wait_, here()) {
    outcome_ = std::async(std::launch::async, [this] {
      waiter_.arm();
      WaitState outcome;
      return waiter_.is_over(outcome) ? outcome : waiter_.park();
    });
  }
  void wait_until_parked() {
    eventually([this] { return waiter_.state() == WaitState::parked; });
  }
  Waiter& waiter() { return waiter_; }
  WaitState outcome() { return outcome_.get(); }

 private:
  Wait wait_;
  ThreadWaiter waiter_;
  std::future<WaitState> outcome_;
};

TEST(Waiter, AParkedThreadIsWokenByItsTurn) {
  ParkedThread thread;
  thread.wait_until_parked();
  Unpark unpark;
  EXPECT_TRUE(thread.waiter().give_turn(unpark));
  unpark();
  EXPECT_EQ(thread.outcome(), WaitState::woken);
}

TEST(Waiter, ATurnGivenBeforeParkingIsNotLost) {
  const Wait wait;
  ThreadWaiter waiter(wait, here());
  Unpark unpark;
  EXPECT_TRUE(waiter.give_turn(unpark));
  unpark();
  EXPECT_EQ(waiter.park(), WaitState::nudged);  // Would sleep for ever if the turn were lost.
}

TEST(Waiter, OnlyOneClaimerWins) {
  const Wait wait;
  ThreadWaiter waiter(wait, here());
  Unpark unpark;
  EXPECT_TRUE(waiter.claim(WaitState::roused, unpark));
  EXPECT_FALSE(waiter.claim(WaitState::stopped, unpark));
  EXPECT_FALSE(waiter.give_turn(unpark));
  EXPECT_FALSE(waiter.serve(unpark));
  EXPECT_EQ(waiter.state(), WaitState::roused);
}

TEST(Waiter, OneThatIsLookingForItselfCannotBeServed) {
  const Wait wait;
  ThreadWaiter waiter(wait, here());
  Unpark unpark;
  EXPECT_FALSE(waiter.serve(unpark)) << "preparing";
  ASSERT_TRUE(waiter.give_turn(unpark));
  EXPECT_FALSE(waiter.serve(unpark)) << "nudged: it may be in the middle of its operation";
}

TEST(Waiter, OneThatWasWokenButIsNotUpYetCanBeServed) {
  const Wait wait;
  ThreadWaiter waiter(wait, here());
  ASSERT_TRUE(waiter.commit_to_suspend());
  Unpark unpark;
  ASSERT_TRUE(waiter.give_turn(unpark));
  EXPECT_TRUE(waiter.serve(unpark));
  EXPECT_FALSE(waiter.resume_looking(WaitState::woken)) << "the owner learns that it was served";
  EXPECT_EQ(waiter.state(), WaitState::served_in_its_turn);
}

TEST(Waiter, ADeadlineOnTheRealClockEndsTheWait) {
  ParkedThread thread({.deadline = within(1ms)});
  EXPECT_EQ(thread.outcome(), WaitState::timed_out);
}

TEST(Waiter, ADeadlineOnAManualClockEndsTheWaitWhenTimeIsMoved) {
  testing::ManualClock clock;
  ParkedThread thread({.deadline = within(1h)});
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1h - 1ns);
  EXPECT_EQ(clock.waiting(), 1U) << "not yet due";
  clock.advance(1ns);
  EXPECT_EQ(thread.outcome(), WaitState::timed_out);
}

TEST(Waiter, AStopRequestEndsTheWait) {
  std::stop_source stop;
  ParkedThread thread({.stop = stop.get_token()});
  thread.wait_until_parked();
  stop.request_stop();
  EXPECT_EQ(thread.outcome(), WaitState::stopped);
}

TEST(Waiter, AStopRequestedBeforeTheWaitEndsItAtOnce) {
  std::stop_source stop;
  stop.request_stop();
  const Wait wait{.stop = stop.get_token()};
  ThreadWaiter waiter(wait, here());
  waiter.arm();  // Runs the callback on this thread.
  EXPECT_EQ(waiter.park(), WaitState::stopped);
}

TEST(Waiter, AStopThatMetAnotherOutcomeIsSeenAtTheNextLook) {
  std::stop_source stop;
  const Wait wait{.stop = stop.get_token()};
  ThreadWaiter waiter(wait, here());
  waiter.arm();
  Unpark unpark;
  ASSERT_TRUE(waiter.give_turn(unpark));
  stop.request_stop();  // Its callback finds the waiter claimed: its one shot is spent.
  ASSERT_TRUE(waiter.resume_looking(WaitState::nudged));
  WaitState outcome;
  ASSERT_TRUE(waiter.is_over(outcome));
  EXPECT_EQ(outcome, WaitState::stopped);
}

// Every way to end a wait at once, many times: exactly one of them must win, and the thread must get up.
TEST(Waiter, WakeStopAndDeadlineTogetherEndTheWaitExactlyOnce) {
  for (int round = 0; round < 2'000; ++round) {
    std::stop_source stop;
    SmallLock lock;
    bool linked = true;  // Guarded by lock, as on a wait list.
    bool turn_given = false;
    const Wait wait{.deadline = within(std::chrono::microseconds(round % 60)),
                    .stop = stop.get_token()};
    ThreadWaiter waiter(wait, here());
    std::jthread waker([&] {
      Unpark unpark;
      {
        SmallGuard guard(lock);
        if (linked) turn_given = waiter.give_turn(unpark);
      }
      unpark();
    });
    std::jthread stopper([&] { stop.request_stop(); });
    waiter.arm();
    const auto outcome = waiter.park();
    {
      SmallGuard guard(lock);
      linked = false;
      EXPECT_EQ(turn_given, outcome == WaitState::woken || outcome == WaitState::nudged);
    }
  }
}

// -- The coroutine seam ---------------------------------------------------------------------------

// The smallest coroutine that can wait: starts at once, and is resumed by an executor.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

std::deque<std::coroutine_handle<>> run_queue;

struct CoroutineWait : Waiter {
  CoroutineWait(const Wait& wait, WaitList& list)
      : Waiter(wait, here(), &as_coroutine), list_(list), link_(*this) {}
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    {
      SmallGuard guard(list_.lock());
      list_.push_back_locked(link_);
    }
    arm();
    return commit_to_suspend();
  }
  WaitState await_resume() {
    SmallGuard guard(list_.lock());
    list_.unlink_locked(link_);
    return state();
  }

 private:
  static const CoroutineSide as_coroutine;
  static void resume(Waiter& waiter) noexcept {
    run_queue.push_back(static_cast<CoroutineWait&>(waiter).handle_);
  }
  static void arm_limits(Waiter& waiter) {
    auto& self = static_cast<CoroutineWait&>(waiter);
    self.limits_.arm(self);
  }
  WaitList& list_;
  Link link_;
  std::coroutine_handle<> handle_;
  OwnLimits limits_;
};

constinit const CoroutineSide CoroutineWait::as_coroutine{
    .resume = &CoroutineWait::resume,
    .arm = &CoroutineWait::arm_limits,
    .describe = [](const Waiter&, WaitInfo&) {}};

Detached wait_on(WaitList& list, const Wait& wait, WaitState& outcome) {
  CoroutineWait waiter(wait, list);
  outcome = co_await waiter;
}

TEST(Waiter, ASuspendedCoroutineIsHandedToItsExecutorWhenItsTurnComes) {
  WaitList list;
  const Wait wait;
  WaitState outcome = WaitState::preparing;
  wait_on(list, wait, outcome);
  ASSERT_EQ(list.totals().waiting, 1U);

  Unpark unpark;
  {
    SmallGuard guard(list.lock());
    ASSERT_TRUE(list.front_locked()->waiter->give_turn(unpark));
  }
  unpark();
  EXPECT_EQ(outcome, WaitState::preparing) << "never resumed inline by the waker";
  ASSERT_EQ(run_queue.size(), 1U);
  run_queue.front().resume();
  run_queue.pop_front();
  EXPECT_EQ(outcome, WaitState::woken);
  EXPECT_EQ(list.totals().waiting, 0U);
}

TEST(Waiter, ASuspendedCoroutineIsStoppedThroughTheSameSeam) {
  WaitList list;
  std::stop_source stop;
  const Wait wait{.stop = stop.get_token()};
  WaitState outcome = WaitState::preparing;
  wait_on(list, wait, outcome);
  stop.request_stop();
  ASSERT_EQ(run_queue.size(), 1U);
  run_queue.front().resume();
  run_queue.pop_front();
  EXPECT_EQ(outcome, WaitState::stopped);
}

TEST(Waiter, ACoroutineWhoseStopCameFirstIsNotSuspended) {
  WaitList list;
  std::stop_source stop;
  stop.request_stop();
  const Wait wait{.stop = stop.get_token()};
  WaitState outcome = WaitState::preparing;
  wait_on(list, wait, outcome);
  EXPECT_EQ(outcome, WaitState::stopped);
  EXPECT_TRUE(run_queue.empty());
}

// A thread such as the timers' sleeps on while the program ends.
[[noreturn]] void exit_while_a_thread_sleeps() {
  auto* const wait = new Wait;  // Both outlive this function, as the thread does.
  auto* const waiter = new ThreadWaiter(*wait, here());
  std::thread([waiter, wait] { static_cast<void>((waiter->park(), wait)); }).detach();
  eventually([&] { return waiter->state() == WaitState::parked; });
  tests::await_sleep();
  std::exit(7);
}

TEST(WaiterAtExit, AThreadThatSleepsDoesNotHoldUpTheEndOfTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // In a process that does not begin with a fork.
  EXPECT_EXIT(exit_while_a_thread_sleeps(), ::testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace handoff::detail
