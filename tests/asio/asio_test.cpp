#include "handoff/asio.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <expected>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"
#include "handoff/when.hpp"

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using asio::awaitable;
using asio::use_awaitable;
using handoff::BlockingQueue;
using handoff::in_asio;
using handoff::Lazy;
using handoff::Refusal;
using handoff::WorkerPool;
using handoff::testing::eventually;

// What a coroutine throws comes out of run().
const auto or_throw = [](const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
};

// Returns when it has run out of work.
void run(asio::io_context& io, int threads = 1) {
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([&] { io.run(); });
  io.run();
}

class AsioThreads : public testing::TestWithParam<int> {
 protected:
  template <typename Coroutine>
  void spawn(Coroutine coroutine) {
    asio::co_spawn(strand, std::move(coroutine), or_throw);
  }
  void run() { ::run(io, GetParam()); }

  asio::io_context io;
  asio::strand<asio::io_context::executor_type> strand = asio::make_strand(io);
};
INSTANTIATE_TEST_SUITE_P(Threads, AsioThreads, testing::Values(1, 2));

std::vector<int> numbers_up_to(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

awaitable<void> take_all(BlockingQueue<int>& queue, std::vector<int>& taken) {
  while (auto item = co_await in_asio(queue.async_take())) taken.push_back(*item);
}

awaitable<void> put_all(BlockingQueue<int>& queue, int count) {
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(co_await in_asio(queue.async_put(std::move(i))));
  }
  queue.close();
}

// -- Threads, pools and Asio at the ends of a queue -----------------------------------------------

TEST_P(AsioThreads, ACoroutineTakesWhatAThreadPuts) {
  BlockingQueue<int> queue{{.capacity = 4}};
  std::vector<int> taken;
  spawn(take_all(queue, taken));
  std::jthread producer([&] {
    for (int i = 0; i < 2000; ++i) EXPECT_TRUE(queue.put(std::move(i)));
    queue.close();
  });

  run();
  EXPECT_EQ(taken, numbers_up_to(2000));
}

TEST_P(AsioThreads, ACoroutinePutsWhatAThreadTakes) {
  BlockingQueue<int> queue{{.capacity = 1}};
  std::vector<int> taken;
  spawn(put_all(queue, 2000));
  std::jthread consumer([&] {
    while (auto item = queue.take()) taken.push_back(*item);
  });

  run();
  consumer.join();
  EXPECT_EQ(taken, numbers_up_to(2000));
}

TEST_P(AsioThreads, ACoroutineTakesWhatAHandoffCoroutinePuts) {
  BlockingQueue<int> queue{{.capacity = 2}};
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  const auto produce = [](BlockingQueue<int>& to) -> Lazy<> {
    for (int i = 0; i < 2000; ++i) EXPECT_TRUE(co_await to.async_put(std::move(i)));
    to.close();
  };
  std::vector<int> taken;
  spawn(take_all(queue, taken));
  ASSERT_TRUE(handoff::spawn(pool, produce(queue)));

  run();
  EXPECT_EQ(taken, numbers_up_to(2000));
}

TEST_P(AsioThreads, ACoroutinePutsWhatAHandoffCoroutineTakes) {
  BlockingQueue<int> queue{{.capacity = 2}};
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  const auto consume = [](BlockingQueue<int>& from) -> Lazy<int> {
    int sum = 0;
    while (auto item = co_await from.async_take()) sum += *item;
    co_return sum;
  };
  auto sum = handoff::spawn(pool, consume(queue));
  spawn(put_all(queue, 2000));

  run();
  EXPECT_EQ(sum->get(), 1999 * 2000 / 2);
}

TEST_P(AsioThreads, ManyCoroutinesShareAQueueWithoutAStrand) {
  BlockingQueue<int> queue{{.capacity = 4}};
  std::atomic<int> sum = 0;
  for (int taker = 0; taker < 8; ++taker) {
    const auto add = [&]() -> awaitable<void> {
      while (auto item = co_await in_asio(queue.async_take())) sum += *item;
    };
    asio::co_spawn(io, add, or_throw);
  }
  asio::co_spawn(io, put_all(queue, 2000), or_throw);

  run();
  EXPECT_EQ(sum, 1999 * 2000 / 2);
}

