#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/timer.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

struct PoolTimersTest : ::testing::Test {
  testing::ManualClock clock;
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 1, .capacity = 1}};

  void expect_runs(int count) {
    eventually([&] { return ran == count; });
    ASSERT_TRUE(pool.submit([] {})->get());  // One worker: what was due before has ended.
    EXPECT_EQ(ran, count);
  }
};

TEST_F(PoolTimersTest, RunsAfterTheDelayAndNotBefore) {
  ASSERT_TRUE(pool.after(100ms, [&] { ++ran; }));
  clock.advance(99ms);
  ASSERT_TRUE(pool.submit([] {})->get());
  EXPECT_EQ(ran, 0);
  clock.advance(1ms);
  expect_runs(1);
  clock.advance(1h);
  expect_runs(1);
  EXPECT_EQ(pool.stats().timers, 0u);
}

TEST_F(PoolTimersTest, RunsAtATimeOfEitherClock) {
  ASSERT_TRUE(pool.at(now() + 10ms, [&] { ++ran; }));
  ASSERT_TRUE(pool.at(std::chrono::system_clock::now() - 1s, [&] { ++ran; }));
  expect_runs(1);
  clock.advance(10ms);
  expect_runs(2);
}

TEST_F(PoolTimersTest, ACancelledOneDoesNotRunAndLetsGoOfItsJob) {
  auto held = std::make_shared<int>();
  auto timer = pool.after(1s, [&, held] { ++ran; });
  EXPECT_TRUE(timer->is_active());
  EXPECT_TRUE(timer->cancel());
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(timer->is_active());
  EXPECT_FALSE(timer->cancel());
  clock.advance(1h);
  expect_runs(0);
}

TEST_F(PoolTimersTest, ADroppedHandleCancelsNothing) {
  {
    auto timer = pool.after(1s, [&] { ++ran; });
  }
  clock.advance(1s);
  expect_runs(1);
}

TEST_F(PoolTimersTest, DueOnesNeedNoRoomInTheQueue) {
  Event entered;
  Event open;
  ASSERT_TRUE(pool.post([&] {
    entered.set();
    (void)open.wait();
  }));
  ASSERT_TRUE(entered.wait());
  ASSERT_TRUE(pool.post([] {}));  // Full.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.after(1ms, [&] { ++ran; }));
  clock.advance(1ms);
  open.set();
  expect_runs(100);
}

TEST_F(PoolTimersTest, EveryRunsAgainAndAgainUntilCancelled) {
  auto timer = pool.every(1min, [&] { ++ran; });
  for (int i = 1; i <= 5; ++i) {
    clock.advance(1min);
    expect_runs(i);
  }
  EXPECT_TRUE(timer->cancel());
  clock.advance(1h);
  expect_runs(5);
}

TEST_F(PoolTimersTest, EveryMayBeginAtOnce) {
  auto timer = pool.every(1min, [&] { ++ran; }, {.at_once = true});
  expect_runs(1);
  clock.advance(1min);
  expect_runs(2);
}

// A first run of three and a half periods.
struct Overrunning : PoolTimersTest {
  Event in_first_run;
  Event end_first_run;
  std::vector<Duration> began;  // Of the one worker.

  std::expected<Timer, Refusal> start(Overrun overrun) {
    return pool.every(10s,
                      [this, start = now()] {
                        began.push_back(now() - start);
                        ++ran;
                        if (ran > 1) return;
                        in_first_run.set();
                        (void)end_first_run.wait();
                      },
                      {.overrun = overrun});
  }
  void run_long() {
    clock.advance(10s);
    ASSERT_TRUE(in_first_run.wait());
    clock.advance(35s);
    EXPECT_EQ(ran, 1);  // Never two at once.
    end_first_run.set();
  }
};

TEST_F(Overrunning, SkipsWhatWasMissed) {
  auto timer = start(Overrun::skip);
  run_long();
  expect_runs(1);
  clock.advance(5s);
  expect_runs(2);
  EXPECT_THAT(began, ::testing::ElementsAre(10s, 50s));
  timer->cancel();
}

TEST_F(Overrunning, CatchesUpWithWhatWasMissed) {
  auto timer = start(Overrun::catch_up);
  run_long();
  expect_runs(4);
  clock.advance(5s);
  expect_runs(5);
  EXPECT_THAT(began, ::testing::ElementsAre(10s, 45s, 45s, 45s, 50s));
  timer->cancel();
}

