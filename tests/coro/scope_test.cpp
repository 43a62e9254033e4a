// Scope: what is spawned into it ends before it does, however it ends.
#include "handoff/scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <expected>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/log.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "handoff/when.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Result = std::expected<void, Refusal>;

const Result done{};
const Result stopped{std::unexpected(Refusal::stopped)};
const Result timed_out{std::unexpected(Refusal::timed_out)};

// -- What the tests count ---------------------------------------------------------------------------

// One lives in every coroutine and callable of these tests.
class Alive {
 public:
  Alive() { ++count; }
  Alive(const Alive&) { ++count; }
  Alive& operator=(const Alive&) = default;
  ~Alive() { --count; }

  static inline std::atomic<int> count{0};
};

std::size_t threads_now() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

// After each test nothing is left: no thread, and nothing that a coroutine or a callable held.
class Scopes : public ::testing::Test {
 protected:
  Scopes() {
    // The timer thread stays once it was needed.
    const Scope starts_it{{.deadline = within(1h)}};
    threads_before_ = threads_now();
  }
  ~Scopes() override {
    EXPECT_EQ(Alive::count, 0);
    // A thread that was joined may be in the list for a moment longer.
    EXPECT_TRUE(eventually([&] { return threads_now() == threads_before_; }));
  }

 private:
  std::size_t threads_before_ = 0;
};

// Keeps what is logged while it lives.
class Log {
 public:
  Log()
      : before_(set_log([this](std::string_view line) {
          const std::lock_guard guard(mutex_);
          lines_.emplace_back(line);
        })) {}
  ~Log() { set_log(before_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  std::vector<std::string> lines() const {
    const std::lock_guard guard(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  LogSink before_;
};

std::string what(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

// What f threw, or "nothing".
template <typename F>
std::string error_of(F f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

// -- Children ---------------------------------------------------------------------------------------

[[noreturn]] void fail(const std::string& message) { throw std::runtime_error(message); }

Lazy<> fails(std::string message) {
  const Alive alive;
  fail(message);
  co_return;
}

Lazy<> fails_after(Event& event, std::string message) {
  const Alive alive;
  const auto waited = co_await event.async_wait();
  if (waited) fail(message);
}

Lazy<> counts(std::atomic<int>& count) {
  const Alive alive;
  ++count;
  co_return;
}

// Waits until it is stopped.
Lazy<> waits_for_stop(BlockingQueue<int>& queue, std::atomic<int>& ended) {
  const Alive alive;
  const auto item = co_await queue.async_take();
  EXPECT_EQ(item, std::unexpected(Refusal::stopped));
  ++ended;
}

Lazy<> waits_for(Event& event, std::atomic<int>& ended) {
  const Alive alive;
  const auto waited = co_await event.async_wait();
  EXPECT_EQ(waited, done);
  ++ended;
}

// The same on a thread, or in a job.
auto waiting_for_stop(BlockingQueue<int>& queue, std::atomic<int>& ended) {
  return [&queue, &ended, alive = Alive()](std::stop_token stop) {
    EXPECT_EQ(queue.take({.stop = std::move(stop)}), std::unexpected(Refusal::stopped));
    ++ended;
  };
}

std::size_t waiting(const BlockingQueue<int>& queue) { return queue.stats().waiting_consumers; }

// -- All of them end --------------------------------------------------------------------------------

TEST_F(Scopes, JoinWithNobodyInItSaysDone) {
  Scope scope;
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(scope.living(), 0u);
}

TEST_F(Scopes, JoinWaitsForThreadsJobsAndCoroutines) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  scope.spawn([&] {
    EXPECT_EQ(go.wait(), done);
    ++ended;
  });
  ASSERT_TRUE(scope.spawn(pool, [&] {
    EXPECT_EQ(go.wait(), done);
    ++ended;
  }));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  EXPECT_EQ(scope.living(), 22u);
  EXPECT_EQ(scope.join({.deadline = now()}), timed_out) << "they all wait still";
  go.set();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 22);
  EXPECT_EQ(scope.living(), 0u);
  EXPECT_FALSE(scope.stop_token().stop_requested());
}

TEST_F(Scopes, ThreadsHaveEndedWhenJoinReturns) {
  const std::size_t before = threads_now();
  Scope scope;
  for (int i = 0; i < 8; ++i) scope.spawn([] {});
  EXPECT_EQ(scope.join(), done);
  EXPECT_TRUE(eventually([&] { return threads_now() == before; }));
}

TEST_F(Scopes, ThreadsThatHaveEndedAreNotKeptUntilTheJoin) {
  const std::size_t before = threads_now();
  Scope scope;
  for (int i = 0; i < 200; ++i) {
    scope.spawn([] {});
    eventually([&] { return scope.living() == 0; });
  }
  EXPECT_TRUE(eventually([&] { return threads_now() <= before + 1; }));
  EXPECT_EQ(scope.join(), done);
}

TEST_F(Scopes, WhatCallablesAndCoroutinesHoldIsGoneWhenJoinReturns) {
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  for (int round = 0; round < 100; ++round) {
    Scope scope;
    scope.spawn([alive = Alive()] {});
    ASSERT_TRUE(scope.spawn(pool, [alive = Alive()] {}));
    std::atomic<int> count = 0;
    ASSERT_TRUE(scope.spawn(pool, counts(count)));
    ASSERT_EQ(scope.join(), done);
    ASSERT_EQ(Alive::count, 0);
    ASSERT_EQ(count, 1);
  }
}

TEST_F(Scopes, ACallableMayOnlyBeMovable) {
  std::atomic<int> sum = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  scope.spawn([&sum, value = std::make_unique<int>(3)] { sum += *value; });
  ASSERT_TRUE(scope.spawn(pool, [&sum, value = std::make_unique<int>(4)] { sum += *value; }));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(sum, 7);
}

TEST_F(Scopes, AScopeCanBeUsedAgainAfterAJoin) {
  Scope scope;
  std::atomic<int> count = 0;
  for (int i = 1; i <= 3; ++i) {
    scope.spawn([&] { ++count; });
    EXPECT_EQ(scope.join(), done);
    EXPECT_EQ(count, i);
  }
}

TEST_F(Scopes, ChildrenGetTheTokenOfTheScope) {
  std::atomic<int> seen = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  const auto token = scope.stop_token();
  scope.spawn([&](const std::stop_token& stop) { seen += stop == token; });
  ASSERT_TRUE(scope.spawn(pool, [&](const std::stop_token& stop) { seen += stop == token; }));
  const auto coroutine = [](std::stop_token expected, std::atomic<int>& count) -> Lazy<> {
    const auto stop = co_await current_stop();
    count += stop == expected;
  };
  ASSERT_TRUE(scope.spawn(pool, coroutine(token, seen)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(seen, 3);
}

TEST_F(Scopes, RequestStopStopsTheChildrenAndIsNoError) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  scope.spawn(waiting_for_stop(nothing, ended));
  ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
  ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  eventually([&] { return waiting(nothing) == 3; });
  scope.request_stop();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 3);
}

// -- Where coroutines run ---------------------------------------------------------------------------

TEST_F(Scopes, SpawnWithoutAPoolRunsWhereTheCallingCoroutineDoes) {
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  const auto parent = [](std::atomic<int>& count) -> Lazy<> {
    Scope scope;
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(scope.spawn(counts(count)));
    const auto joined = co_await scope.async_join();
    EXPECT_EQ(joined, done);
  };
  std::atomic<int> on_pool = 0;
  auto future = spawn(pool, parent(on_pool));
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), done);
  EXPECT_EQ(on_pool, 10);

  std::atomic<int> here = 0;
  sync_wait(parent(here));
  EXPECT_EQ(here, 10);
}

TEST_F(Scopes, SpawnWithoutAPoolThrowsOutsideACoroutine) {
  std::atomic<int> count = 0;
  Scope scope;
  EXPECT_THROW((void)scope.spawn(counts(count)), std::logic_error);
  scope.spawn([&] { EXPECT_THROW((void)scope.spawn(counts(count)), std::logic_error); });
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 0);
}

TEST_F(Scopes, ALazyThatWasMovedFromIsAMistakeOfTheCaller) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  auto lazy = counts(count);
  const auto other = std::move(lazy);
  Scope scope;
  EXPECT_THROW(static_cast<void>(scope.spawn(pool, std::move(lazy))), std::logic_error);
  EXPECT_EQ(scope.living(), 0u);
  EXPECT_EQ(scope.join(), done);
}