TEST_P(AsioThreads, GoesOnOnItsExecutor) {
  BlockingQueue<int> queue{{.capacity = 1}};
  bool was_there = false;
  spawn([&]() -> awaitable<void> {
    EXPECT_TRUE(co_await in_asio(queue.async_take()));
    was_there = strand.running_in_this_thread();
  });
  std::jthread producer([&] {
    eventually([&] { return queue.stats().waiting_consumers == 1; });
    EXPECT_TRUE(queue.put(1));
  });

  run();
  EXPECT_TRUE(was_there);
}

// -- What can be awaited --------------------------------------------------------------------------

Lazy<std::string> greeting(std::string name) { co_return "hello " + name; }
Lazy<int> failing() {
  throw std::runtime_error("no luck");
  co_return 1;
}
Lazy<std::unique_ptr<int>> owned(int value) { co_return std::make_unique<int>(value); }

// Runs the coroutine to its end, and io_context out of work.
template <typename Coroutine>
void run_alone(Coroutine coroutine) {
  asio::io_context io;
  asio::co_spawn(io, std::move(coroutine), or_throw);
  io.run();
  EXPECT_TRUE(io.stopped());
}

TEST(InAsio, ALazyGivesItsValue) {
  std::string text;
  run_alone([&]() -> awaitable<void> {
    text = co_await in_asio(greeting("a name too long for the string itself"));
  });
  EXPECT_EQ(text, "hello a name too long for the string itself");
}

TEST(InAsio, ALazyGivesAValueThatCanOnlyBeMoved) {
  run_alone([]() -> awaitable<void> {
    auto value = co_await in_asio(owned(7));
    EXPECT_EQ(*value, 7);
  });
}

