// How an actor is restarted: what is kept and what ends, how often, and how soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/detail/core/timer_service.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "supervised.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// -- What ends with the one before ------------------------------------------------------------------

struct ActorRestart : Supervised {};

TEST_F(ActorRestart, StopsItsChildrenFirst) {
  spawn_family(Directive::restart,
               {.construct =
                    [this](Puppet& self) {
                      life.add("made");
                      const Script grandchild{.stop = [this](Puppet&) { life.add("child stop"); }};
                      auto each = self.spawn<Puppet>({.name = "x"}, grandchild);
                      EXPECT_TRUE(each.send(Note{1}));
                    },
                .stop = [this](Puppet&) { life.add("stop"); }});
  const auto before = *system.find<Puppet>("parent/child/x");
  EXPECT_THAT(notes_of(before), ElementsAre(1));
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_THAT(notes_of(child), IsEmpty());
  EXPECT_TRUE(before.is_stopped());
  EXPECT_NE(*system.find<Puppet>("parent/child/x"), before);
  EXPECT_THAT(life.lines(), ElementsAre("made", "child stop", "stop", "made"));
}

TEST_F(ActorRestart, WaitsForAChildThatIsBusy) {
  PuppetRef busy;
  spawn_family(Directive::restart, {.start = [&](Puppet& self) {
                 if (!busy) busy = self.spawn<Puppet>();
               }});
  EXPECT_THAT(notes_of(child), IsEmpty());
  Block block;
  block.hold(busy);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  send_notes(child, 1, 1);
  await_state("parent/child", "restarting");
  EXPECT_EQ(child_info().waits_for, "1 child");
  block.let_go();
  EXPECT_THAT(notes_of(child), ElementsAre(1));
}

TEST_F(ActorRestart, IsMadeOfTheArgumentsItWasSpawnedWith) {
  std::vector<int> seen;
  auto shared = std::make_shared<int>(7);
  spawn_family(Directive::restart,
               {.construct = [&seen, shared](Puppet&) { seen.push_back(*shared); }});
  shared = std::make_shared<int>(8);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_THAT(notes_of(child), IsEmpty());
  EXPECT_THAT(seen, ElementsAre(7, 7));
}

struct Slow : Actor<Slow, Note, Fail> {
  static constexpr bool reentrant = true;
  explicit Slow(std::shared_ptr<Event> until, std::shared_ptr<Journal> to)
      : open(std::move(until)), journal(std::move(to)) {
    journal->add("made");
  }
  ~Slow() { journal->add("destroyed"); }
  Lazy<> on(Note note) {
    auto* const event = open.get();
    const auto waited = co_await event->async_wait();
    journal->add((waited ? "note " : "stopped ") + std::to_string(note.number));
  }
  void on(const Fail& fail) { throw std::runtime_error(fail.text); }
  std::shared_ptr<Event> open;
  std::shared_ptr<Journal> journal;
};

TEST_F(ActorRestart, WaitsForTheCoroutinesOfTheOneBefore) {
  const auto open = std::make_shared<Event>();
  const auto journal = std::make_shared<Journal>();
  auto slow = system.spawn<Slow>({.name = "slow"}, open, journal);
  ASSERT_TRUE(slow.send(Note{1}));
  ASSERT_TRUE(slow.send(Note{2}));
  ASSERT_TRUE(slow.send(Fail{"boom"}));
  ASSERT_TRUE(slow.send(Note{3}));
  await_state("slow", "restarting");
  EXPECT_EQ(info_of(system, "slow").waits_for, "2 coroutines");
  open->set();
  eventually([&] { return journal->size() == 6; });
  const auto lines = journal->lines();
  EXPECT_EQ(lines[0], "made");
  EXPECT_EQ(journal->count("note 1") + journal->count("note 2"), 2u);
  EXPECT_THAT(Lines(lines.begin() + 3, lines.end()), ElementsAre("destroyed", "made", "note 3"));
}

TEST_F(ActorRestart, AnObjectThatIsTornDownMayFailToStop) {
  spawn_family(Directive::restart,
               {.stop = [](Puppet&) { throw std::runtime_error("cannot let go"); }});
  EXPECT_THAT(notes_of(child), IsEmpty());
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_THAT(notes_of(child), IsEmpty());
  EXPECT_EQ(child_info().restarts, 1u);
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child restart: boom at Fail",
                                            "parent/child stop: cannot let go"));
}