TEST_F(Scopes, AThreadWaitsForCoroutinesAndACoroutineForThreads) {
  const auto parent = [](std::atomic<int>& count) -> Lazy<> {
    Scope scope;
    scope.spawn([&count] { ++count; });
    const auto joined = co_await scope.async_join();
    EXPECT_EQ(joined, done);
  };
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, parent(count)));
  EXPECT_EQ(scope.join(), done);
  sync_wait(parent(count));
  EXPECT_EQ(count, 2);
}

// -- Children that spawn ----------------------------------------------------------------------------

enum class Kind : std::uint8_t { thread, job, coroutine };

std::ostream& operator<<(std::ostream& out, Kind kind) {
  constexpr const char* names[] = {"thread", "job", "coroutine"};
  return out << names[static_cast<std::size_t>(kind)];
}

std::string name_of(Kind kind) {
  constexpr const char* names[] = {"thread", "job", "coroutine"};
  return names[static_cast<std::size_t>(kind)];
}

constexpr Kind every_kind[] = {Kind::thread, Kind::job, Kind::coroutine};

struct Tree {
  WorkerPool& pool;
  Scope& scope;
  std::atomic<int>& count;
};

void grow(Tree tree, int depth);

Lazy<> grown(Tree tree, int depth) {
  const Alive alive;
  grow(tree, depth);
  co_return;
}

// Two children of each kind, down to `depth`.
void grow(Tree tree, int depth) {
  ++tree.count;
  if (depth == 0) return;
  for (int i = 0; i < 2; ++i) {
    tree.scope.spawn([=, alive = Alive()] { grow(tree, depth - 1); });
    EXPECT_TRUE(tree.scope.spawn(tree.pool, [=, alive = Alive()] { grow(tree, depth - 1); }));
    EXPECT_TRUE(tree.scope.spawn(tree.pool, grown(tree, depth - 1)));
  }
}

TEST_F(Scopes, ChildrenMaySpawnChildren) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 2, .capacity = 1024}};
  Scope scope;
  grow({pool, scope, count}, 3);
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 1 + 6 + 36 + 216);
}

// -- The first error --------------------------------------------------------------------------------

// What a sibling is doing when another child fails.
enum class Doing : std::uint8_t {
  thread_takes,
  thread_acquires,
  thread_waits,
  thread_joins,
  job_takes,
  job_acquires,
  job_joins,
  takes,
  puts,
  acquires,
  locks,
  waits,
  sleeps,
  joins,
};

constexpr std::pair<Doing, const char*> everything_done[] = {
    {Doing::thread_takes, "thread_takes"},
    {Doing::thread_acquires, "thread_acquires"},
    {Doing::thread_waits, "thread_waits"},
    {Doing::thread_joins, "thread_joins"},
    {Doing::job_takes, "job_takes"},
    {Doing::job_acquires, "job_acquires"},
    {Doing::job_joins, "job_joins"},
    {Doing::takes, "takes"},
    {Doing::puts, "puts"},
    {Doing::acquires, "acquires"},
    {Doing::locks, "locks"},
    {Doing::waits, "waits"},
    {Doing::sleeps, "sleeps"},
    {Doing::joins, "joins"}};

// Nothing of it can be had.
struct Barren {
  Barren() {
    EXPECT_TRUE(full.offer(1));
    EXPECT_TRUE(semaphore.acquire());
    mutex.lock();
  }
  ~Barren() { mutex.unlock(); }

  BlockingQueue<int> empty{{.capacity = 1}};
  BlockingQueue<int> full{{.capacity = 1}};
  Semaphore semaphore{{.permits = 1}};
  Event event;
  Mutex mutex;
  std::atomic<int> begun = 0;
  std::atomic<int> stopped = 0;
  WorkerPool pool{{.workers = 3, .capacity = 16}};
};

template <typename T>
void note(Barren& barren, const std::expected<T, Refusal>& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), Refusal::stopped);
  ++barren.stopped;
}

Lazy<> takes(Barren& barren) {
  const Alive alive;
  ++barren.begun;
  note(barren, co_await barren.empty.async_take());
}
Lazy<> puts(Barren& barren) {
  const Alive alive;
  ++barren.begun;
  int item = 7;
  note(barren, co_await barren.full.async_put(std::move(item)));
}
Lazy<> acquires(Barren& barren) {
  const Alive alive;
  ++barren.begun;
  note(barren, co_await barren.semaphore.async_acquire());
}
Lazy<> locks(Barren& barren) {
  const Alive alive;
  ++barren.begun;
  note(barren, co_await barren.mutex.async_lock());
}
Lazy<> awaits(Barren& barren) {
  const Alive alive;
  ++barren.begun;
  note(barren, co_await barren.event.async_wait());
}
Lazy<> sleeps(Barren& barren) {
  const Alive alive;
  ++barren.begun;
  note(barren, co_await sleep_for(1h));
}
Lazy<> joins(Barren& barren) {
  const Alive alive;
  Scope inner;
  EXPECT_TRUE(inner.spawn(takes(barren)));
  inner.spawn([&barren, alive_too = Alive()](std::stop_token stop) {
    static_cast<void>(barren.empty.take({.stop = std::move(stop)}));
  });
  note(barren, co_await inner.async_join());
  --barren.stopped;  // The one inside has counted.
}

void join_blocking(Barren& barren) {
  Scope inner;
  inner.spawn([&barren, alive = Alive()](std::stop_token stop) {
    ++barren.begun;
    note(barren, barren.empty.take({.stop = std::move(stop)}));
  });
  EXPECT_EQ(inner.join(), stopped);
}

void begin(Scope& scope, Barren& barren, Doing doing) {
  const auto takes_here = [&barren, alive = Alive()](std::stop_token stop) {
    ++barren.begun;
    note(barren, barren.empty.take({.stop = std::move(stop)}));
  };
  const auto acquires_here = [&barren, alive = Alive()](std::stop_token stop) {
    ++barren.begun;
    note(barren, barren.semaphore.acquire({.stop = std::move(stop)}));
  };
  const auto waits_here = [&barren, alive = Alive()](std::stop_token stop) {
    ++barren.begun;
    note(barren, barren.event.wait({.stop = std::move(stop)}));
  };
  const auto joins_here = [&barren, alive = Alive()] { join_blocking(barren); };
  WorkerPool& pool = barren.pool;
  switch (doing) {
    case Doing::thread_takes: scope.spawn(takes_here); break;
    case Doing::thread_acquires: scope.spawn(acquires_here); break;
    case Doing::thread_waits: scope.spawn(waits_here); break;
    case Doing::thread_joins: scope.spawn(joins_here); break;
    case Doing::job_takes: EXPECT_TRUE(scope.spawn(pool, takes_here)); break;
    case Doing::job_acquires: EXPECT_TRUE(scope.spawn(pool, acquires_here)); break;
    case Doing::job_joins: EXPECT_TRUE(scope.spawn(pool, joins_here)); break;
    case Doing::takes: EXPECT_TRUE(scope.spawn(pool, takes(barren))); break;
    case Doing::puts: EXPECT_TRUE(scope.spawn(pool, puts(barren))); break;
    case Doing::acquires: EXPECT_TRUE(scope.spawn(pool, acquires(barren))); break;
    case Doing::locks: EXPECT_TRUE(scope.spawn(pool, locks(barren))); break;
    case Doing::waits: EXPECT_TRUE(scope.spawn(pool, awaits(barren))); break;
    case Doing::sleeps: EXPECT_TRUE(scope.spawn(pool, sleeps(barren))); break;
    case Doing::joins: EXPECT_TRUE(scope.spawn(pool, joins(barren))); break;
  }
}

