// Several coroutines at once: what comes out, who is stopped, and that all have ended before the co_await is over.
#include "handoff/when.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "coro/manual_executor.hpp"
#include "handoff/detail/core/timer_service.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using handoff::tests::Begun;
using handoff::tests::ManualExecutor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Result = std::expected<void, Refusal>;
using Item = std::expected<int, Refusal>;

const Result done{};
const Result stopped{std::unexpected(Refusal::stopped)};
const Result timed_out{std::unexpected(Refusal::timed_out)};

// One lives in every coroutine of these tests while it runs.
class Alive {
 public:
  Alive() { ++count; }
  ~Alive() { --count; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

  static inline std::atomic<int> count{0};
};

class When : public ::testing::Test {
 protected:
  ~When() override { EXPECT_EQ(Alive::count, 0); }
};
using Timed = When;

template <typename F>
std::string error_of(F f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

std::string what(const std::exception_ptr& error) {
  return error_of([&] { std::rethrow_exception(error); });
}

// -- What is awaited --------------------------------------------------------------------------------

template <typename T>
Lazy<T> gives(T value) {
  const Alive alive;
  co_return std::move(value);
}

Lazy<> nothing() {
  const Alive alive;
  co_return;
}

template <typename T = int>
Lazy<T> fails(std::string message) {
  const Alive alive;
  throw std::runtime_error(message);
  co_return T();
}

Lazy<> fails_void(std::string message) {
  const Alive alive;
  throw std::runtime_error(message);
  co_return;
}

Lazy<Result> waits_for(Event& event) {
  const Alive alive;
  co_return co_await event.async_wait();
}

Lazy<int> gives_after(Event& event, int value) {
  const Alive alive;
  const auto waited = co_await event.async_wait();
  co_return waited ? value : -value;
}

Lazy<int> fails_after(Event& event, std::string message) {
  const Alive alive;
  static_cast<void>(co_await event.async_wait());
  throw std::runtime_error(message);
  co_return 0;
}

Lazy<Item> takes(BlockingQueue<int>& queue) {
  const Alive alive;
  co_return co_await queue.async_take();
}

// Counts that it was stopped, at the very end.
Lazy<int> until_stopped(Event& never, std::atomic<int>& ended) {
  const Alive alive;
  const auto waited = co_await never.async_wait();
  EXPECT_EQ(waited, stopped);
  co_await sleep_for(0ms);
  ++ended;
  co_return 0;
}

// Ends only by `event`, whatever its stop_token says.
Lazy<int> deaf(Event& event, int value) {
  const Alive alive;
  Scope scope{std::stop_token()};
  scope.spawn([&event] { EXPECT_EQ(event.wait(), done); });
  static_cast<void>(co_await scope.async_join());
  co_return value;
}

template <typename T, typename... More>
std::vector<Lazy<T>> all_of(Lazy<T> first, More... more) {
  std::vector<Lazy<T>> lazies;
  lazies.push_back(std::move(first));
  (lazies.push_back(std::move(more)), ...);
  return lazies;
}

// -- when_all ---------------------------------------------------------------------------------------

TEST_F(When, AllGivesEveryResultInItsPlace) {
  const auto results = sync_wait(when_all(gives(1), gives(std::string("two")), nothing()));
  EXPECT_EQ(results, std::tuple(1, std::string("two"), std::monostate()));
}

TEST_F(When, AllGivesWhatCanOnlyBeMoved) {
  auto [one, two] =
      sync_wait(when_all(gives(std::make_unique<int>(1)), gives(std::make_unique<int>(2))));
  EXPECT_EQ(*one, 1);
  EXPECT_EQ(*two, 2);
  auto several = sync_wait(when_all(all_of(gives(std::make_unique<int>(3)))));
  ASSERT_THAT(several, SizeIs(1));
  EXPECT_EQ(*several[0], 3);
}

TEST_F(When, AllOfAVectorGivesAVectorInTheSameOrder) {
  std::vector<Lazy<int>> lazies;
  for (int i = 0; i < 100; ++i) lazies.push_back(gives(i));
  const auto results = sync_wait(when_all(std::move(lazies)));
  ASSERT_THAT(results, SizeIs(100));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], i);
  EXPECT_THAT(sync_wait(when_all(all_of(nothing(), nothing()))), SizeIs(2));
}