TEST(InAsio, ALazyGivesAValueThatHasNoDefault) {
  struct Price {
    explicit Price(int amount) : cents(amount) {}
    int cents;
  };
  const auto price = [](bool fails) -> Lazy<Price> {
    if (fails) throw std::runtime_error("no price");
    co_return Price(5);
  };
  run_alone([&]() -> awaitable<void> {
    EXPECT_EQ((co_await in_asio(price(false))).cents, 5);
    bool has_thrown = false;
    try {
      static_cast<void>(co_await in_asio(price(true)));
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    EXPECT_TRUE(has_thrown);
  });
}

TEST(InAsio, ALazyThrowsInTheAwaitable) {
  std::string message;
  run_alone([&]() -> awaitable<void> {
    try {
      static_cast<void>(co_await in_asio(failing()));
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
  });
  EXPECT_EQ(message, "no luck");
}

TEST(InAsio, WhatTheHandlerThrowsComesOutOfRun) {
  const auto fail = []() -> awaitable<void> { static_cast<void>(co_await in_asio(failing())); };
  EXPECT_THROW(run_alone(fail), std::runtime_error);
}

Lazy<std::expected<int, Refusal>> take_lazily(BlockingQueue<int>& queue) {
  co_return co_await queue.async_take();
}

TEST_P(AsioThreads, CoroutinesThatRunAtTheSameTimeDoSoOnItsExecutor) {
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto sum_of_two = [](BlockingQueue<int>& from) -> Lazy<int> {
    const auto [one, other] = co_await handoff::when_all(take_lazily(from), take_lazily(from));
    co_return *one + *other;
  };
  int sum = 0;
  asio::co_spawn(
      io,
      [&]() -> awaitable<void> {
        for (int i = 0; i < 200; ++i) sum += co_await in_asio(sum_of_two(queue));
      },
      or_throw);
  std::jthread producer([&] {
    for (int i = 0; i < 400; ++i) EXPECT_TRUE(queue.put(1));
  });

  run();
  EXPECT_EQ(sum, 400);
}

TEST(InAsio, AFutureGivesItsResult) {
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  run_alone([&]() -> awaitable<void> {
    auto future = pool.submit([] { return 42; });
    EXPECT_EQ((co_await in_asio(*future)).value(), 42);
    auto other = pool.submit([] { return 43; });
    EXPECT_EQ((co_await in_asio(std::move(*other))).value(), 43);
  });
}

TEST(InAsio, APermitIsHeldByTheAwaitable) {
  handoff::Semaphore semaphore{{.permits = 1}};
  run_alone([&]() -> awaitable<void> {
    auto permit = co_await in_asio(semaphore.async_hold());
    EXPECT_TRUE(permit);
    EXPECT_FALSE(semaphore.try_acquire());
  });
  EXPECT_TRUE(semaphore.try_acquire());
}

TEST(InAsio, ADeadlineEndsTheWait) {
  BlockingQueue<int> queue{{.capacity = 1}};
  run_alone([&]() -> awaitable<void> {
    EXPECT_EQ((co_await in_asio(queue.async_poll(1ms))).error(), Refusal::timed_out);
  });
}

TEST(InAsio, ItemsThatOwnSomethingAreFreedOnce) {
  BlockingQueue<std::string> queue{{.capacity = 1}};
  const std::string text(100, 'x');
  run_alone([&]() -> awaitable<void> {
    EXPECT_TRUE(co_await in_asio(queue.async_put(std::string(text))));
    auto item = co_await in_asio(queue.async_take());
    EXPECT_EQ(item, text);
    EXPECT_EQ((co_await in_asio(greeting(std::string(text)))).size(), 106U);
  });
}

TEST(InAsio, AnAwaitableThatIsNeverAwaitedDoesNothing) {
  BlockingQueue<int> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(1));
  {
    [[maybe_unused]] awaitable<std::expected<int, Refusal>> dropped = in_asio(queue.async_take());
  }
  EXPECT_EQ(queue.size(), 1U);
}

// -- Other completion tokens ----------------------------------------------------------------------

TEST(InAsio, CallsACallback) {
  asio::io_context io;
  std::string text;
  auto callback = [&](const std::exception_ptr& error, std::string value) {
    EXPECT_FALSE(error);
    text = std::move(value);
  };
  in_asio(greeting("you"), asio::bind_executor(io, callback));
  EXPECT_EQ(text, "");  // Never from inside.

  io.run();
  EXPECT_EQ(text, "hello you");
}

TEST(InAsio, CallsACallbackWithTheException) {
  asio::io_context io;
  std::exception_ptr seen;
  auto callback = [&](const std::exception_ptr& error, int) { seen = error; };
  in_asio(failing(), asio::bind_executor(io, callback));

  io.run();
  EXPECT_THROW(std::rethrow_exception(seen), std::runtime_error);
}

TEST(InAsio, FillsAStandardFuture) {
  asio::thread_pool threads(1);
  auto value = in_asio(owned(3), asio::bind_executor(threads, asio::use_future));
  auto failed = in_asio(failing(), asio::bind_executor(threads, asio::use_future));
  EXPECT_EQ(*value.get(), 3);
  EXPECT_THROW(failed.get(), std::runtime_error);
}

TEST(InAsio, WithoutAnExecutorRunsOnTheSystems) {
  EXPECT_EQ(in_asio(greeting("all"), asio::use_future).get(), "hello all");
}

TEST(InAsio, AnOperationIsMadeByAFunctionForOtherTokens) {
  asio::io_context io;
  BlockingQueue<int> queue{{.capacity = 1}};
  auto item =
      in_asio([&] { return queue.async_take(); }, asio::bind_executor(io, asio::use_future));
  std::jthread producer([&] {
    eventually([&] { return queue.stats().waiting_consumers == 1; });
    EXPECT_TRUE(queue.put(5));
  });

  io.run();
  EXPECT_EQ(item.get(), 5);
}

TEST(InAsio, AFunctionIsKeptAsLongAsItsCoroutine) {
  asio::io_context io;
  BlockingQueue<int> queue{{.capacity = 1}};
  std::future<std::string> text;
  {
    auto work = [&queue, name = std::string(100, 'n')]() -> Lazy<std::string> {
      const auto item = co_await queue.async_take();
      co_return name + std::to_string(*item);
    };
    text = in_asio(work, asio::bind_executor(io, asio::use_future));
  }
  io.poll();
  ASSERT_TRUE(queue.put(1));
  io.run();
  EXPECT_EQ(text.get(), std::string(100, 'n') + "1");
}

TEST(InAsio, GivesATuple) {
  run_alone([]() -> awaitable<void> {
    auto [error, value] = co_await in_asio(failing(), asio::as_tuple(use_awaitable));
    EXPECT_TRUE(error);
    EXPECT_EQ(value, 0);
  });
}

// -- Outstanding work -----------------------------------------------------------------------------

TEST(InAsio, TheContextHasWorkUntilTheWaitIsOver) {
  BlockingQueue<int> queue{{.capacity = 1}};
  asio::io_context io;
  std::vector<int> taken;
  asio::co_spawn(io, take_all(queue, taken), or_throw);
  io.poll();
  EXPECT_EQ(queue.stats().waiting_consumers, 1U);
  EXPECT_FALSE(io.stopped());  // poll() stops it when there is no work left.

  queue.close();
  io.poll();
  EXPECT_TRUE(io.stopped());
}

TEST(InAsio, WaitsAreShown) {
  BlockingQueue<int> queue{{.capacity = 1, .name = "orders"}};
  asio::io_context io;
  std::vector<int> taken;
  asio::co_spawn(io, take_all(queue, taken), or_throw);
  io.poll();

  const auto waits = handoff::waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].thread, "asio");
  queue.close();
  io.run();
}