// -- Failures of one that stops ---------------------------------------------------------------------

TEST_F(ActorRestart, AFailureInOnStopIsSeenAndStopsNothing) {
  spawn_family(Directive::escalate,
               {.stop = [](Puppet&) { throw std::runtime_error("cannot let go"); }});
  EXPECT_THAT(notes_of(child), IsEmpty());
  child.stop();
  EXPECT_EQ(system.watch(child).get()->reason, StopReason::requested);
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child stop: cannot let go"));
  EXPECT_THAT(notes_of(parent), IsEmpty());
}

TEST_F(ActorRestart, OneThatFailsAfterItWasToldToStopIsNotMadeAnew) {
  spawn_family(Directive::restart, {.construct = [this](Puppet&) { ++made; },
                                    .stop = [this](Puppet&) { life.add("stop"); }});
  ASSERT_TRUE(child.send(Do{[](Puppet& self) {
    self.stop();
    throw std::runtime_error("boom");
  }}));
  await_stop(child);
  EXPECT_EQ(made, 1);
  EXPECT_THAT(life.lines(), ElementsAre("stop"));
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child restart: boom at Do"));
}

TEST_F(ActorRestart, ACoroutineThatFailsAfterItWasToldToStopIsSeen) {
  spawn_family(Directive::restart, {.construct = [this](Puppet&) { ++made; }});
  Event entered;
  Event open;
  ASSERT_TRUE(child.send(DoAwaiting{[&](Puppet&) -> Lazy<> {
    entered.set();
    const auto waited = co_await open.async_wait();
    if (waited) throw std::runtime_error("boom");
  }}));
  ASSERT_TRUE(entered.wait());
  child.stop();
  open.set();
  await_stop(child);
  EXPECT_EQ(made, 1);
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child restart: boom at DoAwaiting"));
}

TEST_F(ActorRestart, OneThatDrainsIsMadeAnewAndGoesOnDraining) {
  std::vector<int> handled;
  spawn_family(Directive::restart, {.construct = [this](Puppet&) { ++made; }});
  Block block;
  block.hold(child);
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(child.send(Do{[&handled, i](Puppet&) {
      handled.push_back(i);
      if (i == 5) throw std::runtime_error("boom");
    }}));
  }
  child.stop_when_drained();
  block.let_go();
  await_stop(child);
  EXPECT_EQ(handled, numbers(1, 10));
  EXPECT_EQ(made, 2);
}

// -- How often --------------------------------------------------------------------------------------

// Outlives the system.
struct Clock {
  testing::ManualClock clock;
  const TimePoint begin = now();
  std::vector<Duration> starts_at;
};

struct RestartLimits : Clock, Supervised {
  // Fails, and is there again.
  void fail_and_return() {
    ASSERT_TRUE(child.send(Fail{"boom"}));
    EXPECT_THAT(notes_of(child), IsEmpty());
  }
};

TEST_F(RestartLimits, PastTheMostInTheTimeItIsStopped) {
  spawn_family({.most_restarts = 3, .within = 1min}, {.construct = [this](Puppet&) { ++made; }});
  for (int i = 0; i < 3; ++i) fail_and_return();
  ASSERT_TRUE(child.send(Fail{"once more"}));
  const auto end = system.watch(child).get();
  EXPECT_EQ(end->reason, StopReason::failed);
  EXPECT_EQ(end->error, "Fail: once more");
  EXPECT_EQ(made, 4);
}

TEST_F(RestartLimits, OnlyThoseInTheTimeCount) {
  spawn_family({.most_restarts = 2, .within = 1min});
  for (int i = 0; i < 10; ++i) {
    fail_and_return();
    clock.advance(31s);
  }
  EXPECT_EQ(child_info().restarts, 10u);
  fail_and_return();
  ASSERT_TRUE(child.send(Fail{"too soon"}));
  await_stop(child);
}

TEST_F(RestartLimits, NoneAllowedMeansStop) {
  spawn_family({.most_restarts = 0});
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_EQ(system.watch(child).get()->reason, StopReason::failed);
}