TEST_F(When, AllOfNoneIsDoneAtOnce) {
  EXPECT_THAT(sync_wait(when_all(std::vector<Lazy<int>>())), IsEmpty());
  EXPECT_THAT(sync_wait(when_all(std::vector<Lazy<>>())), IsEmpty());
  EXPECT_THAT(sync_wait(collect(std::vector<Lazy<int>>())), IsEmpty());
  EXPECT_EQ(sync_wait(when_all()), std::tuple<>());
}

TEST_F(When, NothingStartsBeforeItIsAwaited) {
  std::atomic<int> begun = 0;
  const auto begins = [](std::atomic<int>& count) -> Lazy<> {
    ++count;
    co_return;
  };
  auto both = when_all(begins(begun), begins(begun));
  EXPECT_EQ(begun, 0);
  sync_wait(std::move(both));
  EXPECT_EQ(begun, 2);
  {
    const auto dropped = when_all(begins(begun), begins(begun));
  }
  EXPECT_EQ(begun, 2);
}

TEST_F(When, TheyRunAtTheSameTime) {
  Event ping;
  Event pong;
  const auto meets = [](Event& sets, Event& awaits) -> Lazy<Result> {
    const Alive alive;
    sets.set();
    co_return co_await awaits.async_wait();
  };
  EXPECT_EQ(sync_wait(when_all(meets(ping, pong), meets(pong, ping))), std::tuple(done, done));
}

// On a pool on different threads: each of them holds its own until the other has come.
TEST_F(When, OnAPoolTheyRunOnSeveralWorkers) {
  Event ping;
  Event pong;
  WorkerPool pool{{.workers = 2, .capacity = 4}};
  const auto meets = [](Event& sets, Event& awaits) -> Lazy<> {
    const Alive alive;
    sets.set();
    EXPECT_EQ(awaits.wait(), done);
    co_return;
  };
  auto future = spawn(pool, when_all(meets(ping, pong), meets(pong, ping)));
  ASSERT_TRUE(future);
  EXPECT_TRUE(future->get());
}

TEST_F(When, TheFirstErrorStopsTheOthersAndIsThrownWhenTheyHaveEnded) {
  Event never;
  Event go;
  std::atomic<int> ended = 0;
  std::jthread setter([&] {
    eventually([&] { return never.stats().waiting_consumers == 3; });
    go.set();
  });
  const auto error = error_of([&] {
    sync_wait(when_all(until_stopped(never, ended), fails_after(go, "the first"),
                       until_stopped(never, ended), fails_after(never, "a consequence")));
  });
  EXPECT_EQ(error, "the first");
  EXPECT_EQ(ended, 2);
}

TEST_F(When, AnErrorInAVectorStopsTheOthersToo) {
  Event never;
  std::atomic<int> ended = 0;
  const auto error = error_of([&] {
    sync_wait(
        when_all(all_of(until_stopped(never, ended), fails("one"), until_stopped(never, ended))));
  });
  EXPECT_EQ(error, "one");
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(error_of([&] { sync_wait(when_all(all_of(fails_void("void"), nothing()))); }), "void");
}

TEST_F(When, ALazyThatWasMovedFromIsAMistakeOfTheCaller) {
  auto lazy = gives(1);
  const auto other = std::move(lazy);
  EXPECT_THROW(sync_wait(when_all(std::move(lazy), gives(2))), std::logic_error);
}

TEST_F(When, TheAwaitersStopIsTheirsToo) {
  Event never;
  std::atomic<int> ended = 0;
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return never.stats().waiting_consumers == 2; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(when_all(until_stopped(never, ended), until_stopped(never, ended)),
                      stop.get_token()),
            std::tuple(0, 0));
  EXPECT_EQ(ended, 2);
}

TEST_F(When, UnderAStoppedAwaiterTheyAreStoppedFromTheStart) {
  Event never;
  std::atomic<int> ended = 0;
  std::stop_source stop;
  stop.request_stop();
  const auto each = [&] { return until_stopped(never, ended); };
  sync_wait(when_all(each(), each()), stop.get_token());
  sync_wait(when_any(each(), each()), stop.get_token());
  sync_wait(first_success(each(), each()), stop.get_token());
  sync_wait(collect(all_of(each(), each())), stop.get_token());
  EXPECT_EQ(ended, 8);
}

