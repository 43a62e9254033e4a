#include "handoff/lock_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <source_location>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/log.hpp"
#include "handoff/sync.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"

namespace handoff {

// How GoogleTest shows it.
void PrintTo(const LockProblem& problem, std::ostream* out) { *out << problem.report; }

namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Kind = LockProblem::Kind;

static_assert(detail::checked_build, "these tests are about the checked build");

// Collects the reports of one test.
class LockOrder : public ::testing::Test {
 protected:
  LockOrder() {
    on_lock_problem([this](const LockProblem& problem) {
      std::lock_guard guard(mutex_);
      problems_.push_back(problem);
    });
  }
  ~LockOrder() override { on_lock_problem({}); }

  std::vector<LockProblem> problems() const {
    std::lock_guard guard(mutex_);
    return problems_;
  }

  static void take_both(auto& first, auto& second) {
    auto outer = first.hold();
    auto inner = second.hold();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<LockProblem> problems_;
};

TEST_F(LockOrder, AnInversionIsReportedThoughNothingDeadlocked) {
  Mutex a{{.name = "a"}};
  Mutex b{{.name = "b"}};
  take_both(a, b);
  EXPECT_THAT(problems(), IsEmpty());
  take_both(b, a);

  ASSERT_THAT(problems(), SizeIs(1));
  EXPECT_EQ(problems()[0].kind, Kind::order);
  EXPECT_THAT(problems()[0].locks, UnorderedElementsAre("Mutex \"a\"", "Mutex \"b\""));
}

TEST_F(LockOrder, AnInversionOfTwoThreadsIsReported) {
  Mutex a;
  Mutex b;
  std::jthread([&] { take_both(a, b); }).join();
  std::jthread([&] { take_both(b, a); }).join();
  EXPECT_THAT(problems(), SizeIs(1));
}

TEST_F(LockOrder, AnInversionIsReportedOnce) {
  Mutex a;
  Mutex b;
  for (int i = 0; i < 3; ++i) {
    take_both(a, b);
    take_both(b, a);
  }
  EXPECT_THAT(problems(), SizeIs(1));
}

TEST_F(LockOrder, ARingOfThreeLocksIsReportedWithAllThree) {
  Mutex a{{.name = "a"}};
  Mutex b{{.name = "b"}};
  Mutex c{{.name = "c"}};
  take_both(a, b);
  take_both(b, c);
  EXPECT_THAT(problems(), IsEmpty());
  take_both(c, a);
  ASSERT_THAT(problems(), SizeIs(1));
  EXPECT_THAT(problems()[0].locks,
              UnorderedElementsAre("Mutex \"a\"", "Mutex \"b\"", "Mutex \"c\""));
}

TEST_F(LockOrder, TheReportNamesBothLocksAndAllPlaces) {
  Mutex a{{.name = "accounts"}};
  Mutex b{{.name = "orders"}};
  const auto line = std::source_location::current().line();
  {
    auto outer = a.hold();  // line + 2
    auto inner = b.hold();
  }
  {
    auto outer = b.hold();  // line + 6
    auto inner = a.hold();
  }
  ASSERT_THAT(problems(), SizeIs(1));
  const std::string report = problems()[0].report;
  EXPECT_THAT(report, HasSubstr("Mutex \"accounts\""));
  EXPECT_THAT(report, HasSubstr("Mutex \"orders\""));
  for (const auto offset : {2u, 3u, 6u, 7u}) {
    EXPECT_THAT(report, HasSubstr("lock_order_test.cpp:" + std::to_string(line + offset)));
  }
}

// Not static, so that a program linked with -rdynamic knows its name; not inlined, so that it has a frame.
[[gnu::noinline]] void take_for_the_report(Mutex& first, Mutex& second) {
  std::scoped_lock outer(first);
  std::scoped_lock inner(second);
}

TEST_F(LockOrder, TheReportShowsACallStackForEachAcquisition) {
  Mutex a;
  Mutex b;
  take_for_the_report(a, b);
  take_for_the_report(b, a);
  ASSERT_THAT(problems(), SizeIs(1));
  // Six blanks begin a line of a stack: at least one for each of the four acquisitions.
  const std::string report = problems()[0].report;
  std::size_t frames = 0;
  for (auto at = report.find("\n      "); at != std::string::npos;
       at = report.find("\n      ", at + 1)) {
    ++frames;
  }
  EXPECT_GE(frames, 4u) << report;
}

TEST_F(LockOrder, AConsistentOrderIsNeverReported) {
  Mutex a;
  Mutex b;
  Mutex c;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          take_both(a, b);
          take_both(b, c);
          take_both(a, c);
        }
      });
    }
  }
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, LocksThatAreNotHeldTogetherHaveNoOrder) {
  Mutex a;
  Mutex b;
  {
    auto held = a.hold();
  }
  {
    auto held = b.hold();
  }
  {
    auto held = a.hold();
  }
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, TryLockMayBeDoneInAnyOrder) {
  Mutex a;
  Mutex b;
  take_both(a, b);
  auto outer = b.hold();
  ASSERT_TRUE(a.try_lock());
  a.unlock();
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, WhatWasTakenByTryLockIsHeldLikeAnyOther) {
  Mutex a;
  Mutex b;
  take_both(a, b);
  ASSERT_TRUE(b.try_lock());
  {
    auto inner = a.hold();
  }
  b.unlock();
  EXPECT_THAT(problems(), SizeIs(1));
}

