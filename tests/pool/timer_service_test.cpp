#include "handoff/detail/core/timer_service.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff::detail {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::ManualClock;

TimerService& service() { return TimerService::shared(); }

struct CallTimer : TimerEntry {
  explicit CallTimer(std::function<void(CallTimer&)> to_call)
      : TimerEntry([](TimerEntry& entry) noexcept {
          auto& self = static_cast<CallTimer&>(entry);
          self.call(self);
        }),
        call(std::move(to_call)) {}
  std::function<void(CallTimer&)> call;
};

struct TimerServiceTest : ::testing::Test {
  ~TimerServiceTest() override {
    for (auto& timer : timers) service().cancel_and_wait(*timer);
    // Not eventually: from the moment nothing is armed, the service has nothing to do with the clock.
    EXPECT_EQ(clock.waiting(), 0U);
  }
  // Notes `number` when it fires.
  TimerEntry& add(int number) {
    timers.push_back(std::make_unique<CallTimer>([this, number](CallTimer&) { note(number); }));
    return *timers.back();
  }
  void arm(int number, Duration delay) { service().arm(add(number), now() + delay); }
  void note(int number) {
    std::lock_guard guard(mutex);
    noted.push_back(number);
  }
  std::vector<int> fired() {
    std::lock_guard guard(mutex);
    return noted;
  }
  void await_fired(const std::vector<int>& expected) {
    eventually([&] { return fired().size() >= expected.size(); });
    EXPECT_EQ(fired(), expected);
  }
  void await_sleep() {
    eventually([&] { return clock.waiting() == 1; });
  }

  ManualClock clock;
  std::mutex mutex;
  std::vector<int> noted;
  std::vector<std::unique_ptr<CallTimer>> timers;
};

TEST_F(TimerServiceTest, ATimerFiresAtItsTimeAndNotBefore) {
  arm(1, 100ms);
  await_sleep();
  clock.advance(100ms - 1ns);
  EXPECT_EQ(clock.waiting(), 1U) << "nobody was woken";
  EXPECT_EQ(fired(), std::vector<int>{});
  clock.advance(1ns);
  await_fired({1});
}

TEST_F(TimerServiceTest, AllThatIsDueFiresAtOnceInOrderOfDueTimeThenOfArming) {
  arm(3, 30ms);
  arm(5, 1h);
  arm(1, 10ms);
  arm(4, 30ms);
  arm(2, 10ms + 1ns);
  clock.advance(1h);
  await_fired({1, 2, 3, 4, 5});
}

TEST_F(TimerServiceTest, ATimerDueInThePastFiresAtOnce) {
  arm(1, -1h);
  await_fired({1});
}

TEST_F(TimerServiceTest, ATimerDueNeverIsArmedAndNobodyWaitsForIt) {
  service().arm(add(1), TimePoint::max());
  EXPECT_EQ(service().armed(), 1U);
  EXPECT_EQ(clock.waiting(), 0U);
  EXPECT_TRUE(service().cancel(*timers[0]));
}

TEST_F(TimerServiceTest, ACancelledTimerDoesNotFire) {
  arm(1, 10ms);
  arm(2, 20ms);
  EXPECT_TRUE(service().cancel(*timers[0]));
  EXPECT_FALSE(service().cancel(*timers[0]));
  clock.advance(1h);
  await_fired({2});
  EXPECT_FALSE(service().cancel(*timers[1]));
}