// -- collect ----------------------------------------------------------------------------------------

TEST_F(When, CollectGivesResultsAndErrorsAndStopsNobody) {
  Event go;
  std::jthread setter([&] {
    eventually([&] { return go.stats().waiting_consumers == 1; });
    go.set();
  });
  const auto results =
      sync_wait(collect(all_of(fails("no luck"), gives_after(go, 7), fails("none either"))));
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_EQ(what(results[0].error()), "no luck");
  EXPECT_EQ(results[1], 7);
  EXPECT_EQ(what(results[2].error()), "none either");
  const auto voids = sync_wait(collect(all_of(nothing(), fails_void("void"))));
  EXPECT_TRUE(voids[0]);
  EXPECT_EQ(what(voids[1].error()), "void");
}

TEST_F(When, CollectGivesWhatCanOnlyBeMoved) {
  auto results = sync_wait(
      collect(all_of(gives(std::make_unique<int>(1)), fails<std::unique_ptr<int>>("none"))));
  EXPECT_EQ(**results[0], 1);
  EXPECT_FALSE(results[1]);
}

// -- when_any ---------------------------------------------------------------------------------------

TEST_F(When, AnyGivesTheFirstAndStopsTheOthers) {
  Event never;
  std::atomic<int> ended = 0;
  const auto first = sync_wait(when_any(until_stopped(never, ended), gives(std::string("won")),
                                        until_stopped(never, ended)));
  ASSERT_EQ(first.index(), 1u);
  EXPECT_EQ(std::get<1>(first), "won");
  EXPECT_EQ(ended, 2) << "the losers have ended before it is over";
}

TEST_F(When, AnyOfAVectorSaysWhichItWas) {
  Event never;
  std::atomic<int> ended = 0;
  const auto first = sync_wait(
      when_any(all_of(until_stopped(never, ended), until_stopped(never, ended), gives(3))));
  EXPECT_EQ(first.index, 2u);
  EXPECT_EQ(first.result, 3);
  EXPECT_EQ(ended, 2);
}

TEST_F(When, AnyMayBeOfVoidAndOfWhatCanOnlyBeMoved) {
  Event never;
  std::atomic<int> ended = 0;
  EXPECT_EQ(sync_wait(when_any(until_stopped(never, ended), nothing())).index(), 1u);
  auto moved = sync_wait(when_any(all_of(gives(std::make_unique<int>(5)))));
  EXPECT_EQ(*moved.result, 5);
  EXPECT_EQ(sync_wait(when_any(all_of(nothing()))).index, 0u);
}

TEST_F(When, AnErrorMayBeTheFirst) {
  Event never;
  std::atomic<int> ended = 0;
  EXPECT_EQ(error_of([&] { sync_wait(when_any(until_stopped(never, ended), fails("no luck"))); }),
            "no luck");
  EXPECT_EQ(
      error_of([&] { sync_wait(when_any(all_of(fails("no luck"), until_stopped(never, ended)))); }),
      "no luck");
  EXPECT_EQ(ended, 2);
}

TEST_F(When, WhatALoserThrowsIsNotHeard) {
  Event never;
  EXPECT_EQ(sync_wait(when_any(fails_after(never, "late"), gives(1))),
            (std::variant<int, int>(std::in_place_index<1>, 1)));
}

TEST_F(When, AnyAndFirstSuccessOfNoneAreAMistakeOfTheCaller) {
  EXPECT_THROW(sync_wait(when_any(std::vector<Lazy<int>>())), std::invalid_argument);
  EXPECT_THROW(sync_wait(first_success(std::vector<Lazy<int>>())), std::invalid_argument);
}

// -- first_success ----------------------------------------------------------------------------------

