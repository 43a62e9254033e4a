#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A watcher that writes down whom it has outlived.
struct ActorWatch : ::testing::Test {
  Log log;
  Journal ends;
  ActorSystem system{{.workers = 2}};
  Script watching{.terminated = [this](Puppet&, const Terminated& end) { write_down(end); }};
  PuppetRef watcher = system.spawn<Puppet>({.name = "watcher"}, watching);
  PuppetRef watched = system.spawn<Puppet>({.name = "watched"});

  void write_down(const Terminated& end) {
    ends.add(end.actor + " " + std::string(to_string(end.reason)) +
             (end.error.empty() ? "" : ": " + end.error));
  }
  void watch(const PuppetRef& who, const PuppetRef& whom) {
    ASSERT_TRUE(who.send(Do{[whom](Puppet& self) { self.watch(whom); }}));
    EXPECT_THAT(notes_of(who), IsEmpty());
  }
  void unwatch(const PuppetRef& who, const PuppetRef& whom) {
    ASSERT_TRUE(who.send(Do{[whom](Puppet& self) { self.unwatch(whom); }}));
    EXPECT_THAT(notes_of(who), IsEmpty());
  }
  // Until all who watch it are told, in the order they came: the last is this one. That it is stopped can be seen before.
  void stop(const PuppetRef& whom) {
    auto end = system.watch(whom);
    whom.stop();
    EXPECT_TRUE(end.get());
  }
  // All that the watcher was told before is written down once it has handled a message.
  Lines told() {
    EXPECT_THAT(notes_of(watcher), IsEmpty());
    return ends.lines();
  }
  void expect_told(const Lines& lines) {
    eventually([&] { return ends.size() >= lines.size(); });
    EXPECT_EQ(told(), lines);
  }
};

TEST_F(ActorWatch, IsToldOnceThatTheOtherHasStopped) {
  std::atomic<std::uint64_t> id = 0;
  watching.terminated = [&](Puppet&, const Terminated& end) {
    EXPECT_TRUE(watched.is_stopped());
    id = end.id;
    write_down(end);
  };
  watcher = system.spawn<Puppet>({}, watching);
  watch(watcher, watched);
  EXPECT_THAT(told(), IsEmpty());
  watched.stop();
  expect_told({"watched requested"});
  EXPECT_EQ(id, watched.id());
}

TEST_F(ActorWatch, ToWatchTwiceIsToWatchOnce) {
  watch(watcher, watched);
  watch(watcher, watched);
  stop(watched);
  expect_told({"watched requested"});
}

TEST_F(ActorWatch, AnAddressIsEnoughToWatchAndToWatchNoMore) {
  const Address<Note> known = watched;
  const auto other = system.spawn<Puppet>({.name = "other"});
  const Address<Note, Do> left = other;
  ASSERT_TRUE(watcher.send(Do{[=](Puppet& self) {
    self.watch(known);
    self.watch(left);
    self.unwatch(left);
    self.watch(Address<Note>());
  }}));
  EXPECT_THAT(told(), IsEmpty());
  stop(other);
  const auto end = system.watch(known);
  stop(watched);
  expect_told({"watched requested"});
  EXPECT_TRUE(end.is_ready());
}

TEST_F(ActorWatch, IsToldWhyTheOtherFailed) {
  ActorSystem strict{{.workers = 1, .supervision = {.directive = Directive::stop}}};
  auto failing = strict.spawn<Puppet>({.name = "failing"});
  auto end = strict.watch(failing);
  watch(watcher, failing);
  ASSERT_TRUE(failing.send(Fail{"no money"}));
  expect_told({"failing failed: Fail: no money"});
  const auto ended = end.get();
  EXPECT_EQ(ended->actor, "failing");
  EXPECT_EQ(ended->id, failing.id());
  EXPECT_EQ(ended->reason, StopReason::failed);
  EXPECT_EQ(ended->error, "Fail: no money");
}

TEST_F(ActorWatch, IsNotToldOfARestart) {
  watch(watcher, watched);
  ASSERT_TRUE(watched.send(Fail{"once"}));
  EXPECT_THAT(notes_of(watched), IsEmpty());
  EXPECT_THAT(told(), IsEmpty());
  stop(watched);
  expect_told({"watched requested"});  // What it failed by before is not why it stopped.
}

TEST_F(ActorWatch, IsToldOfOneThatHasLongStopped) {
  stop(watched);
  watch(watcher, watched);
  expect_told({"watched requested"});
}

TEST_F(ActorWatch, IsToldWhyOneHasLongFailed) {
  ActorSystem strict{{.workers = 1, .supervision = {.directive = Directive::stop}}};
  auto failing = strict.spawn<Puppet>({.name = "failing"});
  ASSERT_TRUE(failing.send(Fail{"no money"}));
  await_stop(failing);
  watch(watcher, failing);
  expect_told({"failing failed: Fail: no money"});
  const auto end = strict.watch(failing).get();
  EXPECT_EQ(end->reason, StopReason::failed);
  EXPECT_EQ(end->error, "Fail: no money");
}

