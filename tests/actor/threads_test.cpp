// On which threads actors run: those of the system, of a pool of the user's, or one of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/latch.hpp"
#include "handoff/pool.hpp"
#include "handoff/thread.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::IsEmpty;

std::size_t threads_now() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

std::thread::id thread_of(const PuppetRef& puppet) {
  std::thread::id id;
  Event known;
  EXPECT_TRUE(puppet.send(Do{[&](Puppet&) {
    id = std::this_thread::get_id();
    known.set();
  }}));
  (void)known.wait();
  return id;
}

// -- Threads of their own ---------------------------------------------------------------------------

const ActorOptions dedicated{.dedicated_thread = true};

TEST(DedicatedThreads, AreEachOneActorsOwnForItsLife) {
  ActorSystem system{{.workers = 1}};
  auto one = system.spawn<Puppet>(dedicated);
  auto other = system.spawn<Puppet>(dedicated);
  auto shared = system.spawn<Puppet>();
  const std::set<std::thread::id> all{thread_of(one), thread_of(other), thread_of(shared)};
  EXPECT_EQ(all.size(), 3u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(thread_of(one), thread_of(one));
    EXPECT_EQ(thread_of(other), thread_of(other));
  }
}

TEST(DedicatedThreads, MayBeBlockedWhileAllOthersGoOn) {
  Latch all_block{{.count = 20}};
  Event open;
  ActorSystem system{{.workers = 1}};
  std::vector<PuppetRef> blocked;
  for (int i = 0; i < 20; ++i) {
    blocked.push_back(system.spawn<Puppet>(dedicated));
    ASSERT_TRUE(blocked.back().send(Do{[&](Puppet&) {
      all_block.count_down();
      (void)open.wait();
    }}));
  }
  ASSERT_TRUE(all_block.wait());
  auto shared = system.spawn<Puppet>();
  EXPECT_THAT(notes_of(shared), IsEmpty());
  open.set();
  for (const auto& each : blocked) EXPECT_THAT(notes_of(each), IsEmpty());
}

TEST(DedicatedThreads, EndWithTheirActors) {
  ActorSystem system{{.workers = 1}};
  const auto before = threads_now();
  for (int round = 0; round < 10; ++round) {
    std::vector<PuppetRef> actors;
    for (int i = 0; i < 20; ++i) {
      actors.push_back(system.spawn<Puppet>(dedicated));
      ASSERT_TRUE(actors.back().send(Note{i}));
    }
    for (const auto& each : actors) each.stop_when_drained();
    eventually([&] { return system.size() == 0; });
  }
  // A thread that was joined may be in the list for a moment longer.
  EXPECT_TRUE(eventually([&] { return threads_now() == before; }));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST(DedicatedThreads, EndWhenTheSystemDoes) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> stopped = 0;
    {
      ActorSystem system{{.workers = 1}};
      for (int i = 0; i < 3; ++i) {
        auto each = system.spawn<Puppet>(dedicated, Script{.stop = [&](Puppet&) { ++stopped; }});
        EXPECT_THAT(notes_of(each), IsEmpty());
      }
    }
    ASSERT_EQ(stopped, 3);
  }
}

TEST(DedicatedThreads, StayOverARestart) {
  Log log;
  ActorSystem system{{.workers = 1}};
  auto puppet = system.spawn<Puppet>(dedicated);
  const auto before = thread_of(puppet);
  ASSERT_TRUE(puppet.send(Fail{"once"}));
  EXPECT_EQ(thread_of(puppet), before);
}

TEST(DedicatedThreads, AreGoneIfTheConstructorThrows) {
  ActorSystem system{{.workers = 1}};
  const auto before = threads_now();
  EXPECT_THROW((void)system.spawn<Puppet>(
                   dedicated, Script{.construct = [](Puppet&) { throw std::runtime_error("no"); }}),
               std::runtime_error);
  EXPECT_TRUE(eventually([&] { return system.size() == 0 && threads_now() == before; }));
}