TEST_F(When, FirstSuccessPassesErrorsBy) {
  Event never;
  std::atomic<int> ended = 0;
  const auto first = sync_wait(first_success(fails("one"), until_stopped(never, ended),
                                             fails("two"), gives(std::string("won"))));
  ASSERT_EQ(first.index(), 3u);
  EXPECT_EQ(std::get<3>(first), "won");
  EXPECT_EQ(ended, 1);
  const auto of_vector =
      sync_wait(first_success(all_of(fails("one"), gives(8), until_stopped(never, ended))));
  EXPECT_EQ(of_vector.index, 1u);
  EXPECT_EQ(of_vector.result, 8);
  EXPECT_EQ(ended, 2);
}

// Whoever has waited for it runs once the one thread there is has done with this.
Lazy<int> sets_and_fails(Event& event, std::string message) {
  event.set();
  throw std::runtime_error(message);
  co_return 0;
}

TEST_F(When, WithoutASuccessTheLastErrorIsThrown) {
  Event go;
  EXPECT_EQ(error_of([&] {
              sync_wait(first_success(fails_after(go, "the last"), fails("one"),
                                      sets_and_fails(go, "two")));
            }),
            "the last");
  EXPECT_EQ(error_of([&] { sync_wait(first_success(all_of(fails_void("only")))); }), "only");
}

// -- sleep ------------------------------------------------------------------------------------------

Lazy<Result> sleeps(Duration time) {
  const Alive alive;
  co_return co_await sleep_for(time);
}

TEST_F(Timed, SleepEndsWhenItsTimeHasCome) {
  ManualClock clock;
  {
    ManualExecutor executor;
    Begun<Result> sleeper(executor, sleeps(1min));
    EXPECT_FALSE(sleeper.is_done());
    clock.advance(59s);
    EXPECT_EQ(executor.run(), 0u);
    clock.advance(1s);
    eventually([&] { return executor.ready() == 1; });
    executor.run();
    ASSERT_TRUE(sleeper.is_done());
    EXPECT_EQ(sleeper.result(), done);
  }
}

TEST_F(Timed, SleepForNoTimeDoesNotWait) {
  EXPECT_EQ(sync_wait(sleeps(0ms)), done);
  EXPECT_EQ(sync_wait(sleeps(-1s)), done);
}

TEST_F(Timed, SleepEndsWhenItIsStopped) {
  ManualExecutor executor;
  std::stop_source stop;
  Begun<Result> sleeper(executor, sleeps(Duration::max()), stop.get_token());
  Begun<Result> another(executor, sleeps(1h), stop.get_token());
  EXPECT_EQ(executor.run(), 0u);
  stop.request_stop();
  EXPECT_EQ(executor.run(), 2u);
  EXPECT_EQ(sleeper.result(), stopped);
  EXPECT_EQ(another.result(), stopped);
  EXPECT_EQ(sync_wait(sleeps(0ms), stop.get_token()), stopped) << "a stop comes first";
}

// -- with_timeout -----------------------------------------------------------------------------------

TEST_F(Timed, WithinTheTimeTheResultComesOut) {
  EXPECT_EQ(sync_wait(with_timeout(1h, gives(5))), 5);
  EXPECT_EQ(sync_wait(with_timeout(1h, nothing())), done);
  EXPECT_EQ(**sync_wait(with_timeout(1h, gives(std::make_unique<int>(6)))), 6);
  EXPECT_EQ(error_of([&] { static_cast<void>(sync_wait(with_timeout(1h, fails("no luck")))); }),
            "no luck");
}

TEST_F(Timed, AnExpectedOfRefusalIsNotNested) {
  BlockingQueue<int> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.offer(3));
  static_assert(std::is_same_v<decltype(with_timeout(1h, takes(queue))), Lazy<Item>>);
  EXPECT_EQ(sync_wait(with_timeout(1h, takes(queue))), 3);
  queue.close();
  EXPECT_EQ(sync_wait(with_timeout(1h, takes(queue))), std::unexpected(Refusal::closed));
}

TEST_F(Timed, AfterTheTimeItIsStoppedAndSaysTimedOut) {
  ManualClock clock;
  {
    ManualExecutor executor;
    BlockingQueue<int> queue{{.capacity = 1}};
    Event never;
    std::atomic<int> ended = 0;
    Begun<Item> refusable(executor, with_timeout(1min, takes(queue)));
    Begun<Item> value(executor, with_timeout(1min, until_stopped(never, ended)));
    executor.run();
    clock.advance(59s);
    EXPECT_EQ(executor.run(), 0u);
    clock.advance(1s);
    eventually([&] {
      executor.run();
      return refusable.is_done() && value.is_done();
    });
    EXPECT_EQ(refusable.result(), std::unexpected(Refusal::timed_out));
    EXPECT_EQ(value.result(), std::unexpected(Refusal::timed_out));
    EXPECT_EQ(ended, 1);
  }
}