void spawn_failure(Scope& scope, WorkerPool& pool, Kind kind, const std::string& message) {
  switch (kind) {
    case Kind::thread: scope.spawn([message] { fail(message); }); break;
    case Kind::job: EXPECT_TRUE(scope.spawn(pool, [message] { fail(message); })); break;
    case Kind::coroutine: EXPECT_TRUE(scope.spawn(pool, fails(message))); break;
  }
}

class FirstError
    : public Scopes,
      public ::testing::WithParamInterface<std::tuple<std::pair<Doing, const char*>, Kind>> {};

TEST_P(FirstError, StopsTheSiblingsAndComesOutOfTheJoin) {
  const auto& [doing, who_fails] = GetParam();
  Barren barren;
  Scope scope;
  begin(scope, barren, doing.first);
  eventually([&] { return barren.begun == 1; });
  spawn_failure(scope, barren.pool, who_fails, "no luck");
  EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "no luck");
  EXPECT_EQ(barren.stopped, 1);
  EXPECT_TRUE(scope.stop_token().stop_requested());
  EXPECT_EQ(scope.living(), 0u);
  EXPECT_EQ(scope.join(), done) << "an error is given once";
}

INSTANTIATE_TEST_SUITE_P(Every, FirstError,
                         ::testing::Combine(::testing::ValuesIn(everything_done),
                                            ::testing::ValuesIn(every_kind)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).second) + "_as_a_" +
                                  name_of(std::get<1>(each.param)) + "_fails";
                         });

TEST_F(Scopes, TheFirstErrorStopsAllWhateverTheyDo) {
  Barren barren;
  Scope scope;
  int count = 0;
  for (const auto& [doing, name] : everything_done) {
    const bool holds_a_worker = std::string_view(name).starts_with("job_");
    if (holds_a_worker) continue;  // There are three.
    begin(scope, barren, doing);
    ++count;
  }
  eventually([&] { return barren.begun == count; });
  scope.spawn([] { fail("no luck"); });
  EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "no luck");
  EXPECT_EQ(barren.stopped, count);
}

TEST_F(Scopes, AChildSpawnedAfterTheFirstErrorFindsItselfStopped) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  scope.spawn([] { fail("no luck"); });
  eventually([&] { return scope.stop_token().stop_requested(); });
  ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  scope.spawn(waiting_for_stop(nothing, ended));
  EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "no luck");
  EXPECT_EQ(ended, 2);
}

TEST_F(Scopes, OfSeveralErrorsTheFirstComesOut) {
  Event never;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  const auto fails_when_stopped = [](Event& event, std::string message) -> Lazy<> {
    static_cast<void>(co_await event.async_wait());
    fail(message);
  };
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(scope.spawn(pool, fails_when_stopped(never, "because of the first")));
  }
  eventually([&] { return never.stats().waiting_consumers == 5; });
  scope.spawn([] { fail("the first"); });
  EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "the first");
}

TEST_F(Scopes, ATypeOfItsOwnComesOutAsItIs) {
  struct Mine {
    int code;
  };
  Scope scope;
  scope.spawn([] { throw Mine{42}; });
  try {
    static_cast<void>(scope.join());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Mine& mine) {
    EXPECT_EQ(mine.code, 42);
  }
}

TEST_F(Scopes, ACoroutineGetsTheErrorFromAsyncJoin) {
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  const auto parent = []() -> Lazy<std::string> {
    const Alive alive;
    Scope scope;
    EXPECT_TRUE(scope.spawn(fails("no luck")));
    std::string message = "nothing";
    try {
      static_cast<void>(co_await scope.async_join());
    } catch (const std::exception& error) {
      message = error.what();
    }
    co_return message;
  };
  auto future = spawn(pool, parent());
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), "no luck");
  EXPECT_EQ(sync_wait(parent()), "no luck");
}

TEST_F(Scopes, WhatAnErrorHoldsIsGoneWhenTheScopeHasEnded) {
  struct Heavy : std::runtime_error {
    using std::runtime_error::runtime_error;
    Alive alive;
  };
  for (int round = 0; round < 200; ++round) {
    {
      Scope scope;
      for (int i = 0; i < 3; ++i) scope.spawn([] { throw Heavy("heavy"); });
      EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "heavy");
    }
    ASSERT_EQ(Alive::count, 0) << "also of those that came after the first";
  }
}

// -- Collecting -------------------------------------------------------------------------------------

TEST_F(Scopes, CollectKeepsEveryErrorAndStopsNobody) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope{{.collect = true}};
  ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  std::vector<std::string> expected;
  for (const Kind kind : every_kind) {
    expected.push_back("no " + name_of(kind));
    const auto before = scope.living();
    spawn_failure(scope, pool, kind, expected.back());
    eventually([&] { return scope.living() == before; });
  }
  EXPECT_FALSE(scope.stop_token().stop_requested());
  go.set();
  EXPECT_EQ(scope.join(), done) << "collected errors are not thrown";
  EXPECT_EQ(ended, 1);
  std::vector<std::string> messages;
  for (const auto& each : scope.errors()) messages.push_back(what(each));
  EXPECT_EQ(messages, expected) << "in the order in which they ended";
  EXPECT_THAT(scope.errors(), IsEmpty()) << "they are given once";
}

TEST_F(Scopes, CollectKeepsTheFirstThousandAndTwentyFour) {
  WorkerPool pool{{.workers = 2, .capacity = 2048}};
  const Log log;
  {
    Scope scope{{.collect = true}};
    for (int i = 0; i < 1100; ++i) ASSERT_TRUE(scope.spawn(pool, fails("one of many")));
    EXPECT_EQ(scope.join(), done);
    EXPECT_THAT(scope.errors(), SizeIs(1024));
  }
}

// -- Stopped from outside ---------------------------------------------------------------------------

TEST_F(Scopes, AtTheDeadlineTheChildrenAreStoppedAndJoinSaysTimedOut) {
  ManualClock clock;
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  {
    Scope scope{{.deadline = within(1min)}};
    scope.spawn(waiting_for_stop(nothing, ended));
    ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
    ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
    eventually([&] { return waiting(nothing) == 3; });
    clock.advance(59s);
    EXPECT_EQ(scope.living(), 3u);
    EXPECT_FALSE(scope.stop_token().stop_requested());
    clock.advance(1s);
    EXPECT_EQ(scope.join(), timed_out);
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(Scopes, ADeadlineThatHasPassedStopsAtOnce) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Scope scope{{.deadline = now() - 1s}};
  scope.spawn(waiting_for_stop(nothing, ended));
  EXPECT_EQ(scope.join(), timed_out);
  EXPECT_EQ(ended, 1);
}

TEST_F(Scopes, WhoEndedBeforeTheDeadlineIsNotTimedOut) {
  ManualClock clock;
  {
    Scope scope{{.deadline = within(1min)}};
    scope.spawn([] {});
    eventually([&] { return scope.living() == 0; });
    clock.advance(2min);
    eventually([&] { return scope.stop_token().stop_requested(); });
    EXPECT_EQ(scope.join(), done) << "all had ended before the deadline came";
  }
}

TEST_F(Scopes, AnErrorCountsMoreThanTheDeadline) {
  ManualClock clock;
  {
    Scope scope{{.deadline = within(1min)}};
    scope.spawn([](std::stop_token stop) {
      Event never;
      EXPECT_EQ(never.wait({.stop = std::move(stop)}), stopped);
      fail("stopped half-way");
    });
    clock.advance(1min);
    EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "stopped half-way");
  }
}