TEST_F(LockOrder, AWaitWithADeadlineMayBeDoneInAnyOrder) {
  Mutex a;
  Mutex b;
  take_both(a, b);
  auto outer = b.hold();
  EXPECT_TRUE(a.acquire({.deadline = within(1s)}));
  EXPECT_TRUE(a.try_lock_for(1s));
  a.unlock();
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, AWaitWithAStopTokenCounts) {
  Mutex a;
  Mutex b;
  std::stop_source stop;
  take_both(a, b);
  auto outer = b.hold();
  EXPECT_TRUE(a.acquire({.stop = stop.get_token()}));
  EXPECT_THAT(problems(), SizeIs(1));
}

TEST_F(LockOrder, LocksUnlockedInAnotherOrderThanTheyWereTakenAreFollowed) {
  Mutex a;
  Mutex b;
  Mutex c;
  a.lock();
  ASSERT_TRUE(b.try_lock());  // No order between the two.
  a.unlock();
  {
    auto held = c.hold();
  }  // Under b, no longer under a.
  b.unlock();
  take_both(c, a);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, ADestroyedLockIsForgotten) {
  Mutex a;
  auto b = std::make_unique<Mutex>();
  take_both(a, *b);
  std::destroy_at(b.get());
  std::construct_at(b.get());  // Another lock at the same address.
  take_both(*b, a);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, MonitorsTakePart) {
  Monitor<int> a{{.name = "a"}};
  Mutex b{{.name = "b"}};
  {
    auto outer = a.lock();
    auto inner = b.hold();
  }
  {
    auto outer = b.hold();
    auto inner = a.lock();
  }
  ASSERT_THAT(problems(), SizeIs(1));
  EXPECT_THAT(problems()[0].locks, UnorderedElementsAre("Monitor \"a\"", "Mutex \"b\""));
}

TEST_F(LockOrder, WaitingForAConditionWithAnotherLockTakenLaterIsAnInversion) {
  Monitor<bool> monitor{{.name = "monitor"}, false};
  Condition changed{monitor, "changed"};
  Mutex other{{.name = "other"}};
  std::jthread waiter([&] {
    auto locked = monitor.lock();
    auto held = other.hold();
    // The wait gives the monitor back and takes it again, under `other`.
    EXPECT_TRUE(locked.wait(changed, [](bool ready) { return ready; }));
  });
  eventually([&] { return changed.stats().waiting_consumers == 1; });
  {
    auto locked = monitor.lock();
    *locked = true;
    locked.notify_one(changed);
  }
  waiter.join();
  EXPECT_THAT(problems(), SizeIs(1));
}

TEST_F(LockOrder, TheNumberOfOrdersIsBounded) {
  std::vector<std::string> lines;
  const auto before = set_log([&](std::string_view line) { lines.emplace_back(line); });
  {
    std::vector<std::unique_ptr<Mutex>> inner;
    Mutex outer;
    auto held = outer.hold();
    for (int i = 0; i < 5000; ++i) {
      auto last = inner.emplace_back(std::make_unique<Mutex>())->hold();
    }
  }
  set_log(before);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("4096 orders")));
  // Their destruction has made room again.
  Mutex a;
  Mutex b;
  take_both(a, b);
  take_both(b, a);
  EXPECT_THAT(problems(), SizeIs(1));
}

// -- Deadlocks -------------------------------------------------------------------------------------

// Two threads that each hold one lock and want the other's; a stop ends it.
class Embrace {
 public:
  explicit Embrace(Deadline deadline = {}) : deadline_(deadline) {
    threads_.emplace_back([this] { run("left", a_, b_); });
    threads_.emplace_back([this] { run("right", b_, a_); });
    eventually([this] { return holding_ == 2; });
  }
  ~Embrace() { stop_.request_stop(); }

  void go() { go_ = true; }
  void stop() { stop_.request_stop(); }
  bool both_wait() const {
    return a_.stats().waiting_consumers == 1 && b_.stats().waiting_consumers == 1;
  }