TEST_F(Timed, ATimeThatHasPassedStopsItAtOnce) {
  Event never;
  EXPECT_EQ(sync_wait(with_timeout(0ms, waits_for(never))), timed_out);
  EXPECT_EQ(sync_wait(with_timeout(-1h, waits_for(never))), timed_out);
}

TEST_F(Timed, ItWaitsForOneThatDoesNotHeedItsStop) {
  ManualClock clock;
  {
    ManualExecutor executor;
    Event go;
    Begun<Item> call(executor, with_timeout(1min, deaf(go, 4)));
    executor.run();
    clock.advance(1min);
    eventually([&] { return detail::TimerService::shared().armed() == 0; });
    executor.run();
    EXPECT_FALSE(call.is_done());
    go.set();
    eventually([&] {
      executor.run();
      return call.is_done();
    });
    EXPECT_EQ(call.result(), std::unexpected(Refusal::timed_out)) << "it has not ended in time";
  }
}

TEST_F(Timed, AStopOfTheAwaiterIsNoTimeout) {
  ManualExecutor executor;
  BlockingQueue<int> queue{{.capacity = 1}};
  std::stop_source stop;
  Begun<Item> call(executor, with_timeout(1h, takes(queue)), stop.get_token());
  executor.run();
  stop.request_stop();
  executor.run();
  EXPECT_EQ(call.result(), std::unexpected(Refusal::stopped));
}

TEST_F(Timed, AStopThatCameFirstIsNoTimeoutThoughTheTimeIsUpBeforeItHasEnded) {
  ManualClock clock;
  {
    ManualExecutor executor;
    BlockingQueue<int> queue{{.capacity = 1}};
    std::stop_source stop;
    Begun<Item> call(executor, with_timeout(1min, takes(queue)), stop.get_token());
    executor.run();
    stop.request_stop();
    clock.advance(1min);
    eventually([&] { return detail::TimerService::shared().armed() == 0; });
    executor.run();
    EXPECT_EQ(call.result(), std::unexpected(Refusal::stopped));
  }
}

// The item was given to it before the time was up; it hears of both at once.
TEST_F(Timed, AnItemTakenAtTheLastMomentComesOut) {
  ManualClock clock;
  {
    ManualExecutor executor;
    BlockingQueue<int> queue{{.capacity = 1}};
    Begun<Item> call(executor, with_timeout(1min, takes(queue)));
    executor.run();
    ASSERT_TRUE(queue.offer(9));
    clock.advance(1min);
    eventually([&] { return detail::TimerService::shared().armed() == 0; });
    executor.run();
    ASSERT_TRUE(call.is_done());
    const auto item = call.result();
    const auto left = queue.poll();
    EXPECT_TRUE(item.has_value() != left.has_value());
    EXPECT_EQ(item ? *item : *left, 9);
  }
}

Lazy<> lets_time_pass_after(Event& event, ManualClock& clock) {
  static_cast<void>(co_await event.async_wait());
  clock.advance(1min);
  eventually([&] { return detail::TimerService::shared().armed() == 0; });
}

// It ended in time, but its awaiter goes on only later: every worker was busy, say.
TEST_F(Timed, WhatEndedInTimeIsNotTimedOutThoughItsAwaiterIsLate) {
  ManualClock clock;
  {
    ManualExecutor executor;
    Event go;
    Begun<Item> call(executor, with_timeout(1min, gives_after(go, 5)));
    executor.run();
    Begun<void> before_the_awaiter(executor, lets_time_pass_after(go, clock));
    go.set();
    EXPECT_EQ(executor.run(), 3u) << "the one that ends, the one that takes long, the awaiter";
    ASSERT_TRUE(call.is_done());
    EXPECT_EQ(call.result(), 5);
  }
}

// -- shield -----------------------------------------------------------------------------------------