TEST_F(Scopes, TheTokenItFollowsStopsItAndJoinSaysStopped) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::stop_source stop;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope(stop.get_token());
  scope.spawn(waiting_for_stop(nothing, ended));
  ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  eventually([&] { return waiting(nothing) == 2; });
  stop.request_stop();
  EXPECT_EQ(scope.join(), stopped);
  EXPECT_EQ(ended, 2);
}

Lazy<Result> makes_a_scope(BlockingQueue<int>& nothing, std::atomic<int>& ended) {
  const Alive alive;
  Scope scope;
  EXPECT_TRUE(scope.spawn(waits_for_stop(nothing, ended)));
  scope.spawn(waiting_for_stop(nothing, ended));
  co_return co_await scope.async_join();
}

TEST_F(Scopes, AScopeMadeByACoroutineIsStoppedWithIt) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return waiting(nothing) == 2; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(makes_a_scope(nothing, ended), stop.get_token()), stopped);
  EXPECT_EQ(ended, 2);
}

TEST_F(Scopes, AScopeMadeByAStoppedCoroutineIsStoppedFromTheStart) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sync_wait(makes_a_scope(nothing, ended), stop.get_token()), stopped);
  EXPECT_EQ(ended, 2);
}

// Who asked for the stop has not come to the scope's turn yet when that is joined.
TEST_F(Scopes, TheMakersStopIsTheReasonAsSoonAsItIsRequested) {
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& count, Event& go,
                         Event& is_joined) -> Lazy<Result> {
    const auto stop = co_await current_stop();
    Event is_stopping;
    Scope scope;
    EXPECT_TRUE(scope.spawn(waits_for_stop(queue, count)));
    const auto hold_up = [&] {
      is_stopping.set();
      EXPECT_EQ(is_joined.wait(), done);
    };
    const std::stop_callback called_first(stop, hold_up);  // The last to come is the first.
    go.set();
    EXPECT_EQ(is_stopping.wait(), done);
    const auto joined = co_await scope.async_join();
    is_joined.set();
    co_return joined;
  };
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Event go;
  Event is_joined;
  std::stop_source stop;
  std::jthread stopper([&] {
    EXPECT_EQ(go.wait(), done);
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(parent(nothing, ended, go, is_joined), stop.get_token()), stopped);
  EXPECT_EQ(ended, 1);
}

// It does what must be done although its maker is stopped.
TEST_F(Scopes, AScopeThatFollowsAnotherTokenIsNotStoppedWithItsMaker) {
  const auto cleans_up = [](std::atomic<int>& slept) -> Lazy<Result> {
    Scope scope{std::stop_token()};
    const auto child = [](std::atomic<int>& count) -> Lazy<> {
      const auto result = co_await sleep_for(1ms);
      count += result == done;
    };
    EXPECT_TRUE(scope.spawn(child(slept)));
    co_return co_await scope.async_join();
  };
  std::atomic<int> slept = 0;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sync_wait(cleans_up(slept), stop.get_token()), done);
  EXPECT_EQ(slept, 1);
}

TEST_F(Scopes, AThreadsWaitForTheScopeMayEndFirstAndTheChildrenGoOn) {
  ManualClock clock;
  Event go;
  {
    Scope scope;
    scope.spawn([&] { EXPECT_EQ(go.wait(), done); });
    std::stop_source stop;
    std::jthread stopper([&] {
      eventually([&] { return clock.waiting() == 1; });
      clock.advance(1min);
      eventually([&] { return clock.waiting() == 1; });
      stop.request_stop();
    });
    EXPECT_EQ(scope.join({.deadline = within(1min)}), timed_out);
    EXPECT_EQ(scope.join({.deadline = within(1min), .stop = stop.get_token()}), stopped);
    EXPECT_EQ(scope.living(), 1u);
    EXPECT_FALSE(scope.stop_token().stop_requested());
    go.set();
    EXPECT_EQ(scope.join(), done);
  }
}

TEST_F(Scopes, SeveralMayJoin) {
  Event go;
  Scope scope;
  scope.spawn([&] { EXPECT_EQ(go.wait(), done); });
  std::atomic<int> joined = 0;
  {
    std::vector<std::jthread> joiners;
    for (int i = 0; i < 6; ++i) joiners.emplace_back([&] { joined += scope.join() == done; });
    eventually([&] { return waits().size() >= 7; });
    go.set();
  }
  EXPECT_EQ(joined, 6);
}

// -- Pools that end ---------------------------------------------------------------------------------

TEST_F(Scopes, AnInterruptOfThePoolStopsTheScope) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
  scope.spawn(waiting_for_stop(nothing, ended));
  eventually([&] { return waiting(nothing) == 12; });
  const auto report = pool.shutdown(interrupt());
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(scope.join(), stopped) << "the thread too";
  EXPECT_EQ(ended, 12);
  EXPECT_EQ(pool.stats().coroutines, 0u);
}

// If children that have not begun were handed back, the shutdown would wait for a job that waits for them.
TEST_F(Scopes, AnInterruptIsNotHeldUpByAJobThatJoinsJobsWhichHaveNotBegun) {
  const Log log;
  Event never;
  std::atomic<int> begun = 0;
  WorkerPool pool{{.workers = 2, .capacity = 4}};
  ASSERT_TRUE(pool.post([&] {
    Scope scope;
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(scope.spawn(pool, [&, alive = Alive()](std::stop_token stop) {
        ++begun;
        EXPECT_EQ(never.wait({.stop = std::move(stop)}), stopped);
      }));
    }
    static_cast<void>(error_of([&] { EXPECT_EQ(scope.join(), stopped); }));
  }));
  eventually([&] { return begun >= 2; });
  const auto report = pool.shutdown(interrupt(5s));
  EXPECT_THAT(report.still_running, IsEmpty());
}

TEST_F(Scopes, DestroyingThePoolStopsTheScope) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Scope scope;
  {
    WorkerPool pool{{.workers = 2, .capacity = 16}};
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
    eventually([&] { return waiting(nothing) == 10; });
  }
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(scope.join(), stopped);
}

TEST_F(Scopes, AnOrderlyShutdownOfThePoolWaitsForTheCoroutines) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  eventually([&] { return go.stats().waiting_consumers == 10; });
  std::jthread setter([&] { go.set(); });
  const auto report = pool.shutdown(finish_within(1h));
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(scope.join(), done);
}

TEST_F(Scopes, AJobThatItsPoolDroppedIsAnErrorOfTheScope) {
  const Log log;
  Event go;
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::drop_oldest}};
  ASSERT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
  eventually([&] { return pool.stats().queued == 0; });
  {
    Scope scope;
    ASSERT_TRUE(scope.spawn(pool, [alive = Alive()] {}));
    EXPECT_EQ(scope.living(), 1u);
    ASSERT_TRUE(pool.post([] {}));
    EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
  }
  {
    Scope scope;
    std::atomic<int> count = 0;
    ASSERT_TRUE(scope.spawn(pool, counts(count)));
    ASSERT_TRUE(pool.post([] {}));
    EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
    EXPECT_EQ(count, 0);
    EXPECT_EQ(pool.stats().coroutines, 0u);
  }
  go.set();
}