// -- Cancellation ---------------------------------------------------------------------------------

using Taken = std::optional<std::expected<int, Refusal>>;

awaitable<void> take_one(BlockingQueue<int>& queue, Taken& taken) {
  taken = co_await in_asio(queue.async_take());
}

class CancellationTypes : public testing::TestWithParam<asio::cancellation_type> {};
INSTANTIATE_TEST_SUITE_P(InAsio, CancellationTypes,
                         testing::Values(asio::cancellation_type::terminal,
                                         asio::cancellation_type::partial,
                                         asio::cancellation_type::total));

TEST_P(CancellationTypes, EndATakeWithStopped) {
  BlockingQueue<int> queue{{.capacity = 1}};
  asio::io_context io;
  asio::cancellation_signal signal;
  Taken taken;
  auto callback = [&](const std::exception_ptr&, std::expected<int, Refusal> item) {
    taken = item;
  };
  in_asio([&] { return queue.async_take(); },
          asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, callback)));
  io.poll();
  EXPECT_FALSE(taken);

  signal.emit(GetParam());
  EXPECT_FALSE(taken);  // Never from inside.
  io.run();
  EXPECT_EQ(taken->error(), Refusal::stopped);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(queue.size(), 1U);
}

TEST(InAsioCancelled, ASpawnedCoroutineIsStopped) {
  BlockingQueue<int> queue{{.capacity = 1}};
  asio::io_context io;
  asio::cancellation_signal signal;
  Taken taken;
  asio::co_spawn(io, take_one(queue, taken), asio::bind_cancellation_slot(signal.slot(), or_throw));
  io.poll();

  signal.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_EQ(taken->error(), Refusal::stopped);
}

TEST(InAsioCancelled, AnItemIsGivenOrStaysInTheQueue) {
  BlockingQueue<int> queue{{.capacity = 1}};
  asio::io_context io;
  asio::cancellation_signal signal;
  Taken taken;
  asio::co_spawn(io, take_one(queue, taken), asio::bind_cancellation_slot(signal.slot(), or_throw));
  io.poll();

  ASSERT_TRUE(queue.put(1));
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_EQ(taken->has_value() ? 1U : 0U, 1U - queue.size());
}

