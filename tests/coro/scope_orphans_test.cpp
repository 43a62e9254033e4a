// Scope: what waits() shows of it, that nobody is left over, and races.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "coro/scope_children.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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
    EXPECT_THAT(join.held_by,
                AllOf(HasSubstr("2 live"), HasSubstr("coroutine of scope_orphans_test.cpp:"),
                      HasSubstr("thread of scope_orphans_test.cpp:")));
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
  EXPECT_THAT(awaited.held_by, HasSubstr("1 live: coroutine of scope_orphans_test.cpp:"));
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

// -- Children that leave without the scope's lock -------------------------------------------------

// Who sees that nobody lives any more may destroy the scope at once.
TEST_F(Scopes, TheLastThatLeavesIsDoneWithTheScope) {
  WorkerPool pool{{.workers = 3, .capacity = 64}};
  for (int round = 0; round < 2'000; ++round) {
    std::atomic<int> count = 0;
    auto scope = std::make_unique<Scope>();
    const int children = round % 40 + 1;
    for (int i = 0; i < children; ++i) ASSERT_TRUE(scope->spawn(pool, counts(count)));
    while (scope->living() > 0) std::this_thread::yield();
    scope.reset();
    EXPECT_EQ(count, children);
  }
}

// The numbers agree while thousands come and go, and with them the names of those that live.
TEST_F(Scopes, TheOnesThatHaveLeftAreNotCountedNorNamed) {
  std::atomic<int> count = 0;
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  Scope scope{{.name = "busy"}};
  ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  for (int i = 1; i <= 5'000; ++i) {
    ASSERT_TRUE(scope.spawn(pool, counts(count)));
    const std::size_t living = scope.living();
    ASSERT_GE(living, 1u);
    ASSERT_LE(living, static_cast<std::size_t>(i) + 1);
  }
  eventually([&] { return count == 5'000 && scope.living() == 1; });
  std::jthread joiner([&] { EXPECT_EQ(scope.join(), done); });
  eventually([&] { return wait_to("join", "busy").has_value(); });
  EXPECT_THAT(wait_to("join", "busy")->held_by,
              AllOf(HasSubstr("1 live: coroutine of"), Not(HasSubstr(", "))));
  scope.request_stop();
}

// Those that leave while somebody joins, and gives up joining, and joins again.
TEST_F(Scopes, ChildrenLeaveWhileJoinersComeAndGo) {
  WorkerPool pool{{.workers = 2, .capacity = 64}};
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> count = 0;
    Scope scope;
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(scope.spawn(pool, counts(count)));
      if (i % 8 == 0) static_cast<void>(scope.join({.deadline = within(1us)}));
    }
    EXPECT_EQ(scope.join(), done);
    EXPECT_EQ(count, 50);
    EXPECT_EQ(scope.living(), 0u);
  }
}

}  // namespace
}  // namespace handoff