 private:
  void run(const char* name, Mutex& first, Mutex& second) {
    name_this_thread(name);
    auto held = first.hold();
    ++holding_;
    eventually([this] { return go_.load(); });
    auto both = second.acquire({.deadline = deadline_, .stop = stop_.get_token()});
  }

  Mutex a_{{.name = "a"}};
  Mutex b_{{.name = "b"}};
  const Deadline deadline_;
  std::stop_source stop_;
  std::atomic<int> holding_{0};
  std::atomic<bool> go_{false};
  std::vector<std::jthread> threads_;
};

std::vector<LockProblem> deadlocks_among(const std::vector<LockProblem>& problems) {
  std::vector<LockProblem> found;
  for (const auto& problem : problems) {
    if (problem.kind == Kind::deadlock) found.push_back(problem);
  }
  return found;
}

TEST_F(LockOrder, ADeadlockIsReportedWhenItsLastThreadParks) {
  Embrace embrace;
  EXPECT_THAT(problems(), IsEmpty());
  embrace.go();
  eventually([&] { return !deadlocks_among(problems()).empty(); });

  const auto deadlock = deadlocks_among(problems())[0];
  EXPECT_THAT(deadlock.locks, UnorderedElementsAre("Mutex \"a\"", "Mutex \"b\""));
  EXPECT_THAT(deadlock.report, HasSubstr("left waits to lock Mutex \"b\""));
  EXPECT_THAT(deadlock.report, HasSubstr("right waits to lock Mutex \"a\""));
  EXPECT_THAT(deadlock.report, HasSubstr("held by left, since "));
  EXPECT_THAT(deadlock.report, HasSubstr("lock_order_test.cpp:"));
}

TEST_F(LockOrder, ADeadlockIsReportedOnce) {
  Embrace embrace;
  embrace.go();
  eventually([&] { return embrace.both_wait(); });
  eventually([&] { return !deadlocks_among(problems()).empty(); });
  embrace.stop();
  EXPECT_THAT(deadlocks_among(problems()), SizeIs(1));
}

TEST_F(LockOrder, LockingSharedWhatOneHoldsSharedIsReported) {
  SharedMutex prices{{.name = "prices"}};
  auto outer = prices.hold_shared();
  auto inner = prices.hold_shared();  // Works, as long as no writer comes between.
  ASSERT_THAT(problems(), SizeIs(1));
  EXPECT_EQ(problems()[0].kind, Kind::recursion);
  EXPECT_THAT(problems()[0].locks, ElementsAre("SharedMutex \"prices\""));
}

TEST_F(LockOrder, ADeadlockThroughOneOfSeveralReadersIsFound) {
  SharedMutex prices{{.name = "prices"}};
  Mutex orders{{.name = "orders"}};
  std::stop_source stop;
  auto bystander = prices.hold_shared();
  std::jthread reader([&] {
    auto reading = prices.hold_shared();
    eventually([&] { return prices.stats().waiting_consumers == 1; });
    auto both = orders.acquire({.stop = stop.get_token()});
  });
  eventually([&] { return prices.stats().size == 2; });
  std::jthread writer([&] {
    auto held = orders.hold();
    auto both = prices.acquire({.stop = stop.get_token()});
  });
  eventually([&] { return !deadlocks_among(problems()).empty(); });
  stop.request_stop();
  EXPECT_THAT(deadlocks_among(problems())[0].locks,
              UnorderedElementsAre("SharedMutex \"prices\"", "Mutex \"orders\""));
}

TEST_F(LockOrder, ADeadlockIsMarkedInWaits) {
  Embrace embrace;
  embrace.go();
  eventually([&] {
    const auto all = waits();
    return all.size() == 2 && all[0].deadlocked && all[1].deadlocked;
  });
  EXPECT_THAT(to_table(waits()), HasSubstr("(deadlock)"));
}

TEST_F(LockOrder, AWaitWithADeadlineIsNoDeadlock) {
  {
    Embrace embrace{within(1h)};
    embrace.go();
    eventually([&] { return embrace.both_wait(); });
  }
  EXPECT_THAT(deadlocks_among(problems()), IsEmpty());
}

TEST_F(LockOrder, ALongQueueBehindABusyLockIsNoDeadlock) {
  Mutex mutex;
  {
    auto held = mutex.hold();
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { auto mine = mutex.hold(); });
    eventually([&] { return mutex.stats().waiting_consumers == 4; });
    held.unlock();
  }
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(LockOrder, NoDeadlockIsSeenWhereLocksAreTakenInOrderByMany) {
  Mutex a;
  Mutex b;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          auto outer = a.hold();
          if (i % 16 == 0) std::this_thread::yield();
          auto inner = b.hold();
        }
      });
    }
  }
  EXPECT_THAT(problems(), IsEmpty());
}

}  // namespace
}  // namespace handoff
