// Jobs that hand in jobs, and jobs that wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/log.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

TEST(NestedJobs, AJobMayHandInMoreThanTheQueueHolds) {
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  ASSERT_TRUE(pool.submit([&] {
                    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(pool.post([&] { ++ran; }));
                  })
                  ->get());
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
  EXPECT_EQ(ran, 10'000);
  EXPECT_EQ(pool.stats().spawned, 10'000u);
}

TEST(NestedJobs, NeitherDeadlockNorGrowWhenEachHandsInTwo) {
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  std::function<void(int)> tree = [&](int depth) {
    ++ran;
    if (depth == 0) return;
    EXPECT_TRUE(pool.post([&, depth] { tree(depth - 1); }));
    EXPECT_TRUE(pool.post([&, depth] { tree(depth - 1); }));
  };
  ASSERT_TRUE(pool.post([&] { tree(14); }));
  EXPECT_TRUE(pool.shutdown(finish_within(60s)).is_complete());
  EXPECT_EQ(ran, (1 << 15) - 1);
}

// A job that always hands itself in again must not keep others from running, nor the stack from ending.
TEST(NestedJobs, OneThatRepeatsItselfForEverStarvesNobody) {
  std::atomic<bool> enough = false;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::function<void()> again = [&] {
    if (enough) return;
    EXPECT_TRUE(pool.post([&] { again(); }));
  };
  ASSERT_TRUE(pool.post([&] { again(); }));
  EXPECT_TRUE(pool.submit([] {})->get(10s));
  enough = true;
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

// With the ring of waiting jobs full, each runs on top of the one that handed it in: at some depth the queue takes it, and
// once that is full it is refused. It neither waits for itself nor overflows the stack.
TEST(NestedJobs, AreRefusedWhenThereIsNeitherRoomNorDepthLeft) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  bool enough = false;  // Of the one worker.
  int refused = 0;
  std::function<void()> deeper = [&] {
    if (enough) return;
    if (const auto posted = pool.post([&] { deeper(); }); !posted) {
      EXPECT_EQ(posted.error(), Refusal::full);
      ++refused;
    }
  };
  ASSERT_TRUE(pool.submit([&] {
                    for (int i = 0; i < 256; ++i) EXPECT_TRUE(pool.post([] {}));
                    for (int i = 0; i < 30; ++i) deeper();
                    enough = true;
                  })
                  ->get());
  EXPECT_EQ(refused, 20);
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

// The classic: with one thread and no more, the inner job never runs.
TEST(WaitingJobs, AJobMayWaitForAnotherOfItsPoolEvenWithOneWorkerAndNoSpare) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .spares = 0}};
  auto outer = pool.submit([&] {
    auto inner = pool.submit([] { return 20; });
    return *inner->get() + 1;
  });
  EXPECT_EQ(*outer->get(10s), 21);
}

TEST(WaitingJobs, NestedWaitsAreBoundedNotByTheNumberOfWorkers) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .spares = 0}};
  std::function<int(int)> depth = [&](int left) -> int {
    if (left == 0) return 0;
    return *pool.submit([&, left] { return depth(left - 1); })->get() + 1;
  };
  EXPECT_EQ(*pool.submit([&] { return depth(50); })->get(10s), 50);
}

TEST(WaitingJobs, DeeperThanThatSparesComeIn) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .spares = 10}};
  std::function<int(int)> depth = [&](int left) -> int {
    if (left == 0) return 0;
    return *pool.submit([&, left] { return depth(left - 1); })->get() + 1;
  };
  EXPECT_EQ(*pool.submit([&] { return depth(300); })->get(30s), 300);
  EXPECT_GT(pool.stats().threads, 1u);
}

TEST(WaitingJobs, AJobWaitsForOneThatWasHandedInFromOutside) {
  Event go;
  WorkerPool pool{{.workers = 1, .capacity = 10, .spares = 0}};
  auto first = pool.submit([&] { return go.wait().has_value(); });
  auto second = pool.submit([] { return 2; });
  auto waits_for_second = pool.submit([&] { return *second->get() + 1; });
  go.set();
  EXPECT_TRUE(*first->get());
  EXPECT_EQ(*waits_for_second->get(10s), 3);
}