TEST_F(ActorWatch, IsToldOfTheEndOfAnotherSystem) {
  ActorSystem other{{.workers = 1}};
  auto there = other.spawn<Puppet>({.name = "there"});
  watch(watcher, there);
  ASSERT_TRUE(other.shutdown(finish_within(1min)).is_complete());
  expect_told({"there shutdown"});
}

TEST_F(ActorWatch, IsToldNothingOnceItWatchesNoMore) {
  watch(watcher, watched);
  unwatch(watcher, watched);
  stop(watched);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ActorWatch, MayWatchAgain) {
  watch(watcher, watched);
  unwatch(watcher, watched);
  unwatch(watcher, watched);
  watch(watcher, watched);
  stop(watched);
  expect_told({"watched requested"});
}

TEST_F(ActorWatch, AnEndThatIsOnItsWayIsNotToldAfterUnwatch) {
  watch(watcher, watched);
  Suspension suspension;  // It holds back what would call a handler.
  suspension.hold(watcher);
  stop(watched);
  // The first message after it; the end of the other waits before that.
  ASSERT_TRUE(watcher.send(Do{[&](Puppet& self) { self.unwatch(watched); }}));
  suspension.let_go();
  EXPECT_THAT(told(), ElementsAre("watched requested"));
  // In the handler itself it is in time.
  auto other = system.spawn<Puppet>({.name = "other"});
  watch(watcher, other);
  ASSERT_TRUE(watcher.send(Do{[&](Puppet& self) {
    stop(other);
    self.unwatch(other);
  }}));
  EXPECT_THAT(told(), ElementsAre("watched requested"));
}

TEST_F(ActorWatch, IsHeldBackWhileACoroutineOfTheWatcherWaits) {
  watch(watcher, watched);
  Suspension suspension;
  suspension.hold(watcher);
  stop(watched);
  EXPECT_THAT(ends.lines(), IsEmpty());
  suspension.let_go();
  expect_told({"watched requested"});
}

TEST_F(ActorWatch, NeedsNoRoomInTheMailbox) {
  watching.start = [&](Puppet& self) { self.watch(watched); };
  auto narrow =
      system.spawn<Puppet>({.mailbox = {.capacity = 1, .when_full = WhenFull::reject}}, watching);
  Block block;
  block.hold(narrow);
  std::atomic<bool> is_handled = false;
  ASSERT_TRUE(narrow.send(Do{[&](Puppet&) { is_handled = true; }}));
  ASSERT_EQ(narrow.send(Note{2}), std::unexpected(Refusal::full));
  stop(watched);
  block.let_go();
  expect_told({"watched requested"});
  EXPECT_TRUE(eventually([&] { return is_handled.load(); }));
}

TEST_F(ActorWatch, IsToldByAllItWatches) {
  std::vector<PuppetRef> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(system.spawn<Puppet>());
    ASSERT_TRUE(watcher.send(Do{[each = all.back()](Puppet& self) { self.watch(each); }}));
  }
  for (const auto& each : all) each.stop();
  eventually([&] { return ends.size() == 200; });
  for (const auto& each : all) EXPECT_EQ(ends.count(each.path() + " requested"), 1u);
}

TEST_F(ActorWatch, AllWhoWatchOneAreTold) {
  std::vector<PuppetRef> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(system.spawn<Puppet>({}, watching));
    ASSERT_TRUE(all.back().send(Do{[this](Puppet& self) { self.watch(watched); }}));
  }
  watched.stop();
  eventually([&] { return ends.size() == 200; });
}

TEST_F(ActorWatch, TheNameIsFreeOnceTheEndIsTold) {
  watching.terminated = [&](Puppet& self, const Terminated& end) {
    auto next = self.spawn<Puppet>({.name = "next"});
    EXPECT_TRUE(system.spawn<Puppet>({.name = end.actor}));
    write_down(end);
  };
  watcher = system.spawn<Puppet>({}, watching);
  watch(watcher, watched);
  stop(watched);
  expect_told({"watched requested"});
  EXPECT_TRUE(system.find<Puppet>("watched"));
}

TEST_F(ActorWatch, GoesOnAfterARestartOfTheWatcher) {
  watch(watcher, watched);
  ASSERT_TRUE(watcher.send(Fail{"once"}));
  EXPECT_THAT(told(), IsEmpty());
  stop(watched);
  expect_told({"watched requested"});
}

TEST_F(ActorWatch, AHandlerThatThrowsIsAFailureOfTheWatcher) {
  watching.terminated = [&](Puppet&, const Terminated&) { throw std::runtime_error("not now"); };
  auto weak = system.spawn<Puppet>({.name = "weak"}, watching);
  watch(weak, watched);
  stop(watched);
  eventually([&] { return info_of(system, "weak").restarts == 1; });
  EXPECT_EQ(info_of(system, "weak").last_failure, "not now");
}