// Two that have not begun, of each kind one.
class HandedBack : public Scopes {
 protected:
  HandedBack() {
    EXPECT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
    eventually([&] { return pool.stats().queued == 0; });
    EXPECT_TRUE(scope.spawn(pool, [this, alive = Alive()] { ++ran; }));
    EXPECT_TRUE(scope.spawn(pool, counts(ran)));
    report.emplace(pool.shutdown(finish_within(0ms)));
    EXPECT_THAT(report->handed_back, SizeIs(2));
    EXPECT_EQ(scope.living(), 2u);
    EXPECT_EQ(pool.stats().coroutines, 0u);
    go.set();
  }

  std::atomic<int> ran = 0;
  Event go;
  Scope scope;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  std::optional<ShutdownReport> report;
};

TEST_F(HandedBack, AndDestroyedIsAnErrorOfTheScope) {
  report.reset();
  EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
  EXPECT_EQ(ran, 0);
}

TEST_F(HandedBack, AndRunElsewhereIsNone) {
  for (Job& job : report->handed_back) job();
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(scope.join(), done);
}

TEST_F(HandedBack, AndPostedToAnotherPoolIsNone) {
  WorkerPool other{{.workers = 1, .capacity = 4}};
  for (Job& job : report->handed_back) ASSERT_TRUE(other.post(std::move(job)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ran, 2);
}

TEST_F(Scopes, WhatAPoolHasNotBegunWhenItIsDestroyedIsAnErrorOfTheScope) {
  const Log log;
  std::atomic<int> ran = 0;
  Event go;
  Scope scope;
  {
    WorkerPool pool{{.workers = 1, .capacity = 4}};
    ASSERT_TRUE(pool.post(
        [&](std::stop_token stop) { EXPECT_EQ(go.wait({.stop = std::move(stop)}), stopped); }));
    eventually([&] { return pool.stats().queued == 0; });
    ASSERT_TRUE(scope.spawn(pool, [&ran, alive = Alive()] { ++ran; }));
    ASSERT_TRUE(scope.spawn(pool, counts(ran)));
  }
  EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
  EXPECT_EQ(ran, 0);
}

// -- Refused ----------------------------------------------------------------------------------------

TEST_F(Scopes, ARefusedCallableOrLazyIsUntouched) {
  const Log log;
  std::atomic<int> ran = 0;
  auto held = std::make_shared<int>(1);
  auto callable = [&ran, held] { ++ran; };
  auto lazy = counts(ran);
  const auto refused_with = [&](WorkerPool& pool, Scope& scope, Refusal why,
                                const Wait& wait = {}) {
    const auto job = scope.spawn(pool, std::move(callable), wait);
    EXPECT_EQ(job, std::unexpected(why));
    const auto coroutine = scope.spawn(pool, std::move(lazy), wait);
    EXPECT_EQ(coroutine, std::unexpected(why));
    EXPECT_EQ(held.use_count(), 2);
    EXPECT_EQ(scope.living(), 0u);
    EXPECT_EQ(pool.stats().coroutines, 0u);
  };
  {
    Event go;
    WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::reject}};
    ASSERT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
    eventually([&] { return pool.stats().queued == 0; });
    ASSERT_TRUE(pool.post([] {}));
    Scope scope;
    refused_with(pool, scope, Refusal::full);
    EXPECT_EQ(scope.join(), done);
    go.set();
  }
  {
    Event go;
    WorkerPool pool{{.workers = 1, .capacity = 1}};
    ASSERT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
    eventually([&] { return pool.stats().queued == 0; });
    ASSERT_TRUE(pool.post([] {}));
    Scope scope;
    refused_with(pool, scope, Refusal::timed_out, {.deadline = now()});
    std::stop_source stop;
    stop.request_stop();
    refused_with(pool, scope, Refusal::stopped, {.stop = stop.get_token()});
    EXPECT_EQ(scope.join(), done);
    go.set();
  }
  WorkerPool closed{{.workers = 1, .capacity = 4}};
  ASSERT_TRUE(closed.shutdown(finish_within(1h)).is_complete());
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  refused_with(closed, scope, Refusal::closed);
  ASSERT_TRUE(scope.spawn(pool, std::move(callable)));
  ASSERT_TRUE(scope.spawn(pool, std::move(lazy)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ran, 2);
}

TEST_F(Scopes, PastThePoolsLimitOfCoroutinesTheyAreRefused) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 1, .capacity = 16, .coroutines = 2}};
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  auto third = waits_for(go, ended);
  EXPECT_EQ(scope.spawn(pool, std::move(third)), std::unexpected(Refusal::full));
  go.set();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 2);
  eventually([&] { return pool.stats().coroutines == 0; });
  ASSERT_TRUE(scope.spawn(pool, std::move(third)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 3);
}

TEST_F(Scopes, WhenJoinReturnsThePoolCountsNoneOfItsCoroutines) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16, .coroutines = 1}};
  for (int round = 0; round < 500; ++round) {
    Scope scope;
    ASSERT_TRUE(scope.spawn(pool, counts(count))) << "in round " << round;
    ASSERT_EQ(scope.join(), done);
    ASSERT_EQ(pool.stats().coroutines, 0u) << "in round " << round;
  }
}

// A spawn that is refused while the pool closes must not leave the workers asleep for ever.
TEST_F(Scopes, SpawningWhileThePoolIsShutDownDelaysNothing) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> is_over = false;
    std::atomic<int> count = 0;
    WorkerPool pool{{.workers = 1, .capacity = 4}};
    std::jthread spawner([&] {
      Scope scope;
      while (scope.spawn(pool, counts(count))) {
      }
      EXPECT_EQ(scope.join(), done);
    });
    std::jthread closer([&] {
      eventually([&] { return count > 0; });
      EXPECT_TRUE(pool.shutdown(finish_within(1min)).is_complete());
      is_over = true;
    });
    ASSERT_TRUE(eventually([&] { return is_over.load(); }));
  }
}

// -- Nested -----------------------------------------------------------------------------------------

// Three scopes inside each other. In each waits one that only a stop ends; level `bad` fails.
struct Levels {
  WorkerPool& pool;
  BlockingQueue<int>& nothing;
  int bad;                                  // Which level fails: 1, 2 or 3.
  std::vector<Kind> kinds;                  // What the level's child is.
  std::array<std::atomic<int>, 4> ended{};  // By level: those that waited.
  std::atomic<int> begun = 0;
};

constexpr int innermost = 3;

void wait_here(Levels& levels, int level, std::stop_token stop) {
  ++levels.begun;
  EXPECT_EQ(levels.nothing.take({.stop = std::move(stop)}), std::unexpected(Refusal::stopped));
  ++levels.ended[static_cast<std::size_t>(level)];
}
Lazy<> await_here(Levels& levels, int level) {
  const Alive alive;
  ++levels.begun;
  const auto item = co_await levels.nothing.async_take();
  EXPECT_EQ(item, std::unexpected(Refusal::stopped));
  ++levels.ended[static_cast<std::size_t>(level)];
}

std::string message_of(int level) { return "level " + std::to_string(level); }

// Fails once all wait.
void fail_in_time(Levels& levels, int level) {
  eventually([&] { return levels.begun == 2 * innermost; });
  fail(message_of(level));
}

void run_level(Levels& levels, int level);
Lazy<> run_level_as_coroutine(Levels& levels, int level);