// Every worker waits for something that only another job can bring.
TEST(WaitingJobs, BlockingBringsInASpare) {
  BlockingQueue<int> answers{{.capacity = 2}};
  WorkerPool pool{{.workers = 2, .capacity = 10, .spares = 2}};
  std::vector<Future<int>> consumers;
  for (int i = 0; i < 2; ++i) {
    consumers.push_back(
        *pool.submit([&] { return *pool.blocking([&] { return answers.take(); }); }));
  }
  auto producer = pool.submit([&] { return answers.put(1) && answers.put(2); });
  EXPECT_TRUE(*producer->get(10s));
  EXPECT_EQ(*consumers[0].get(10s) + *consumers[1].get(10s), 3);
  EXPECT_LE(pool.stats().threads, 4u);
}

TEST(WaitingJobs, ASpareIsUsedAgain) {
  WorkerPool pool{{.workers = 1, .capacity = 10, .spares = 4}};
  for (int round = 0; round < 50; ++round) {
    Event reached;
    Event done;
    auto waits = pool.submit([&] {
      reached.set();
      return pool.blocking([&] { return done.wait().has_value(); });
    });
    ASSERT_TRUE(reached.wait());
    ASSERT_TRUE(pool.submit([&] { done.set(); })->get(10s));
    ASSERT_TRUE(*waits->get(10s));
    eventually([&] { return pool.stats().blocked == 0; });
  }
  EXPECT_LE(pool.stats().threads, 3u);
}

TEST(WaitingJobs, NeverRunsAnUnrelatedJobOnTheStackOfOneThatWaits) {
  // `first` waits for `second`, which runs elsewhere; meanwhile a third job comes. It must not run on first's stack.
  Event second_runs;
  Event let_second_end;
  WorkerPool pool{{.workers = 2, .capacity = 10, .spares = 2}};
  std::thread::id first_thread;
  std::thread::id third_thread;
  auto second = pool.submit([&] {
    second_runs.set();
    return let_second_end.wait().has_value();
  });
  ASSERT_TRUE(second_runs.wait());
  auto first = pool.submit([&] {
    first_thread = std::this_thread::get_id();
    return *second->get();
  });
  eventually([&] { return pool.stats().blocked == 1; });
  ASSERT_TRUE(pool.submit([&] { third_thread = std::this_thread::get_id(); })->get(10s));
  let_second_end.set();
  EXPECT_TRUE(*first->get(10s));
  EXPECT_NE(first_thread, third_thread);
}

TEST(WaitingJobs, SaysThatNoWorkerIsLeft) {
  std::vector<LockProblem> problems;
  auto handler = on_lock_problem([&](const LockProblem& problem) { problems.push_back(problem); });
  {
    // Two jobs that wait for each other's future, by way of a third each that cannot begin.
    std::stop_source stop;
    WorkerPool pool{{.workers = 1, .capacity = 10, .name = "tight", .spares = 0}};
    Future<int> later;
    Event handed_over;
    auto waits_for_itself = pool.submit([&] {
      (void)handed_over.wait();
      return later.get({.stop = stop.get_token()}).has_value();  // Its own future: it never ends.
    });
    auto follow = std::move(*waits_for_itself).then([](bool) { return 1; });
    later = std::move(follow);
    handed_over.set();
    eventually([&] { return pool.stats().spare_limit_hits == 1; });
    eventually([] {
      return std::ranges::any_of(waits(), [](const WaitInfo& each) {
        return each.kind == "Future" && each.held_by.starts_with("no free worker: 1 of 1");
      });
    });
    stop.request_stop();
  }
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, LockProblem::Kind::deadlock);
  EXPECT_THAT(problems[0].report,
              ::testing::HasSubstr("every worker of WorkerPool \"tight\" waits"));
  on_lock_problem(std::move(handler));
}

// To wait for another pool is no deadlock of this one.
TEST(WaitingJobs, AJobThatWaitsForAnotherPoolIsNotTakenForADeadlock) {
  std::atomic<int> problems = 0;
  auto handler = on_lock_problem([&](const LockProblem&) { ++problems; });
  auto before = set_log([](std::string_view) { throw std::runtime_error("a sink that throws"); });
  {
    Event open;
    WorkerPool other{{.workers = 1, .capacity = 10}};
    WorkerPool tight{{.workers = 1, .capacity = 10, .spares = 0}};
    ASSERT_TRUE(other.post([&] { (void)open.wait(); }));
    auto queued = other.submit([] { return 1; });
    auto waits = tight.submit([&] { return *queued->get(); });
    eventually([&] { return tight.stats().spare_limit_hits == 1; });
    open.set();
    EXPECT_EQ(*waits->get(10s), 1);
  }
  set_log(std::move(before));
  on_lock_problem(std::move(handler));
  EXPECT_EQ(problems, 0);
}