TEST_F(RestartLimits, AConstructorThatAlwaysThrowsComesToAnEnd) {
  spawn_family({.most_restarts = 5}, {.construct = [this](Puppet&) {
                 if (++made > 1) throw std::runtime_error("never again");
               }});
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_EQ(system.watch(child).get()->error, "never again");
  EXPECT_EQ(made, 6);
  EXPECT_EQ(failures.size(), 6u);
}

TEST_F(RestartLimits, EachActorHasItsOwn) {
  PuppetRef one;
  PuppetRef other;
  (void)system.spawn<Puppet>({.children = supervise({.most_restarts = 1})},
                             Script{.construct = [&](Puppet& self) {
                               one = self.spawn<Puppet>();
                               other = self.spawn<Puppet>();
                             }});
  for (const auto& each : {one, other}) {
    ASSERT_TRUE(each.send(Fail{"boom"}));
    EXPECT_THAT(notes_of(each), IsEmpty());
  }
}

// -- How soon ---------------------------------------------------------------------------------------

struct RestartBackoff : Clock, Supervised {
  void spawn_slow(Supervision policy) {
    spawn_family(std::move(policy), {.start = [this](Puppet&) {
                   starts_at.push_back(now() - begin);
                   ++starts;
                 }});
    eventually([&] { return starts == 1; });
  }
  // Until it waits for its time.
  void fail_and_wait() {
    const auto armed = timers();
    ASSERT_TRUE(child.send(Fail{"boom"}));
    eventually([&] { return timers() == armed + 1; });
  }
  void expect_return_after(Duration delay) {
    fail_and_wait();
    EXPECT_EQ(child_info().state, "restarting");
    const int before = starts;
    const auto at = now() - begin;
    clock.advance(delay - 1ms);
    EXPECT_EQ(starts, before);
    clock.advance(1ms);
    eventually([&] { return starts == before + 1; });
    EXPECT_EQ(starts_at.back(), at + delay);
  }
  static std::size_t timers() { return detail::TimerService::shared().armed(); }
};

TEST_F(RestartBackoff, GrowsWithEachRestartUpToItsMost) {
  spawn_slow({.within = 1h, .backoff = 1s, .most_backoff = 5s});
  for (const auto delay : {1s, 2s, 4s, 5s, 5s}) expect_return_after(delay);
}

TEST_F(RestartBackoff, IsShortAgainOnceAllWasWell) {
  spawn_slow({.within = 1min, .backoff = 1s});
  expect_return_after(1s);
  expect_return_after(2s);
  clock.advance(2min);
  expect_return_after(1s);
}

TEST_F(RestartBackoff, IsNeverMoreThanItsMost) {
  spawn_slow({.backoff = 10s, .most_backoff = 3s});
  expect_return_after(3s);
}

TEST_F(RestartBackoff, MessagesWaitMeanwhile) {
  spawn_slow({.backoff = 1s});
  fail_and_wait();
  send_notes(child, 1, 10);
  EXPECT_EQ(child_info().mailbox, 10u);
  clock.advance(1s);
  EXPECT_EQ(notes_of(child), numbers(1, 10));
}

TEST_F(RestartBackoff, IsKeptBetweenTriesOfAConstructor) {
  spawn_family({.within = 1h, .backoff = 1s}, {.construct = [this](Puppet&) {
                 if (++made == 2) throw std::runtime_error("no memory");
               }});
  fail_and_wait();
  const auto armed = timers();
  clock.advance(1s);
  eventually([&] { return made == 2 && timers() == armed; });
  clock.advance(2s);
  eventually([&] { return made == 3; });
  EXPECT_THAT(notes_of(child), IsEmpty());
}

TEST_F(RestartBackoff, EndsIfItIsStopped) {
  spawn_slow({.backoff = 1h});
  fail_and_wait();
  send_notes(child, 1, 3);
  child.stop();
  await_stop(child);
  EXPECT_EQ(system.dead_letter_count(), 3u);
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(timers(), 0u);
}

TEST_F(RestartBackoff, LeavesNothingBehind) {
  auto held = std::make_shared<int>();
  spawn_family({.backoff = 1s}, {.held = held});
  fail_and_wait();
  clock.advance(1s);
  EXPECT_THAT(notes_of(child), IsEmpty());
  parent.stop();
  await_stop(parent);
  parent = child = {};
  child_script = {};
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
}

}  // namespace
}  // namespace handoff