void spawn_level(Scope& scope, Levels& levels, int level) {
  scope.spawn([&levels, level, alive = Alive()](std::stop_token stop) {
    wait_here(levels, level, std::move(stop));
  });
  EXPECT_TRUE(scope.spawn(levels.pool, await_here(levels, level)));
  if (level == levels.bad) scope.spawn([&levels, level] { fail_in_time(levels, level); });
  if (level == innermost) return;
  const auto next = [&levels, level, alive = Alive()] { run_level(levels, level + 1); };
  switch (levels.kinds[static_cast<std::size_t>(level)]) {
    case Kind::thread: scope.spawn(next); break;
    case Kind::job: EXPECT_TRUE(scope.spawn(levels.pool, next)); break;
    case Kind::coroutine:
      EXPECT_TRUE(scope.spawn(levels.pool, run_level_as_coroutine(levels, level + 1)));
      break;
  }
}

void run_level(Levels& levels, int level) {
  Scope scope{{.name = message_of(level)}};
  spawn_level(scope, levels, level);
  static_cast<void>(scope.join());
}
Lazy<> run_level_as_coroutine(Levels& levels, int level) {
  const Alive alive;
  const std::string name = message_of(level);
  Scope scope{{.name = name}};
  spawn_level(scope, levels, level);
  static_cast<void>(co_await scope.async_join());
}

class NestedScopes : public Scopes,
                     public ::testing::WithParamInterface<std::tuple<int, Kind, Kind>> {};

TEST_P(NestedScopes, AnErrorAtAnyLevelComesOutAtTheTopAndNobodyIsLeft) {
  const auto [bad, second, third] = GetParam();
  BlockingQueue<int> nothing{{.capacity = 1}};
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  Levels levels{
      .pool = pool, .nothing = nothing, .bad = bad, .kinds = {Kind::thread, second, third}};
  EXPECT_EQ(error_of([&] { run_level(levels, 1); }), message_of(bad));
  for (std::size_t level = 1; level <= innermost; ++level) EXPECT_EQ(levels.ended[level], 2);
  EXPECT_TRUE(eventually([&] { return pool.stats().coroutines == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Every, NestedScopes,
                         ::testing::Combine(::testing::Values(1, 2, 3),
                                            ::testing::ValuesIn(every_kind),
                                            ::testing::ValuesIn(every_kind)),
                         [](const auto& each) {
                           return "level_" + std::to_string(std::get<0>(each.param)) +
                                  "_fails_with_a_" + name_of(std::get<1>(each.param)) + "_and_a_" +
                                  name_of(std::get<2>(each.param));
                         });

TEST_F(Scopes, AnErrorThatIsCaughtInsideStopsNobodyOutside) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope outer;
  ASSERT_TRUE(outer.spawn(pool, waits_for(go, ended)));
  outer.spawn([&] {
    Scope inner;
    inner.spawn([] { fail("inside"); });
    EXPECT_EQ(error_of([&] { static_cast<void>(inner.join()); }), "inside");
    ++ended;
  });
  eventually([&] { return ended == 1; });
  EXPECT_FALSE(outer.stop_token().stop_requested());
  go.set();
  EXPECT_EQ(outer.join(), done);
  EXPECT_EQ(ended, 2);
}

// -- The destructor ---------------------------------------------------------------------------------

TEST_F(Scopes, TheDestructorStopsAndWaits) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  {
    Scope scope;
    scope.spawn(waiting_for_stop(nothing, ended));
    ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  }
  EXPECT_EQ(ended, 12);
}

TEST_F(Scopes, AnExceptionThatPassesTheScopeWaitsForItsChildren) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  try {
    Scope scope;
    scope.spawn(waiting_for_stop(nothing, ended));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
    fail("outside");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "outside");
    EXPECT_EQ(ended, 11);
  }
}

Lazy<> forgets_to_join(BlockingQueue<int>& nothing, std::atomic<int>& ended, bool throws) {
  const Alive alive;
  Scope scope;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(scope.spawn(waits_for_stop(nothing, ended)));
  if (throws) fail("half-way");
  co_return;
}

TEST_F(Scopes, ACoroutineThatForgetsToJoinWaitsInTheDestructorEvenOnOneWorker) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  for (const bool throws : {false, true}) {
    std::atomic<int> ended = 0;
    auto future = spawn(pool, forgets_to_join(nothing, ended, throws));
    ASSERT_TRUE(future);
    EXPECT_EQ(error_of([&] { EXPECT_EQ(future->get(), done); }), throws ? "half-way" : "nothing");
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(Scopes, AJobThatForgetsToJoinWaitsInTheDestructorEvenOnOneWorker) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  auto future = pool.submit([&] {
    Scope scope;
    EXPECT_TRUE(scope.spawn(pool, [&] { ++ran; }));
    EXPECT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  });
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), done);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(ended, 1);
}

TEST_F(Scopes, ManyCoroutinesThatForgetToJoinOnOneWorker) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 1, .capacity = 64}};
  Scope scope;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(scope.spawn(pool, forgets_to_join(nothing, ended, false)));
  }
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 60);
}

// -- in_scope ---------------------------------------------------------------------------------------

TEST_F(Scopes, InScopeWaitsForAllThatItsBodySpawned) {
  const auto parent = [](std::atomic<int>& count) -> Lazy<Result> {
    const auto body = [&count](Scope& scope) -> Lazy<> {
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(scope.spawn(counts(count)));
      co_return;
    };
    co_return co_await in_scope(body);
  };
  std::atomic<int> count = 0;
  EXPECT_EQ(sync_wait(parent(count)), done);
  EXPECT_EQ(count, 10);
  WorkerPool pool{{.workers = 2, .capacity = 4}};
  auto future = spawn(pool, parent(count));
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), done);
  EXPECT_EQ(count, 20);
}

TEST_F(Scopes, WhatTheBodyThrowsStopsTheChildrenAndComesOut) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& ended) -> Lazy<> {
    const auto body = [&](Scope& scope) -> Lazy<> {
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(scope.spawn(waits_for_stop(queue, ended)));
      fail("the body");
      co_return;
    };
    static_cast<void>(co_await in_scope(body));
  };
  std::atomic<int> ended = 0;
  EXPECT_EQ(error_of([&] { sync_wait(parent(nothing, ended)); }), "the body");
  EXPECT_EQ(ended, 3);
}

TEST_F(Scopes, WhatAChildThrowsStopsTheBodyAndComesOut) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& ended) -> Lazy<> {
    const auto body = [&](Scope& scope) -> Lazy<> {
      EXPECT_TRUE(scope.spawn(waits_for_stop(queue, ended)));
      EXPECT_TRUE(scope.spawn(fails("a child")));
      co_await sleep_for(1ms);
    };
    static_cast<void>(co_await in_scope(body));
  };
  std::atomic<int> ended = 0;
  EXPECT_EQ(error_of([&] { sync_wait(parent(nothing, ended)); }), "a child");
  EXPECT_EQ(ended, 1);
}

// The body waits with the scope's token, is refused, and says so: that is not what went wrong.
TEST_F(Scopes, AChildsErrorIsNotHiddenByWhatTheBodyMakesOfIt) {
  const auto parent = []() -> Lazy<> {
    const auto body = [](Scope& scope) -> Lazy<> {
      EXPECT_TRUE(scope.spawn(fails("the reason")));
      Event never;
      const auto waits_in_it = [](Event& event) -> Lazy<> {
        const auto waited = co_await event.async_wait();
        if (!waited) fail("a consequence");
      };
      Scope inner(scope.stop_token());
      EXPECT_TRUE(inner.spawn(waits_in_it(never)));
      static_cast<void>(co_await inner.async_join());
    };
    static_cast<void>(co_await in_scope(body));
  };
  EXPECT_EQ(error_of([&] { sync_wait(parent()); }), "the reason");
}

