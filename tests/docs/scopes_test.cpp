// The code of docs/guide/scopes.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;

using Rows = handoff::BlockingQueue<std::string>;

void read(Rows& rows, const std::stop_token& stop) {
  for (int i = 0; i < 10 && rows.put("row " + std::to_string(i), {.stop = stop}); ++i) {
  }
  rows.close();
}

handoff::Lazy<> store(Rows& rows, std::atomic<int>& stored) {
  while (auto row = co_await rows.async_take()) ++stored;
}

// -- Threads, jobs, coroutines --------------------------------------------------------------------

int import_all(handoff::WorkerPool& pool) {
  Rows rows{{.capacity = 100, .name = "rows"}};
  std::atomic<int> stored = 0;
  std::atomic<bool> warmed_up = false;

  handoff::Scope scope{{.name = "import"}};
  scope.spawn([&](std::stop_token stop) { read(rows, stop); });  // A thread of its own.
  if (!scope.spawn(pool, [&] { warmed_up = true; })) return -1;  // A job of a pool.
  if (!scope.spawn(pool, store(rows, stored))) return -1;        // A coroutine on a pool.
  scope.join();                                                  // All three have ended.
  return warmed_up ? stored.load() : -1;
}

TEST(ScopesGuide, ThreadsJobsAndCoroutinesEndWithTheScope) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10, .name = "import"}};
  EXPECT_EQ(import_all(pool), 10);
}

// -- Errors ---------------------------------------------------------------------------------------

TEST(ScopesGuide, TheFirstErrorStopsTheSiblingsAndIsThrownByJoin) {
  handoff::Event never;
  bool was_told = false;
  std::string caught;
  try {
    handoff::Scope scope{{.name = "import"}};
    scope.spawn([&](std::stop_token stop) {
      was_told = !never.wait({.stop = stop});  // Ends with `stopped`.
    });
    scope.spawn([] { throw std::runtime_error("line 17 has no price"); });
    scope.join();
  } catch (const std::runtime_error& error) {
    caught = error.what();  // Both threads have ended.
  }
  EXPECT_EQ(caught, "line 17 has no price");
  EXPECT_TRUE(was_told);
}

TEST(ScopesGuide, CollectKeepsAllErrors) {
  handoff::Scope scope{{.name = "checks", .collect = true}};
  for (int i = 0; i < 3; ++i) {
    scope.spawn([i] {
      if (i != 1) throw std::runtime_error("check " + std::to_string(i) + " failed");
    });
  }
  scope.join();                        // Throws nothing, and nobody was stopped.
  const auto errors = scope.errors();  // std::vector<std::exception_ptr>
  EXPECT_EQ(errors.size(), 2);
}

// -- Deadline and stop ----------------------------------------------------------------------------

TEST(ScopesGuide, ADeadlineAsksAllToStop) {
  handoff::Event never;
  handoff::Scope scope{{.name = "request", .deadline = handoff::within(2ms)}};
  scope.spawn([&](std::stop_token stop) { (void)never.wait({.stop = stop}); });
  const auto joined = scope.join();  // Refused with `timed_out`, when all have ended.
  EXPECT_EQ(joined.error(), handoff::Refusal::timed_out);
}

TEST(ScopesGuide, AWaitForTheJoinIsSomethingElse) {
  handoff::Event done;
  handoff::Scope scope{{.name = "sweep"}};
  scope.spawn([&] { (void)done.wait(); });
  auto joined = scope.join({.deadline = handoff::within(2ms)});  // Only we have lost patience:
  EXPECT_EQ(joined.error(), handoff::Refusal::timed_out);
  EXPECT_EQ(scope.living(), 1);  // the thread goes on.
  done.set();
  EXPECT_TRUE(scope.join());
}

// -- Inside coroutines ----------------------------------------------------------------------------

handoff::Lazy<> fetch(int page, std::atomic<int>& fetched) {
  fetched += page;
  co_return;
}

handoff::Lazy<int> fetch_all() {
  std::atomic<int> fetched = 0;
  auto fetch_each = [&](handoff::Scope& scope) -> handoff::Lazy<> {
    for (int page = 1; page <= 10; ++page) scope.spawn(fetch(page, fetched)).value();
    co_return;
  };
  co_await handoff::in_scope(fetch_each, {.name = "pages"});  // Over when all ten have ended.
  co_return fetched.load();
}

TEST(ScopesGuide, ACoroutineHasItsOwnScope) { EXPECT_EQ(handoff::sync_wait(fetch_all()), 55); }

// -- Why it does not exit -------------------------------------------------------------------------

handoff::Lazy<> handle(handoff::BlockingQueue<int>& replies) {
  (void)co_await replies.async_take();
}

handoff::Lazy<> serve(handoff::BlockingQueue<int>& replies) {
  handoff::Scope requests{{.name = "requests"}};
  requests.spawn(handle(replies)).value();
  co_await requests.async_join();
}

TEST(ScopesGuide, TheTableTellsWhoStillLives) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10, .name = "web"}};
  handoff::BlockingQueue<int> replies{{.capacity = 1, .name = "replies"}};
  handoff::Scope server{{.name = "server"}};
  ASSERT_TRUE(server.spawn(pool, serve(replies)));
  std::jthread joiner([&] { server.join(); });
  eventually([&] {
    const auto table = handoff::to_table(handoff::waits());
    return table.find("server / requests") != std::string::npos &&
           table.find("1 live: coroutine of scopes_test.cpp") != std::string::npos;
  });
  replies.close();
}

}  // namespace