TEST_F(Timed, AShieldWithoutAStopChangesNothing) {
  EXPECT_EQ(sync_wait(shield(1h, gives(5))), 5);
  sync_wait(shield(1h, nothing()));
  EXPECT_EQ(*sync_wait(shield(1h, gives(std::make_unique<int>(6)))), 6);
  EXPECT_EQ(error_of([&] { sync_wait(shield(1h, fails_void("no luck"))); }), "no luck");
}

TEST_F(Timed, AShieldedOneGoesOnThoughItsAwaiterIsStopped) {
  ManualExecutor executor;
  Event go;
  std::stop_source stop;
  Begun<Result> call(executor, shield(1h, waits_for(go)), stop.get_token());
  executor.run();
  stop.request_stop();
  EXPECT_EQ(executor.run(), 0u);
  go.set();
  executor.run();
  EXPECT_EQ(call.result(), done);

  Event later;
  Begun<Result> stopped_before(executor, shield(1h, waits_for(later)), stop.get_token());
  EXPECT_GT(executor.run(), 0u);
  EXPECT_FALSE(stopped_before.is_done());
  later.set();
  executor.run();
  EXPECT_EQ(stopped_before.result(), done);
}

TEST_F(Timed, AfterItsTimeAShieldedOneIsStoppedToo) {
  ManualClock clock;
  {
    ManualExecutor executor;
    Event never;
    std::stop_source stop;
    Begun<Result> call(executor, shield(1min, waits_for(never)), stop.get_token());
    executor.run();
    clock.advance(1h);
    EXPECT_EQ(executor.run(), 0u) << "its time begins with the stop";
    stop.request_stop();
    clock.advance(59s);
    EXPECT_EQ(executor.run(), 0u);
    clock.advance(1s);
    eventually([&] {
      executor.run();
      return call.is_done();
    });
    EXPECT_EQ(call.result(), stopped);
  }
}

TEST_F(Timed, AShieldForNoTimeShieldsFromNothing) {
  Event never;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sync_wait(shield(0ms, waits_for(never)), stop.get_token()), stopped);
}

TEST_F(Timed, AShieldedOneInAScopeIsWaitedFor) {
  Event go;
  std::atomic<bool> is_saved = false;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  const auto saves = [](Event& event, std::atomic<bool>& result) -> Lazy<> {
    const auto waited = co_await shield(1h, waits_for(event));
    result = waited == done;
  };
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, saves(go, is_saved)));
  eventually([&] { return go.stats().waiting_consumers == 1; });
  scope.request_stop();
  EXPECT_EQ(scope.join({.deadline = now()}), timed_out);
  go.set();
  EXPECT_EQ(scope.join(), done);
  EXPECT_TRUE(is_saved);
}

// -- Inside each other ------------------------------------------------------------------------------

TEST_F(Timed, AllOfTimeoutsOfAnys) {
  ManualClock clock;
  {
    Event never;
    std::atomic<int> ended = 0;
    WorkerPool pool{{.workers = 2, .capacity = 4}};
    const auto races = [](Event& event, std::atomic<int>& count,
                          bool somebody_wins) -> Lazy<std::size_t> {
      std::vector<Lazy<int>> lazies;
      for (int i = 0; i < 3; ++i) lazies.push_back(until_stopped(event, count));
      if (somebody_wins) lazies.push_back(gives(1));
      const auto first = co_await when_any(std::move(lazies));
      co_return first.index;
    };
    auto future = spawn(pool, when_all(with_timeout(1min, races(never, ended, false)),
                                       with_timeout(2min, races(never, ended, true)),
                                       with_timeout(1min, races(never, ended, false))));
    ASSERT_TRUE(future);
    eventually([&] { return ended == 3 && never.stats().waiting_consumers == 6; });
    clock.advance(1min);
    auto results = future->get();
    ASSERT_TRUE(results);
    using Race = std::expected<std::size_t, Refusal>;
    const auto& [first, second, third] = *results;
    EXPECT_EQ(first, Race(std::unexpected(Refusal::timed_out)));
    EXPECT_EQ(second, Race(3));
    EXPECT_EQ(third, Race(std::unexpected(Refusal::timed_out)));
    EXPECT_EQ(ended, 9);
  }
}