TEST(DedicatedThreads, ParentsAndChildrenMayBothHaveOne) {
  ActorSystem system{{.workers = 1}};
  std::optional<PuppetRef> child;
  auto parent = system.spawn<Puppet>(
      dedicated, Script{.construct = [&](Puppet& self) { child = self.spawn<Puppet>(dedicated); }});
  EXPECT_NE(thread_of(parent), thread_of(*child));
  parent.stop();
  await_stop(parent);
  EXPECT_TRUE(child->is_stopped());
}

TEST(DedicatedThreads, AnActorOnOneMaySpawnAndStopOthers) {
  ActorSystem system{{.workers = 1}};
  auto parent = system.spawn<Puppet>(dedicated);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(parent.send(Do{[](Puppet& self) {
      auto child = self.spawn<Puppet>(dedicated);
      EXPECT_TRUE(child.ask(Notes{}, 1min));
      child.stop();
    }}));
  }
  parent.stop_when_drained();
  await_stop(parent);
  EXPECT_TRUE(eventually([&] { return system.size() == 0; }));
}

// -- A pool of the user's ---------------------------------------------------------------------------

TEST(ActorsOnAPool, RunOnItsWorkersAndStartNone) {
  WorkerPool pool{{.workers = 1, .capacity = 8}};
  const auto worker = *pool.submit([] { return std::this_thread::get_id(); })->get();
  const auto before = threads_now();
  ActorSystem system{pool};
  auto puppet = system.spawn<Puppet>();
  EXPECT_EQ(thread_of(puppet), worker);
  EXPECT_EQ(threads_now(), before);
}

TEST(ActorsOnAPool, ShareItWithJobsAndOtherSystems) {
  WorkerPool pool{{.workers = 1, .capacity = 8}};
  {
    ActorSystem one{pool};
    ActorSystem other{pool};
    auto here = one.spawn<Puppet>({.name = "same"});
    auto there = other.spawn<Puppet>({.name = "same"});
    send_notes(here, 1, 100);
    send_notes(there, 1, 100);
    EXPECT_TRUE(pool.submit([] {})->get());
    EXPECT_EQ(notes_of(here), numbers(1, 100));
    EXPECT_EQ(notes_of(there), numbers(1, 100));
    ASSERT_TRUE(one.shutdown(finish_within(1min)).is_complete());
    EXPECT_EQ(notes_of(there), numbers(1, 100));
  }
  EXPECT_TRUE(pool.submit([] {})->get());  // It outlives them.
  EXPECT_TRUE(pool.shutdown(finish_within(1min)).is_complete());
}

TEST(ActorsOnAPool, KeepItFromEnding) {
  WorkerPool pool{{.workers = 1, .capacity = 8}};
  ActorSystem system{pool};
  auto puppet = system.spawn<Puppet>();
  EXPECT_EQ(pool.shutdown(finish_within(Duration::zero())).coroutines, 1u);
  send_notes(puppet, 1, 3);  // Takes no jobs any more, but the actors live.
  EXPECT_EQ(notes_of(puppet), numbers(1, 3));
  ASSERT_TRUE(system.shutdown(finish_within(1min)).is_complete());
  EXPECT_TRUE(pool.shutdown(finish_within(1min)).is_complete());
}

TEST(ActorsOnAPool, NeedOneThatIsNotShutDown) {
  WorkerPool pool{{.workers = 1, .capacity = 8}};
  (void)pool.shutdown(finish_within(1min));
  EXPECT_THROW(ActorSystem{pool}, std::invalid_argument);
}

TEST(ActorsOnAPool, DestroyTheSystemAndThenThePoolAtAnyTime) {
  const Log log;
  for (int round = 0; round < 200; ++round) {
    WorkerPool pool{{.workers = 2, .capacity = 8}};
    ActorSystem system{pool};
    for (int i = 0; i < 5; ++i) {
      const ActorOptions options{.dedicated_thread = i % 2 == 0};
      ASSERT_TRUE(system.spawn<Puppet>(options).send(Do{[](Puppet&) {}}));
    }
  }
}

}  // namespace
}  // namespace handoff