TEST_F(TimerServiceTest, TheClockIsLetGoOfAsSoonAsTheLastTimerIsCancelled) {
  arm(1, 10ms);
  await_sleep();
  EXPECT_TRUE(service().cancel(*timers[0]));
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(TimerServiceTest, TheThreadGetsUpOnceForEachDueTimeAndNotForLaterTimers) {
  arm(0, 1s);
  await_sleep();
  const auto before = service().wakeups();
  for (int i = 1; i <= 1'000; ++i) arm(i, 1s + (i / 100) * 1h);  // At eleven moments.
  clock.advance(999ms);
  EXPECT_EQ(clock.waiting(), 1U);
  EXPECT_EQ(service().wakeups(), before);
  clock.advance(1ms);
  for (std::size_t moment = 1; moment <= 10; ++moment) {
    eventually([&] { return fired().size() == 100 * moment && clock.waiting() == 1; });
    clock.advance(59min);  // No tick, no slot boundary gets it up.
    EXPECT_EQ(clock.waiting(), 1U);
    clock.advance(1min);
  }
  eventually([&] { return fired().size() == 1'001; });
  EXPECT_EQ(service().wakeups(), before + 11);
}

TEST_F(TimerServiceTest, AnEarlierTimerGetsTheThreadUpToSleepShorter) {
  arm(1, 1h);
  await_sleep();
  const auto before = service().wakeups();
  arm(2, 1ms);
  eventually([&] { return service().wakeups() == before + 1 && clock.waiting() == 1; });
  clock.advance(1ms);
  await_fired({2});
}

TEST_F(TimerServiceTest, ATimerMayArmItselfAgainWhileItFires) {
  int rounds = 0;
  CallTimer timer([&](CallTimer& self) {
    note(++rounds);
    service().arm(self, now() + 1s);
  });
  service().arm(timer, now() + 1s);
  for (int i = 1; i <= 3; ++i) {
    await_sleep();
    clock.advance(1s);
    eventually([&] { return fired().size() == static_cast<std::size_t>(i); });
  }
  EXPECT_TRUE(service().cancel_and_wait(timer));
  EXPECT_EQ(fired(), (std::vector{1, 2, 3}));
}

TEST_F(TimerServiceTest, ATimerMayArmAndCancelOthersAndDestroyItselfWhileItFires) {
  add(1);
  add(2);
  auto* const timer = new CallTimer([this](CallTimer& self) {
    service().arm(*timers[0], now());
    EXPECT_TRUE(service().cancel_and_wait(*timers[1]));
    EXPECT_FALSE(service().cancel_and_wait(self)) << "waiting would be for ever";
    delete &self;
  });
  service().arm(*timer, now() + 1s);
  service().arm(*timers[1], now() + 1s);
  clock.advance(1s);
  await_fired({1});
  EXPECT_EQ(service().armed(), 0U);
}

TEST_F(TimerServiceTest, CancelAndWaitWaitsForATimerThatIsFiringAndStopsItFromComingBack) {
  Event is_firing;
  Event may_end;
  CallTimer timer([&](CallTimer& self) {
    is_firing.set();
    EXPECT_TRUE(may_end.wait());
    service().arm(self, now());
  });
  service().arm(timer, now());
  ASSERT_TRUE(is_firing.wait());
  EXPECT_FALSE(service().cancel(timer)) << "it is firing";
  auto cancelled = std::async(std::launch::async, [&] { return service().cancel_and_wait(timer); });
  eventually([] {
    std::vector<WaitInfo> waits;
    service().report_waits(waits);
    return waits.size() == 1 && waits[0].operation == "cancel";
  });
  may_end.set();
  EXPECT_TRUE(cancelled.get());
  EXPECT_EQ(service().armed(), 0U);
}

TEST_F(TimerServiceTest, TheThreadIsShownWhileItWaitsForATimer) {
  const auto count_shown = [] {
    std::size_t shown = 0;
    for (const auto& wait : waits()) shown += wait.name == "timers" && wait.operation == "fire";
    return shown;
  };
  EXPECT_EQ(count_shown(), 0U);
  arm(1, 1s);
  eventually([&] { return count_shown() == 1; });
}

// -- Changing clocks ------------------------------------------------------------------------------

TEST(TimerServiceClocks, AClockThatRanAheadLeavesNothingBehind) {
  for (int round = 0; round < 200; ++round) {
    ManualClock clock;
    Event fired;
    CallTimer timer([&](CallTimer&) { fired.set(); });
    service().arm(timer, now() + 1h);
    clock.advance(1h);
    // Either way the clock may be destroyed at once.
    const bool cancelled = round % 2 != 0 && service().cancel_and_wait(timer);
    if (!cancelled) {
      EXPECT_TRUE(fired.wait());
    }
    service().cancel_and_wait(timer);
    clock.advance(1'000h);
  }
  std::atomic<bool> fired = false;
  const auto due = now() + 20ms;
  CallTimer timer([&](CallTimer&) {
    EXPECT_GE(now(), due);
    fired = true;
  });
  service().arm(timer, due);
  eventually([&] { return fired.load(); });
  service().cancel_and_wait(timer);
}

TEST(TimerServiceClocks, ATimerGoesByTheNewClockThoughTheThreadSleepsByTheOld) {
  Event fired;
  CallTimer timer([&](CallTimer&) { fired.set(); });
  service().arm(timer, now() + 1h);
  EXPECT_TRUE(service().cancel(timer));  // The thread still sleeps for it.
  ManualClock clock;
  service().arm(timer, now() + 2h);
  clock.advance(2h);
  EXPECT_TRUE(fired.wait());
  service().cancel_and_wait(timer);
}

// -- The real clock -------------------------------------------------------------------------------

TEST(TimerServiceIdle, ArmingAndCancellingInTurnGetsNobodyUp) {
  CallTimer timer([](CallTimer&) {});
  CallTimer first([](CallTimer&) {});
  service().arm(first, now() + 1h);
  eventually([] {
    std::vector<WaitInfo> waits;
    service().report_waits(waits);
    return !waits.empty();
  });
  EXPECT_TRUE(service().cancel(first));  // The thread sleeps on.
  const auto before = service().wakeups();
  for (int i = 0; i < 10'000; ++i) {
    service().arm(timer, now() + 2h);
    EXPECT_TRUE(service().cancel(timer));
  }
  EXPECT_EQ(service().wakeups(), before);
}

TEST(TimerServiceIdle, AMillionTimersAreArmedAndCancelled) {
  const auto armed_before = service().armed();
  std::vector<TimerEntry> entries(1'000'000);
  std::mt19937 random(5);
  const auto begin = now() + 1h;
  for (auto& entry : entries) service().arm(entry, begin + random() * 1us);
  EXPECT_EQ(service().armed(), armed_before + entries.size());
  std::size_t cancelled = 0;
  for (auto& entry : entries) cancelled += service().cancel(entry);
  EXPECT_EQ(cancelled, entries.size());
  EXPECT_EQ(service().armed(), armed_before);
}

struct RacingTimer : TimerEntry {
  RacingTimer()
      : TimerEntry([](TimerEntry& entry) noexcept {
          auto& self = static_cast<RacingTimer&>(entry);
          if (now() < self.due) std::abort();
          ++self.fired;  // Not atomic: cancel_and_wait() must make it visible.
        }) {}
  TimePoint due;
  int fired = 0;
};

TEST(TimerServiceStress, EveryTimerEitherFiresOnceOrIsCancelledOnce) {
  std::vector<std::jthread> threads;
  std::atomic<int> total_fired = 0;
  std::atomic<int> total_cancelled = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 400; ++round) {
        std::vector<std::unique_ptr<RacingTimer>> timers;
        for (int i = 0; i < 16; ++i) {
          timers.push_back(std::make_unique<RacingTimer>());
          timers.back()->due = now() + random() % 200 * 1us - 20us;
          service().arm(*timers.back(), timers.back()->due);
        }
        for (auto& timer : timers) {
          const auto about_due = timer->due - random() % 10 * 1us;
          while (now() < about_due) std::this_thread::yield();
          const bool first = random() % 2 == 0 && service().cancel(*timer);
          const bool second = service().cancel_and_wait(*timer);
          EXPECT_EQ(timer->fired + first + second, 1);
          total_fired += timer->fired;
          total_cancelled += first + second;
          timer.reset();
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(total_fired + total_cancelled, 4 * 400 * 16);
  EXPECT_GT(total_fired, 0);
  EXPECT_GT(total_cancelled, 0);
  EXPECT_EQ(service().armed(), 0U);
}

TEST(TimerServiceStress, ATimerThatArmsItselfAgainIsGoneAfterCancelAndWait) {
  for (int round = 0; round < 300; ++round) {
    int count = 0;
    auto timer = std::make_unique<CallTimer>([&](CallTimer& self) {
      ++count;
      service().arm(self, now() + 5us);
    });
    service().arm(*timer, now());
    for (int i = 0; i < round % 50; ++i) std::this_thread::yield();
    EXPECT_TRUE(service().cancel_and_wait(*timer)) << "it is always armed, or about to be";
    timer.reset();
  }
  EXPECT_EQ(service().armed(), 0U);
}

// -- The end of the process -----------------------------------------------------------------------

int exit_code_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TimerServiceFork, AChildMayCancelTheTimersItInheritedWhileOthersUseTheService) {
  std::jthread busy([](std::stop_token stop) {
    RacingTimer timer;
    while (!stop.stop_requested()) {
      timer.due = now();
      service().arm(timer, timer.due);
      service().cancel_and_wait(timer);
    }
  });
  CallTimer timer([](CallTimer&) {});
  service().arm(timer, now() + 1h);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(exit_code_of_child([&] { return service().cancel_and_wait(timer) ? 7 : 8; }), 7);
  }
  EXPECT_TRUE(service().cancel(timer));
}

#if !defined(__SANITIZE_THREAD__)  // It does not let a forked child start threads.
TEST(TimerServiceFork, AChildThatArmsATimerIsServed) {
  CallTimer before([](CallTimer&) {});
  service().arm(before, now());
  service().cancel_and_wait(before);
  EXPECT_EQ(exit_code_of_child([] {
              std::atomic<bool> fired = false;
              CallTimer timer([&](CallTimer&) { fired = true; });
              service().arm(timer, now() + 1ms);
              eventually([&] { return fired.load(); });
              service().cancel_and_wait(timer);
              return 7;
            }),
            7);
}
#endif

// Cancels its timers while static objects are destroyed.
struct AtExit {
  CallTimer cancelled_late{[](CallTimer&) {}};
  CallTimer busy{[](CallTimer& self) { service().arm(self, now() + 100us); }};
  ~AtExit() {
    service().cancel_and_wait(busy);
    service().cancel_and_wait(cancelled_late);
  }
};

[[noreturn]] void exit_with_timers_armed() {
  static AtExit timers;
  static auto* const never_cancelled = new CallTimer([](CallTimer&) {});
  service().arm(timers.cancelled_late, now() + 1h);
  service().arm(timers.busy, now());
  service().arm(*never_cancelled, now() + 1h);
  std::exit(7);
}

TEST(TimerServiceDeathTest, AProgramMayEndWithTimersArmed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // In a process that does not begin with a fork.
  EXPECT_EXIT(exit_with_timers_armed(), ::testing::ExitedWithCode(7), "^$");
}

TEST(TimerServiceDeathTest, DestroyingAnArmedTimerStopsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto destroy_armed = [] {
    CallTimer timer([](CallTimer&) {});
    service().arm(timer, now() + 1h);
  };
  EXPECT_DEATH(destroy_armed(), "nowhere");
}

}  // namespace
}  // namespace handoff::detail
