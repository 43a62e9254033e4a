// Scope: the first error stops the siblings and comes out, at every level; or all are collected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <expected>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "coro/scope_children.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/when.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  note(barren, co_await sleep_for(1h));  // The stop ends it, long before.
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

}  // namespace
}  // namespace handoff