TEST_F(Timed, TheInnerTimeoutIsItsOwn) {
  ManualClock clock;
  {
    ManualExecutor executor;
    Event never;
    Begun<Result> inner_first(executor, with_timeout(2min, with_timeout(1min, waits_for(never))));
    executor.run();
    clock.advance(1min);
    eventually([&] {
      executor.run();
      return inner_first.is_done();
    });
    EXPECT_EQ(inner_first.result(), timed_out);
    Begun<Result> outer_first(executor, with_timeout(1min, with_timeout(2min, waits_for(never))));
    executor.run();
    clock.advance(1min);
    eventually([&] {
      executor.run();
      return outer_first.is_done();
    });
    EXPECT_EQ(outer_first.result(), timed_out);
  }
}

TEST_F(Timed, AnErrorDeepInsideStopsEverybodyOutside) {
  Event never;
  std::atomic<int> ended = 0;
  const auto error = error_of([&] {
    sync_wait(when_all(
        until_stopped(never, ended),
        when_all(until_stopped(never, ended),
                 when_all(until_stopped(never, ended), with_timeout(1h, fails("deep inside"))))));
  });
  EXPECT_EQ(error, "deep inside");
  EXPECT_EQ(ended, 3);
}

TEST_F(When, AScopeInsideALoserEndsBeforeTheWinnerIsHeardOf) {
  Event never;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 4}};
  const auto has_a_scope = [](Event& event, std::atomic<int>& count) -> Lazy<int> {
    const Alive alive;
    Scope scope;
    const auto child = [](Event& each, std::atomic<int>& ends) -> Lazy<> {
      static_cast<void>(co_await until_stopped(each, ends));
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(scope.spawn(child(event, count)));
    const auto joined = co_await scope.async_join();
    EXPECT_EQ(joined, stopped);
    co_return 0;
  };
  const auto wins = [](Event& event) -> Lazy<int> {
    while (event.stats().waiting_consumers < 3) co_await sleep_for(100us);
    co_return 1;
  };
  auto future = spawn(pool, when_any(has_a_scope(never, ended), wins(never)));
  ASSERT_TRUE(future);
  const auto first = future->get();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->index(), 1u);
  EXPECT_EQ(ended, 3);
}

TEST_F(When, WaitsShowsWhoAwaitsWhomThroughTheGroup) {
  Event go{{.name = "the start"}};
  WorkerPool pool{{.workers = 1, .capacity = 4, .name = "crew"}};
  Scope scope{{.name = "race"}};
  const auto parent = [](Event& event) -> Lazy<> {
    static_cast<void>(co_await when_all(waits_for(event), waits_for(event)));
  };
  ASSERT_TRUE(scope.spawn(pool, parent(go)));
  eventually([&] { return go.stats().waiting_consumers == 2; });
  int seen = 0;
  for (const WaitInfo& each : waits()) {
    if (each.name != "the start") continue;
    ++seen;
    EXPECT_EQ(each.thread, "crew");
    EXPECT_EQ(each.scope, "race");
    // The wait, the member, when_all, its awaiter, the spawn.
    EXPECT_GE(each.awaited_by.size(), 4u);
  }
  EXPECT_EQ(seen, 2);
  go.set();
  EXPECT_EQ(scope.join(), done);
}

// -- Races ------------------------------------------------------------------------------------------

// What is put is taken, or in the queue still, however close the time-outs come.
TEST_F(Timed, TimedTakersLoseNoItem) {
  BlockingQueue<int> queue{{.capacity = 4}};
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  constexpr int items = 3000;
  std::atomic<int> taken = 0;
  std::atomic<int> sum = 0;
  const auto taker = [](BlockingQueue<int>& from, std::atomic<int>& count,
                        std::atomic<int>& total) -> Lazy<> {
    const Alive alive;
    for (int i = 0;; ++i) {
      const auto item = co_await with_timeout(std::chrono::microseconds(i % 40), takes(from));
      if (item) {
        ++count;
        total += *item;
      } else if (item.error() != Refusal::timed_out) {
        EXPECT_EQ(item.error(), Refusal::closed);
        break;
      }
    }
  };
  Scope scope;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(scope.spawn(pool, taker(queue, taken, sum)));
  for (int i = 1; i <= items; ++i) {
    int item = i;
    ASSERT_TRUE(queue.put(std::move(item)));
  }
  queue.close();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(taken, items);
  EXPECT_EQ(sum, items * (items + 1) / 2);
}