TEST(WaitingJobs, ABoundThatIsHitIsLoggedEvenIfItIsNoDeadlock) {
  std::vector<std::string> lines;
  auto before = set_log([&](std::string_view line) { lines.emplace_back(line); });
  {
    Event done;
    WorkerPool pool{{.workers = 1, .capacity = 10, .name = "tight", .spares = 0}};
    auto waits =
        pool.submit([&] { return pool.blocking([&] { return done.wait().has_value(); }); });
    eventually([&] { return pool.stats().spare_limit_hits == 1; });
    done.set();
    EXPECT_TRUE(*waits->get());
  }
  set_log(std::move(before));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("the limit of 0 spares is reached"));
}

// -- fork_join -------------------------------------------------------------------------------------

int fib(WorkerPool& pool, int n) {
  if (n < 2) return n;
  auto [a, b] = pool.fork_join([&] { return fib(pool, n - 1); }, [&] { return fib(pool, n - 2); });
  return a + b;
}

TEST(ForkJoin, GivesBothResults) {
  for (std::size_t workers : {1u, 2u, 4u}) {
    WorkerPool pool{{.workers = workers, .capacity = 1}};
    EXPECT_EQ(*pool.submit([&] { return fib(pool, 18); })->get(), 2584);
    EXPECT_EQ(fib(pool, 3), 2);  // From outside too.
  }
}

TEST(ForkJoin, RunsBothAtOnceIfAWorkerIsFree) {
  WorkerPool pool{{.workers = 2, .capacity = 1}};
  std::latch meet(2);
  pool.fork_join([&] { meet.arrive_and_wait(); }, [&] { meet.arrive_and_wait(); });
}

TEST(ForkJoin, ThrowsWhatOneOfThemThrewAfterBothHaveEnded) {
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 1}};
  EXPECT_THROW(pool.fork_join(
                   [&] {
                     ++ended;
                     throw std::runtime_error("f");
                   },
                   [&] { ++ended; }),
               std::runtime_error);
  EXPECT_EQ(ended, 2);
  EXPECT_THROW(pool.fork_join([&] { ++ended; },
                              [&] {
                                ++ended;
                                throw std::logic_error("g");
                              }),
               std::logic_error);
  EXPECT_EQ(ended, 4);
}

TEST(ForkJoin, OneThatIsHandedBackRunsAnywhere) {
  Event entered;
  std::atomic<bool> is_done = false;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.post([&](std::stop_token stop) {
    entered.set();
    Event stopped;
    (void)stopped.wait({.stop = stop});
  }));
  ASSERT_TRUE(entered.wait());
  std::jthread caller([&] {
    EXPECT_EQ(pool.fork_join([] { return 1; }, [] { return 2; }), std::pair(1, 2));
    is_done = true;
  });
  eventually([&] { return pool.stats().queued == 1; });
  auto report = pool.shutdown(interrupt());
  ASSERT_EQ(report.handed_back.size(), 1u);
  report.handed_back[0]();
  caller.join();
  EXPECT_TRUE(is_done);
}

TEST(ForkJoin, AThiefThatIsSlowIsWaitedForWithoutBurningTheCore) {
  Event stolen;
  Event go_on;
  WorkerPool pool{{.workers = 2, .capacity = 10, .spares = 1}};
  auto joined = pool.submit([&] {
    pool.fork_join([&] { (void)stolen.wait(); },
                   [&] {
                     stolen.set();
                     (void)go_on.wait();
                   });
  });
  eventually([&] { return pool.stats().blocked == 1; });
  EXPECT_EQ(*pool.submit([] { return 1; })->get(10s), 1);  // A spare does it.
  go_on.set();
  EXPECT_TRUE(joined->get(10s));
}

}  // namespace
}  // namespace handoff