struct Awaiting : Actor<Awaiting, Do> {
  explicit Awaiting(ActorRef<Puppet> other, std::shared_ptr<Journal> to)
      : whom(std::move(other)), journal(std::move(to)) {}
  void on_start() { watch(whom); }
  void on(const Do&) { journal->add("message"); }
  Lazy<> on(Terminated end) {
    auto question = Notes{};
    const auto answer = co_await whom.async_ask(std::move(question), 1min);
    journal->add(end.actor + (answer ? "" : " is closed"));
  }
  PuppetRef whom;
  std::shared_ptr<Journal> journal;
};

TEST_F(ActorWatch, TheHandlerMayBeACoroutine) {
  const auto journal = std::make_shared<Journal>();
  (void)system.spawn<Awaiting>({}, watched, journal);
  watched.stop();
  eventually([&] { return journal->size() == 1; });
  EXPECT_THAT(journal->lines(), ElementsAre("watched is closed"));
}

// -- Watchers that end first ------------------------------------------------------------------------

TEST_F(ActorWatch, NothingIsLeftOfAWatcherThatEndsFirst) {
  auto held = std::make_shared<int>();
  for (int i = 0; i < 100; ++i) {
    watching.held = held;
    auto brief = system.spawn<Puppet>({}, watching);
    watch(brief, watched);
    stop(brief);
  }
  watching.held.reset();
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
  stop(watched);
  EXPECT_THAT(ends.lines(), IsEmpty());
}

TEST_F(ActorWatch, NothingIsLeftOfTwoThatWatchEachOther) {
  auto held = std::make_shared<int>();
  watching.held = held;
  auto one = system.spawn<Puppet>({}, watching);
  auto other = system.spawn<Puppet>({}, watching);
  watch(one, other);
  watch(other, one);
  watch(one, one);  // Is never told.
  one.stop();
  other.stop();
  await_stop(one);
  await_stop(other);
  one = other = {};
  watching.held.reset();
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
}

TEST_F(ActorWatch, EndsOfBothAtOnceLoseNobody) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> told_of = 0;
    auto one = system.spawn<Puppet>();
    auto dying = system.spawn<Puppet>();
    auto living = system.spawn<Puppet>(
        {}, Script{.terminated = [&](Puppet&, const Terminated&) { ++told_of; }});
    ASSERT_TRUE(dying.send(Do{[one](Puppet& self) { self.watch(one); }}));
    ASSERT_TRUE(living.send(Do{[one](Puppet& self) { self.watch(one); }}));
    auto end = system.watch(one);
    dying.stop();
    one.stop();
    ASSERT_TRUE(end.get());
    eventually([&] { return told_of == 1; });
    living.stop();
    await_stop(living);
  }
}

// -- From outside -----------------------------------------------------------------------------------

TEST_F(ActorWatch, AFutureIsReadyOnceItHasStopped) {
  auto end = system.watch(watched);
  EXPECT_FALSE(end.is_ready());
  watched.stop();
  const auto ended = end.get();
  EXPECT_TRUE(watched.is_stopped());
  EXPECT_EQ(ended->actor, "watched");
  EXPECT_EQ(ended->reason, StopReason::requested);
  EXPECT_EQ(ended->error, "");
}

TEST_F(ActorWatch, AFutureKnowsOfAShutdown) {
  auto end = system.watch(watched);
  ASSERT_TRUE(system.shutdown(interrupt(1min)).is_complete());
  EXPECT_EQ(end.get()->reason, StopReason::shutdown);
}

TEST_F(ActorWatch, AFutureOfNobodyIsReady) {
  EXPECT_EQ(system.watch(PuppetRef()).get()->actor, "");
}

TEST_F(ActorWatch, AFutureMayBeDroppedOrOutliveTheSystem) {
  Future<Terminated> end;
  {
    ActorSystem other{{.workers = 1}};
    auto there = other.spawn<Puppet>({.name = "there"});
    (void)other.watch(there);
    end = other.watch(there);
  }
  EXPECT_EQ(end.get()->actor, "there");
}

TEST_F(ActorWatch, ADeadLetterHookMayWatchTheOneThatEnds) {
  Future<Terminated> end;
  PuppetRef nameless;
  ActorSystem other{{.workers = 1},
                    {.on_dead_letter = [&](const DeadLetter&) { end = other.watch(nameless); }}};
  nameless = other.spawn<Puppet>();
  Block block;
  block.hold(nameless);
  send_notes(nameless, 1, 1);
  nameless.stop();
  block.let_go();
  await_stop(nameless);
  EXPECT_EQ(end.get()->actor, nameless.path());
}

}  // namespace
}  // namespace handoff