TEST_F(Scopes, InScopeSaysTimedOutOrStopped) {
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& ended,
                         Deadline deadline) -> Lazy<Result> {
    const auto body = [&](Scope& scope) -> Lazy<> {
      EXPECT_TRUE(scope.spawn(waits_for_stop(queue, ended)));
      co_return;
    };
    co_return co_await in_scope(body, {.deadline = deadline});
  };
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  EXPECT_EQ(sync_wait(parent(nothing, ended, within(1ms))), timed_out);
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return waiting(nothing) == 1; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(parent(nothing, ended, {}), stop.get_token()), stopped);
  EXPECT_EQ(ended, 2);
}

// -- sync_wait --------------------------------------------------------------------------------------

TEST_F(Scopes, UnderSyncWaitACoroutineThatForgetsToJoinDoesNotHang) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  for (const bool throws : {false, true}) {
    std::atomic<int> ended = 0;
    EXPECT_EQ(error_of([&] { sync_wait(forgets_to_join(nothing, ended, throws)); }),
              throws ? "half-way" : "nothing");
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(Scopes, WhatWasSpawnedUnderSyncWaitEndsBeforeItsLoopDoes) {
  const auto spawns = [](Scope& scope, std::atomic<int>& count) -> Lazy<> {
    EXPECT_TRUE(scope.spawn(counts(count)));
    const auto sleeps_first = [](std::atomic<int>& each) -> Lazy<> {
      co_await sleep_for(1ms);
      ++each;
    };
    EXPECT_TRUE(scope.spawn(sleeps_first(count)));
    co_return;
  };
  std::atomic<int> count = 0;
  Scope scope;
  sync_wait(spawns(scope, count));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 2);
}

TEST_F(Scopes, SyncWaitInAChildIsStoppedWithTheScope) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Scope scope;
  scope.spawn([&] { sync_wait(waits_for_stop(nothing, ended), scope.stop_token()); });
  eventually([&] { return waiting(nothing) == 1; });
  scope.request_stop();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 1);
}

TEST_F(Scopes, AJobThatRunsOnTopOfAChildBelongsToNoScope) {
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, [&] {
    scope.request_stop();
    auto other = pool.submit([] {
      const Scope its_own;
      return its_own.stop_token().stop_requested();
    });
    ASSERT_TRUE(other);
    EXPECT_EQ(other->get(), false) << "it was not spawned into the scope";
  }));
  EXPECT_EQ(scope.join(), done);
}

// -- What people see --------------------------------------------------------------------------------

std::optional<WaitInfo> wait_to(std::string_view operation, std::string_view name) {
  for (const WaitInfo& each : waits()) {
    if (each.operation == operation && each.name == name) return each;
  }
  return std::nullopt;
}

TEST_F(Scopes, WaitsShowsThePathOfScopesAndWhoLives) {
  BlockingQueue<int> rows{{.capacity = 1, .name = "rows"}};
  BlockingQueue<int> pages{{.capacity = 1, .name = "pages"}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  {
    Scope server{{.name = "server"}};
    server.spawn([&] {
      Scope requests{{.name = "requests"}};
      EXPECT_TRUE(requests.spawn(pool, waits_for_stop(rows, ended)));
      requests.spawn(waiting_for_stop(pages, ended));
      EXPECT_EQ(requests.join(), stopped);
    });
    eventually(
        [&] { return waiting(rows) == 1 && waiting(pages) == 1 && wait_to("join", "requests"); });
    EXPECT_EQ(wait_to("take", "rows")->scope, "server / requests");
    EXPECT_EQ(wait_to("take", "pages")->scope, "server / requests");
    const auto join = *wait_to("join", "requests");
    EXPECT_EQ(join.kind, "Scope");
    EXPECT_EQ(join.scope, "server") << "who joins is a child of the outer one";
    EXPECT_THAT(join.held_by, AllOf(HasSubstr("2 live"), HasSubstr("coroutine of scope_test.cpp:"),
                                    HasSubstr("thread of scope_test.cpp:")));
    server.request_stop();
    // Its own stop is no reason to say `stopped`; that of the inner one is its maker's.
    EXPECT_EQ(server.join(), done);
  }
  EXPECT_EQ(ended, 2);
}

TEST_F(Scopes, WaitsShowsWhatADestructorWaitsForAndACoroutineThatJoins) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 1, .capacity = 16, .name = "crew"}};
  const auto parent = [](Event& event, std::atomic<int>& count) -> Lazy<> {
    Scope scope{{.name = "awaited"}};
    EXPECT_TRUE(scope.spawn(waits_for(event, count)));
    static_cast<void>(co_await scope.async_join());
  };
  Scope outer{{.name = "outer"}};
  ASSERT_TRUE(outer.spawn(pool, parent(go, ended)));
  eventually([&] { return wait_to("join", "awaited").has_value(); });
  const auto awaited = *wait_to("join", "awaited");
  EXPECT_EQ(awaited.thread, "crew");
  EXPECT_EQ(awaited.scope, "outer");
  EXPECT_THAT(awaited.held_by, HasSubstr("1 live: coroutine of scope_test.cpp:"));
  EXPECT_FALSE(awaited.awaited_by.empty());
  std::jthread ender([&] {
    Scope ending{{.name = "ending"}};
    ending.spawn([&] { EXPECT_EQ(go.wait(), done); });  // Deaf to the stop.
  });
  eventually([&] { return wait_to("end", "ending").has_value(); });
  go.set();
  EXPECT_EQ(outer.join(), done);
}

TEST_F(Scopes, ManyWhoLiveAreShownInShort) {
  Event go;
  Scope scope{{.name = "crowd"}};
  for (int i = 0; i < 6; ++i) scope.spawn([&] { EXPECT_EQ(go.wait(), done); });
  std::jthread joiner([&] { EXPECT_EQ(scope.join(), done); });
  eventually([&] { return wait_to("join", "crowd").has_value(); });
  EXPECT_THAT(wait_to("join", "crowd")->held_by, AllOf(HasSubstr("6 live: "), HasSubstr("...")));
  go.set();
}

TEST_F(Scopes, WaitsMayBeAskedWhileScopesComeAndGo) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<bool> is_over = false;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  std::jthread asker([&] {
    while (!is_over) static_cast<void>(to_table(waits()));
  });
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ended = 0;
    Scope outer;  // Without names: they get numbers when somebody first joins them.
    const auto makes_inner = [](BlockingQueue<int>& queue, std::atomic<int>& count) -> Lazy<> {
      Scope inner;
      EXPECT_TRUE(inner.spawn(waits_for_stop(queue, count)));
      static_cast<void>(co_await inner.async_join());
    };
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(outer.spawn(pool, makes_inner(nothing, ended)));
    EXPECT_EQ(outer.join({.deadline = within(100us)}), timed_out);
    eventually([&] { return waiting(nothing) == 3; });
    outer.request_stop();
    ASSERT_EQ(outer.join(), done);
    ASSERT_EQ(ended, 3);
  }
  is_over = true;
}

TEST_F(Scopes, AnErrorThatNobodyAskedForIsLogged) {
  const Log log;
  {
    Scope scope{{.name = "careless"}};
    scope.spawn([] { fail("unheard"); });
  }
  EXPECT_THAT(log.lines(), ElementsAre(AllOf(HasSubstr("careless"), HasSubstr("unheard"))));
}

TEST_F(Scopes, SeveralErrorsThatNobodyAskedForAreOneLine) {
  const Log log;
  {
    Scope scope{{.name = "careless", .collect = true}};
    for (int i = 0; i < 3; ++i) scope.spawn([] { fail("unheard"); });
  }
  EXPECT_THAT(log.lines(), ElementsAre(AllOf(HasSubstr("unheard"), HasSubstr("and 2 more"))));
}