TEST(InAsioCancelled, ALazyReturnsWhatItLikes) {
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto work = [](BlockingQueue<int>& from) -> Lazy<std::string> {
    const auto item = co_await from.async_take();
    const auto stop = co_await handoff::current_stop();
    co_return item || !stop.stop_requested() ? "went on" : "was stopped";
  };
  asio::io_context io;
  asio::cancellation_signal signal;
  std::string end;
  const auto await = [&]() -> awaitable<void> { end = co_await in_asio(work(queue)); };
  asio::co_spawn(io, await, asio::bind_cancellation_slot(signal.slot(), or_throw));
  io.poll();

  signal.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_EQ(end, "was stopped");
}

TEST(InAsioCancelled, LaterThanItsEndDoesNothing) {
  BlockingQueue<int> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(1));
  asio::io_context io;
  asio::cancellation_signal signal;
  Taken taken;
  asio::co_spawn(io, take_one(queue, taken), asio::bind_cancellation_slot(signal.slot(), or_throw));
  io.run();

  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(taken->value(), 1);
}

TEST_P(AsioThreads, ATimerThatWinsStopsTheTake) {
  BlockingQueue<int> queue{{.capacity = 1}};
  std::size_t winner = 9;
  spawn([&]() -> awaitable<void> {
    asio::steady_timer timer(strand, asio::steady_timer::time_point::min());
    auto first = co_await (in_asio(queue.async_take()) || timer.async_wait(use_awaitable));
    winner = first.index();
  });

  run();
  EXPECT_EQ(winner, 1U);
  EXPECT_EQ(queue.stats().waiting_consumers, 0U);
}

TEST_P(AsioThreads, ATakeThatWinsStopsTheTimer) {
  BlockingQueue<int> queue{{.capacity = 1}};
  std::optional<int> item;
  spawn([&]() -> awaitable<void> {
    asio::steady_timer timer(strand, asio::steady_timer::time_point::max());
    auto first = co_await (in_asio(queue.async_take()) || timer.async_wait(use_awaitable));
    if (first.index() == 0) item = std::get<0>(first).value();
  });
  std::jthread producer([&] { EXPECT_TRUE(queue.put(5)); });

  run();
  EXPECT_EQ(item, 5);
}

// A few steps of the loop, so that the cancellation comes before, in and after the operation.
awaitable<void> pass_time(int steps) {
  for (int i = 0; i < steps; ++i) co_await asio::post(use_awaitable);
}

TEST_P(AsioThreads, EveryItemIsTakenOnceOrStaysWhenTakesAreCancelled) {
  constexpr int items = 1000;
  BlockingQueue<int> queue{{.capacity = 4}};
  std::vector<int> all;
  spawn([&]() -> awaitable<void> {
    for (int round = 0; all.size() < items; ++round) {
      asio::cancellation_signal signal;
      Taken taken;
      bool is_done = false;
      asio::co_spawn(strand, take_one(queue, taken),
                     asio::bind_cancellation_slot(
                         signal.slot(), [&](const std::exception_ptr&) { is_done = true; }));
      co_await pass_time(round % 8);
      signal.emit(asio::cancellation_type::terminal);
      while (!is_done) co_await pass_time(1);
      if (taken && *taken) all.push_back(**taken);
    }
  });
  std::jthread producer([&] {
    for (int i = 0; i < items; ++i) EXPECT_TRUE(queue.put(std::move(i)));
  });

  run();
  EXPECT_EQ(all, numbers_up_to(items));
  EXPECT_EQ(queue.size(), 0U);
}

TEST_P(AsioThreads, EveryItemIsPutOnceWhenPutsAreCancelled) {
  constexpr int items = 1000;
  BlockingQueue<int> queue{{.capacity = 1}};
  spawn([&]() -> awaitable<void> {
    for (int round = 0, next = 0; next < items; ++round) {
      asio::cancellation_signal signal;
      bool was_put = false;
      bool is_done = false;
      const auto put_one = [&]() -> awaitable<void> {
        int item = next;
        was_put = (co_await in_asio(queue.async_put(std::move(item)))).has_value();
      };
      asio::co_spawn(strand, put_one,
                     asio::bind_cancellation_slot(
                         signal.slot(), [&](const std::exception_ptr&) { is_done = true; }));
      co_await pass_time(round % 8);
      signal.emit(asio::cancellation_type::terminal);
      while (!is_done) co_await pass_time(1);
      if (was_put) ++next;
    }
    queue.close();
  });
  std::vector<int> taken;
  std::jthread consumer([&] {
    while (auto item = queue.take()) taken.push_back(*item);
  });

  run();
  consumer.join();
  EXPECT_EQ(taken, numbers_up_to(items));
}