TEST_F(Overrunning, DelaysTheNextByAWholePeriod) {
  auto timer = start(Overrun::delay);
  run_long();
  expect_runs(1);
  clock.advance(9s);
  expect_runs(1);
  clock.advance(1s);
  expect_runs(2);
  EXPECT_THAT(began, ::testing::ElementsAre(10s, 55s));
  timer->cancel();
}

TEST_F(PoolTimersTest, OneThatThrowsRunsAgain) {
  WorkerPool quiet{{.workers = 1, .capacity = 1},
                   {.on_error = [](std::exception_ptr, const std::source_location&) {}}};
  auto timer = quiet.every(1s, [&] {
    ++ran;
    throw std::runtime_error("again");
  });
  for (int i = 1; i <= 3; ++i) {
    clock.advance(1s);
    eventually([&] { return quiet.stats().failed == static_cast<std::uint64_t>(i); });
    eventually([&] { return clock.waiting() == 1; });  // Armed again.
  }
  EXPECT_EQ(ran, 3);
  timer->cancel();
}

TEST_F(PoolTimersTest, MayCancelItselfWhileItRuns) {
  std::expected<Timer, Refusal> timer = std::unexpected(Refusal::empty);
  Event made;
  timer = pool.every(1s, [&] {
    (void)made.wait();
    ++ran;
    EXPECT_TRUE(timer->cancel());
  });
  made.set();
  clock.advance(1s);
  expect_runs(1);
  clock.advance(10s);
  expect_runs(1);
}

TEST_F(PoolTimersTest, AreBounded) {
  WorkerPool bounded{{.workers = 1, .capacity = 1, .timers = 2}};
  auto first = bounded.after(1s, [] {});
  auto second = bounded.after(1s, [] {});
  auto job = [text = std::make_unique<int>(7)] { return *text; };
  EXPECT_EQ(bounded.after(1s, std::move(job)).error(), Refusal::full);
  EXPECT_EQ(job(), 7);  // Untouched.
  first->cancel();
  EXPECT_TRUE(bounded.after(1s, [] {}));
}

TEST_F(PoolTimersTest, AShutdownCancelsWhatIsNotDue) {
  auto once = pool.after(1s, [&] { ++ran; });
  auto again = pool.every(1s, [&] { ++ran; });
  const auto report = pool.shutdown(finish_within(10s));
  EXPECT_EQ(report.timers_cancelled, 2u);
  EXPECT_EQ(pool.after(1s, [] {}).error(), Refusal::closed);
  EXPECT_FALSE(once->is_active());
  EXPECT_FALSE(again->cancel());
}

TEST_F(PoolTimersTest, AHandleMayOutliveItsPool) {
  Timer timer;
  {
    WorkerPool brief{{.workers = 1, .capacity = 1}};
    timer = *brief.after(1h, [] {});
  }
  EXPECT_FALSE(timer.is_active());
  EXPECT_FALSE(timer.cancel());
}

TEST_F(PoolTimersTest, RefusesAPeriodThatIsNotPositive) {
  EXPECT_THROW((void)pool.every(0s, [] {}), std::invalid_argument);
  EXPECT_THROW((void)pool.every(-1s, [] {}), std::invalid_argument);
}

TEST_F(PoolTimersTest, APeriodWithoutEndRunsOnce) {
  for (const auto overrun : {Overrun::skip, Overrun::catch_up, Overrun::delay}) {
    const int before = ran;
    auto timer = pool.every(Duration::max(), [&] { ++ran; }, {.overrun = overrun, .at_once = true});
    expect_runs(before + 1);
    clock.advance(24h * 365);
    expect_runs(before + 1);
    EXPECT_TRUE(timer->cancel());
  }
  auto far = pool.at(std::chrono::sys_days(std::chrono::year(2600) / 1 / 1), [&] { ++ran; });
  expect_runs(3);
  EXPECT_TRUE(far->cancel());
}

// On the real clock: each of many fires once, or was cancelled in time, never both.
TEST(PoolTimersStress, EachRunsOnceOrWasCancelled) {
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  int cancelled = 0;
  constexpr int rounds = 3000;
  for (int i = 0; i < rounds; ++i) {
    auto timer = pool.after(std::chrono::microseconds(i % 50), [&] { ++ran; });
    if (i % 2 == 0) cancelled += timer->cancel() ? 1 : 0;
  }
  eventually([&] { return pool.stats().timers == 0; });
  pool.shutdown(finish_within(10s));
  EXPECT_EQ(ran + cancelled, rounds);
}

}  // namespace
}  // namespace handoff