TEST_F(Timed, TimedPuttersLoseNoItem) {
  BlockingQueue<int> queue{{.capacity = 1}};
  std::atomic<int> put = 0;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  const auto puts = [](BlockingQueue<int>& into, int item) -> Lazy<Result> {
    const Alive alive;
    co_return co_await into.async_put(std::move(item));
  };
  const auto putter = [](BlockingQueue<int>& into, std::atomic<int>& count,
                         auto puts_one) -> Lazy<> {
    for (int i = 0; i < 700; ++i) {
      const auto result =
          co_await with_timeout(std::chrono::microseconds(i % 40), puts_one(into, i));
      if (result) {
        ++count;
      } else {
        EXPECT_EQ(result, timed_out);
      }
    }
  };
  int taken = 0;
  std::jthread taker([&] {
    while (queue.take()) ++taken;
  });
  Scope scope;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scope.spawn(pool, putter(queue, put, puts)));
  EXPECT_EQ(scope.join(), done);
  queue.close();
  taker.join();
  EXPECT_EQ(taken, put);
}

// The result, the time and the awaiter's stop come at the same moment.
TEST_F(Timed, AllWaysToEndAtOnce) {
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  for (int round = 0; round < 400; ++round) {
    Event go;
    BlockingQueue<int> queue{{.capacity = 4}};
    std::atomic<int> taken = 0;
    const auto once = [](Event& event, BlockingQueue<int>& from, std::atomic<int>& count,
                         int time) -> Lazy<> {
      const Alive alive;
      const auto both =
          co_await when_all(with_timeout(std::chrono::microseconds(time), takes(from)),
                            shield(std::chrono::microseconds(time), waits_for(event)),
                            when_any(waits_for(event), sleeps(std::chrono::microseconds(time))));
      if (std::get<0>(both)) ++count;
    };
    std::stop_source stop;
    Scope scope(stop.get_token());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(scope.spawn(pool, once(go, queue, taken, round % 60)));
    {
      std::jthread stopper([&] { stop.request_stop(); });
      std::jthread setter([&] { go.set(); });
      for (int i = 0; i < 3; ++i) {
        int item = i;
        ASSERT_TRUE(queue.offer(std::move(item)));
      }
    }
    static_cast<void>(scope.join());
    ASSERT_EQ(Alive::count, 0);
    int left = 0;
    while (queue.poll()) ++left;
    ASSERT_EQ(taken + left, 3);
  }
}

TEST_F(When, ManyRacesOnAPool) {
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  const auto races = [](std::atomic<int>& count) -> Lazy<int> {
    const Alive alive;
    Event never;
    int won = 0;
    for (int i = 0; i < 150; ++i) {
      // Named: GCC 12 frees what a co_await expression makes twice.
      auto race = when_any(until_stopped(never, count), gives(i), until_stopped(never, count));
      const auto first = co_await std::move(race);
      won += first.index() == 1 && std::get<1>(first) == i;
    }
    co_return won;
  };
  std::vector<Lazy<int>> lazies;
  for (int i = 0; i < 8; ++i) lazies.push_back(races(ended));
  auto future = spawn(pool, when_all(std::move(lazies)));
  ASSERT_TRUE(future);
  const auto won = future->get();
  ASSERT_TRUE(won);
  for (const int each : *won) EXPECT_EQ(each, 150);
  EXPECT_EQ(ended, 8 * 150 * 2);
}

TEST_F(When, ThousandsAtOnceOnAPool) {
  Event go;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  std::vector<Lazy<Result>> lazies;
  for (int i = 0; i < 5000; ++i) lazies.push_back(waits_for(go));
  auto future = spawn(pool, when_all(std::move(lazies)));
  ASSERT_TRUE(future);
  eventually([&] { return go.stats().waiting_consumers == 5000; });
  go.set();
  const auto results = future->get();
  ASSERT_TRUE(results);
  EXPECT_THAT(*results, ::testing::Each(done));
}

}  // namespace
}  // namespace handoff