TEST_P(AsioThreads, EveryItemIsTakenOnceOrStaysWhenATimerMayWin) {
  constexpr int items = 300;
  BlockingQueue<int> queue{{.capacity = 4}};
  std::vector<int> all;
  spawn([&]() -> awaitable<void> {
    asio::steady_timer timer(strand);
    for (int round = 0; all.size() < items; ++round) {
      Taken taken;
      timer.expires_after(std::chrono::microseconds(round % 8));
      co_await (take_one(queue, taken) || timer.async_wait(use_awaitable));
      if (taken && *taken) all.push_back(**taken);
    }
  });
  std::jthread producer([&] {
    for (int i = 0; i < items; ++i) EXPECT_TRUE(queue.put(std::move(i)));
  });

  run();
  EXPECT_EQ(all, numbers_up_to(items));
}

// -- The end of the context -----------------------------------------------------------------------

TEST(InAsio, AContextThatIsDestroyedEndsItsWaits) {
  BlockingQueue<int> queue{{.capacity = 1}};
  auto in_the_frame = std::make_shared<int>(1);
  bool went_on = false;
  const auto take = [&](std::shared_ptr<int>) -> awaitable<void> {
    static_cast<void>(co_await in_asio(queue.async_take()));
    went_on = true;
  };
  {
    asio::io_context io;
    asio::cancellation_signal signal;
    asio::co_spawn(io, take(in_the_frame), or_throw);
    asio::co_spawn(io, take(in_the_frame), asio::bind_cancellation_slot(signal.slot(), or_throw));
    asio::co_spawn(asio::make_strand(io), take(in_the_frame), or_throw);
    io.poll();
    EXPECT_EQ(queue.stats().waiting_consumers, 3U);
  }
  EXPECT_EQ(queue.stats().waiting_consumers, 0U);
  EXPECT_EQ(in_the_frame.use_count(), 1);
  EXPECT_FALSE(went_on);
}

TEST(InAsio, AContextThatIsDestroyedRunsWhatWasReady) {
  BlockingQueue<int> queue{{.capacity = 1}};
  auto in_the_frame = std::make_shared<int>(1);
  const auto take = [](BlockingQueue<int>& from, std::shared_ptr<int>) -> Lazy<> {
    while (co_await from.async_take()) continue;
  };
  {
    asio::io_context io;
    asio::co_spawn(io, in_asio(take(queue, in_the_frame)), or_throw);
    io.poll();
    ASSERT_TRUE(queue.put(1));  // Its turn is posted, and nobody runs it.
  }
  EXPECT_EQ(in_the_frame.use_count(), 1);
}

TEST(InAsio, AContextThatIsDestroyedWaitsForALazyThatGoesOn) {
  BlockingQueue<int> queue{{.capacity = 1}};
  BlockingQueue<int> last{{.capacity = 1}};
  std::atomic<bool> was_stopped = false;
  Taken taken;
  const auto work = [&]() -> Lazy<> {
    static_cast<void>(co_await queue.async_take());
    was_stopped = true;
    taken = co_await handoff::shield(1min, take_lazily(last));
  };
  std::jthread producer([&] {
    eventually([&] { return was_stopped && last.stats().waiting_consumers == 1; });
    EXPECT_TRUE(last.put(3));
  });
  {
    asio::io_context io;
    asio::co_spawn(io, in_asio(work), or_throw);
    io.poll();
  }
  EXPECT_EQ(taken->value(), 3);
}

}  // namespace