TEST_F(Scopes, ErrorsThatWereAskedForAreNotLogged) {
  const Log log;
  {
    Scope scope{{.name = "careful"}};
    scope.spawn([] { fail("heard"); });
    EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "heard");
  }
  {
    Scope scope{{.name = "careful", .collect = true}};
    for (int i = 0; i < 3; ++i) scope.spawn([] { fail("heard"); });
    EXPECT_EQ(scope.join(), done);
    EXPECT_THAT(scope.errors(), SizeIs(3));
  }
  EXPECT_THAT(log.lines(), IsEmpty());
}

// -- No orphans -------------------------------------------------------------------------------------

enum class Ending : std::uint8_t { success, error, timeout, stop, destructor };

constexpr std::pair<Ending, const char*> every_ending[] = {{Ending::success, "success"},
                                                           {Ending::error, "an_error"},
                                                           {Ending::timeout, "a_timeout"},
                                                           {Ending::stop, "a_stop"},
                                                           {Ending::destructor, "its_destructor"}};

class NoOrphans : public Scopes,
                  public ::testing::WithParamInterface<std::pair<Ending, const char*>> {};

Lazy<> waits_either_way(Event& event) {
  const Alive alive;
  static_cast<void>(co_await event.async_wait());
}

Lazy<> family(Event& event, int depth) {
  const Alive alive;
  Scope scope;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(scope.spawn(depth == 0 ? waits_either_way(event) : family(event, depth - 1)));
  }
  scope.spawn([&event, alive_too = Alive()](std::stop_token stop) {
    static_cast<void>(event.wait({.stop = std::move(stop)}));
  });
  static_cast<void>(co_await scope.async_join());
}

TEST_P(NoOrphans, AfterAScopeEndsByAnyOfThem) {
  const Ending ending = GetParam().first;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  const std::size_t threads = threads_now();
  const Log log;
  for (int round = 0; round < 10; ++round) {
    Event go;
    std::stop_source stop;
    {
      // Long enough for some to have begun in some of the rounds.
      const auto deadline = ending == Ending::timeout ? within(round * 300us) : Deadline();
      Scope scope(stop.get_token(), {.deadline = deadline});
      for (int i = 0; i < 2; ++i) ASSERT_TRUE(scope.spawn(pool, family(go, 2)));
      if (round % 2 == 0 && ending != Ending::timeout) {
        eventually([&] { return go.stats().waiting_consumers == 30; });
      }
      switch (ending) {
        case Ending::success:
          go.set();
          EXPECT_EQ(scope.join(), done);
          break;
        case Ending::error:
          scope.spawn([] { fail("no luck"); });
          EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "no luck");
          break;
        case Ending::timeout: EXPECT_EQ(scope.join(), timed_out); break;
        case Ending::stop:
          stop.request_stop();
          EXPECT_EQ(scope.join(), stopped);
          break;
        case Ending::destructor: break;
      }
      if (ending != Ending::destructor) {
        EXPECT_EQ(scope.living(), 0u);
      }
    }
    EXPECT_EQ(Alive::count, 0);
    // Spares of the pool stay; nobody has blocked a worker here.
    EXPECT_TRUE(eventually([&] { return pool.stats().coroutines == 0; }));
    EXPECT_TRUE(eventually([&] { return threads_now() == threads; }));
    EXPECT_EQ(go.stats().waiting_consumers, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, NoOrphans, ::testing::ValuesIn(every_ending),
                         [](const auto& each) { return std::string(each.param.second); });

// -- Races ------------------------------------------------------------------------------------------

// Every item is with a taker, or in the queue still, however the scope ends meanwhile.
TEST_F(Scopes, StoppedTakersLoseNoItem) {
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  const auto taker = [](BlockingQueue<int>& queue, std::atomic<int>& count) -> Lazy<> {
    const Alive alive;
    while (true) {
      const auto item = co_await queue.async_take();
      if (!item) break;
      ++count;
    }
  };
  for (int round = 0; round < 150; ++round) {
    BlockingQueue<int> queue{{.capacity = 8}};
    std::atomic<int> taken = 0;
    std::atomic<int> put = 0;
    std::stop_source stop;
    Scope scope(stop.get_token());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(scope.spawn(pool, taker(queue, taken)));
    scope.spawn([&](const std::stop_token& token) {
      while (queue.take({.stop = token})) ++taken;
    });
    scope.spawn([&](const std::stop_token& token) {
      for (int i = 0; queue.put(std::move(i), {.stop = token}); ++i) {
        ++put;
      }
    });
    eventually([&] { return taken > round % 50; });
    switch (round % 3) {
      case 0: stop.request_stop(); break;
      case 1: scope.request_stop(); break;
      default: scope.spawn([] { fail("enough"); });
    }
    const auto error = error_of([&] { static_cast<void>(scope.join()); });
    ASSERT_EQ(error, round % 3 == 2 ? "enough" : "nothing");
    int left = 0;
    while (queue.poll()) ++left;
    ASSERT_EQ(put, taken + left);
  }
}

// The last child ends, the maker is stopped, the time is up and an error comes, all at the same moment.
TEST_F(Scopes, AllWaysToEndAtOnce) {
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  for (int round = 0; round < 400; ++round) {
    Event go;
    std::stop_source stop;
    std::jthread setter([&] { go.set(); });
    std::jthread stopper([&] { stop.request_stop(); });
    {
      Scope scope(stop.get_token(), {.deadline = within(20us * (round % 10))});
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(scope.spawn(pool, waits_either_way(go)));
      ASSERT_TRUE(scope.spawn(pool, fails_after(go, "too late")));
      if (round % 3 == 0) continue;  // By the destructor.
      const auto error = error_of([&] { static_cast<void>(scope.join()); });
      ASSERT_TRUE(error == "nothing" || error == "too late") << error;
    }
    ASSERT_EQ(Alive::count, 0);
  }
}

// The scope goes as soon as the last child has left: what that still does must not touch it.
TEST_F(Scopes, TheScopeMayGoAsSoonAsJoinReturns) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  for (int round = 0; round < 2000; ++round) {
    auto scope = std::make_unique<Scope>();
    ASSERT_TRUE(scope->spawn(pool, counts(count)));
    ASSERT_TRUE(scope->spawn(pool, [&] { ++count; }));
    if (round % 8 == 0) scope->spawn([&] { ++count; });
    ASSERT_EQ(scope->join(), done);
  }
  EXPECT_EQ(count, 2000 * 2 + 2000 / 8);
}

TEST_F(Scopes, CoroutinesThatMakeScopesThatGoAsSoonAsTheyAreJoined) {
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  const auto parent = [](WorkerPool& where, std::atomic<int>& count) -> Lazy<> {
    const Alive alive;
    for (int i = 0; i < 200; ++i) {
      Scope scope;
      for (int j = 0; j < 3; ++j) EXPECT_TRUE(scope.spawn(counts(count)));
      EXPECT_TRUE(scope.spawn(where, [&count] { ++count; }));
      const auto joined = co_await scope.async_join();
      EXPECT_EQ(joined, done);
    }
  };
  std::atomic<int> count = 0;
  Scope scope;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(scope.spawn(pool, parent(pool, count)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 8 * 200 * 4);
}

// A job hands in another and waits for it, while its pool is destroyed.
TEST_F(Scopes, APoolThatIsDestroyedWhileItsJobsJoinScopes) {
  const Log log;
  for (int round = 0; round < 150; ++round) {
    std::atomic<int> begun = 0;
    {
      WorkerPool pool{{.workers = 2, .capacity = 64}};
      for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(pool.post([&] {
          ++begun;
          for (int j = 0; j < 50; ++j) {
            Scope scope;
            if (!scope.spawn(pool, [] {})) return;
            static_cast<void>(error_of([&] { static_cast<void>(scope.join()); }));
          }
        }));
      }
      eventually([&] { return begun > 0; });
    }
  }
}

}  // namespace
}  // namespace handoff
