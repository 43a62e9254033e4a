#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One that leaves so many messages when it stops.
void leave(ActorSystem& system, std::string_view name, int first, int last) {
  auto puppet = system.spawn<Puppet>({.name = name});
  Block block;
  block.hold(puppet);
  send_notes(puppet, first, last);
  puppet.stop();
  block.let_go();
  await_stop(puppet);
}

std::vector<std::string> reasons_of(const ActorSystem& system) {
  std::vector<std::string> reasons;
  for (const auto& each : system.dead_letters()) reasons.push_back(each.reason);
  return reasons;
}

struct ActorDeadLetters : ::testing::Test {
  Log log;
};

// -- Counted and remembered -------------------------------------------------------------------------

TEST_F(ActorDeadLetters, AreCountedAndTheLastOnesRemembered) {
  testing::ManualClock clock;
  ActorSystem system{{.workers = 1, .dead_letters = 3}};
  const auto begin = now();
  leave(system, "one", 1, 2);
  clock.advance(1h);
  leave(system, "other", 1, 2);
  EXPECT_EQ(system.dead_letter_count(), 4u);
  const auto notes = system.dead_letters();
  ASSERT_THAT(notes, SizeIs(3));
  EXPECT_EQ(notes[0].actor, "one");
  EXPECT_EQ(notes[0].type, "Note");
  EXPECT_EQ(notes[0].reason, "its actor was stopped");
  EXPECT_EQ(notes[0].at, begin);
  EXPECT_EQ(notes[1].actor, "other");
  EXPECT_EQ(notes[2].at, begin + 1h);
}

// The letter is noted in another thread.
TEST_F(ActorDeadLetters, WhoSeesOneCountedFindsItRemembered) {
  ActorSystem system{{.workers = 2, .dead_letters = 1000}};
  for (std::uint64_t i = 1; i <= 100; ++i) {
    auto puppet = system.spawn<Puppet>();
    Block block;
    block.hold(puppet);
    ASSERT_TRUE(puppet.send(Note{1}));
    puppet.stop();
    block.let_go();
    while (system.dead_letter_count() < i) std::this_thread::yield();
    ASSERT_EQ(system.dead_letters().size(), i);
  }
}

TEST_F(ActorDeadLetters, NoMoreAreRememberedThanTheOptionSays) {
  ActorSystem system{{.workers = 1}};
  for (int i = 0; i < 20; ++i) leave(system, "many", 1, 500);
  EXPECT_EQ(system.dead_letter_count(), 10'000u);
  EXPECT_THAT(system.dead_letters(), SizeIs(64));
}

TEST_F(ActorDeadLetters, NoneNeedBeRemembered) {
  ActorSystem system{{.workers = 1, .dead_letters = 0}};
  leave(system, "one", 1, 5);
  EXPECT_EQ(system.dead_letter_count(), 5u);
  EXPECT_THAT(system.dead_letters(), IsEmpty());
}

TEST_F(ActorDeadLetters, WhatWasRefusedIsNone) {
  ActorSystem system{{.workers = 1}};
  auto puppet = system.spawn<Puppet>({.mailbox = {.capacity = 1, .when_full = WhenFull::reject}});
  Block block;
  block.hold(puppet);
  ASSERT_TRUE(puppet.send(Do{[](Puppet&) {}}));
  EXPECT_EQ(puppet.send(Note{1}), std::unexpected(Refusal::full));
  puppet.stop_when_drained();
  EXPECT_EQ(puppet.send(Note{1}), std::unexpected(Refusal::closed));
  block.let_go();
  await_stop(puppet);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

// -- The reasons ------------------------------------------------------------------------------------

TEST_F(ActorDeadLetters, SayThatTheirActorFailed) {
  ActorSystem system{{.workers = 1, .supervision = {.directive = Directive::stop}}};
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  ASSERT_TRUE(puppet.send(Fail{"boom"}));
  send_notes(puppet, 1, 2);
  block.let_go();
  await_stop(puppet);
  EXPECT_THAT(reasons_of(system), ElementsAre("its actor failed", "its actor failed"));
}

TEST_F(ActorDeadLetters, SayThatTheyWereDropped) {
  std::vector<int> dropped;
  ActorSystem system{{.workers = 1}, {.on_dead_letter = [&](const DeadLetter& letter) {
                       dropped.push_back(letter.message.get_if<Note>()->number);
                     }}};
  auto puppet =
      system.spawn<Puppet>({.mailbox = {.capacity = 2, .when_full = WhenFull::drop_oldest}});
  Block block;
  block.hold(puppet);
  send_notes(puppet, 1, 5);
  block.let_go();
  EXPECT_TRUE(eventually([&] { return info_of(system, puppet.path()).mailbox == 0; }));
  EXPECT_THAT(notes_of(puppet), ElementsAre(4, 5));
  EXPECT_THAT(dropped, ElementsAre(1, 2, 3));
  EXPECT_THAT(reasons_of(system), Each("dropped as the oldest"));
  EXPECT_EQ(system.dropped(), 3u);
}

TEST_F(ActorDeadLetters, SayThatNobodyWaitedForTheAnswer) {
  testing::ManualClock clock;
  ActorSystem system{{.workers = 1}};
  auto puppet = system.spawn<Puppet>({.name = "one"});
  const Block block;
  block.hold(puppet);
  auto asking = std::async(std::launch::async, [&] { return puppet.ask(Notes{}, 1s); });
  eventually([&] { return info_of(system, "one").mailbox == 1 && clock.waiting() > 0; });
  clock.advance(1s);
  EXPECT_EQ(asking.get().error(), AskError::Code::timed_out);
  block.let_go();
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  EXPECT_THAT(reasons_of(system), ElementsAre("asked, and not waited for any more"));
}

struct Open {};
struct Closed {};
struct Door : Actor<Door, Note, Open, Closed> {
  struct Shut {
    Door* door;
    void on(Open) { door->open(); }
  };
  struct Wide {
    void on(Note) {}
  };
  using States = std::tuple<Shut, Wide>;
  Door() { become(Shut{this}); }
  void open() { become(Wide{}); }
  void on(Closed) { become(Shut{this}); }
};

TEST_F(ActorDeadLetters, SayThatTheStateHasNoHandler) {
  ActorSystem system{{.workers = 1}};
  auto door = system.spawn<Door>();
  ASSERT_TRUE(door.send(Note{1}));
  ASSERT_TRUE(door.send(Open{}));
  ASSERT_TRUE(door.send(Note{2}));
  ASSERT_TRUE(door.send(Closed{}));
  ASSERT_TRUE(door.send(Note{3}));
  door.stop_when_drained();
  eventually([&] { return door.is_stopped(); });
  EXPECT_EQ(system.dead_letter_count(), 2u);
  EXPECT_THAT(reasons_of(system), Each("not handled in this state"));
}

TEST_F(ActorDeadLetters, SayThatThereWasNoRoomInTime) {
  ActorSystem system{{.workers = 2}};
  auto narrow = system.spawn<Puppet>({.mailbox = {.capacity = 1}, .name = "narrow"});
  Block block;
  block.hold(narrow);
  auto sender = system.spawn<Puppet>({.name = "sender"});
  Event are_sent;
  ASSERT_TRUE(sender.send(Do{[&, narrow](Puppet&) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(narrow.send(Note{i}));
    are_sent.set();
  }}));
  ASSERT_TRUE(are_sent.wait());
  EXPECT_TRUE(info_of(system, "sender").waits_for.starts_with("room at narrow"));
  narrow.stop();
  block.let_go();
  await_stop(narrow);
  eventually([&] { return system.dead_letter_count() == 3; });
  auto reasons = reasons_of(system);
  std::ranges::sort(reasons);
  EXPECT_THAT(reasons,
              ElementsAre("its actor stopped before there was room",
                          "its actor stopped before there was room", "its actor was stopped"));
}

// -- The hook ---------------------------------------------------------------------------------------

TEST_F(ActorDeadLetters, AreSeenByTheHookWithTheirContent) {
  Journal seen;
  ActorSystem system{{.workers = 1}, {.on_dead_letter = [&](const DeadLetter& letter) {
                       seen.add(letter.actor + " " +
                                std::to_string(letter.message.get_if<Note>()->number) + " " +
                                std::string(letter.reason));
                     }}};
  leave(system, "one", 7, 8);
  EXPECT_THAT(seen.lines(),
              ElementsAre("one 7 its actor was stopped", "one 8 its actor was stopped"));
}

TEST_F(ActorDeadLetters, AreDestroyedAfterTheHook) {
  auto held = std::make_shared<int>();
  long during = 0;
  ActorSystem system{{.workers = 1},
                     {.on_dead_letter = [&](const DeadLetter&) { during = held.use_count(); }}};
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  ASSERT_TRUE(puppet.send(Do{[held](Puppet&) {}}));
  puppet.stop();
  block.let_go();
  await_stop(puppet);
  EXPECT_EQ(during, 2);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ActorDeadLetters, MayBeSentOnByTheHook) {
  PuppetRef heir;
  ActorSystem system{{.workers = 1}, {.on_dead_letter = [&](const DeadLetter& letter) {
                       EXPECT_TRUE(heir.send(*letter.message.get_if<Note>()));
                       EXPECT_TRUE(system.spawn<Puppet>());
                     }}};
  heir = system.spawn<Puppet>();
  leave(system, "one", 1, 5);
  EXPECT_EQ(notes_of(heir), numbers(1, 5));
  EXPECT_EQ(system.size(), 6u);
}

TEST_F(ActorDeadLetters, AHookThatThrowsIsLoggedAndTheRestIsCounted) {
  testing::ManualClock clock;
  std::atomic<int> calls = 0;
  ActorSystem system{{.workers = 1}, {.on_dead_letter = [&](const DeadLetter&) {
                       ++calls;
                       throw std::runtime_error("hook");
                     }}};
  leave(system, "one", 1, 5);
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(system.dead_letter_count(), 5u);
  EXPECT_EQ(log.count("on_dead_letter threw: hook"), 1u);  // At a bounded rate.
}

TEST_F(ActorDeadLetters, AreLoggedAtABoundedRate) {
  testing::ManualClock clock;
  ActorSystem system{{.workers = 1}};
  leave(system, "one", 1, 100);
  EXPECT_THAT(log.lines(), ElementsAre("dead letter: Note to one: its actor was stopped"));
  clock.advance(1s);
  leave(system, "other", 1, 1);
  EXPECT_THAT(log.lines(),
              ElementsAre("dead letter: Note to one: its actor was stopped",
                          "dead letter: Note to other: its actor was stopped (100 times)"));
}

TEST_F(ActorDeadLetters, ComeFromSeveralThreadsAtOnce) {
  std::atomic<std::uint64_t> seen = 0;
  ActorSystem system{{.workers = 4, .dead_letters = 10},
                     {.on_dead_letter = [&](const DeadLetter&) { ++seen; }}};
  std::vector<PuppetRef> all;
  std::uint64_t sent = 0;
  for (int i = 0; i < 50; ++i) {
    all.push_back(system.spawn<Puppet>());
    ASSERT_TRUE(all.back().send(Do{[](Puppet& self) { self.stop(); }}));
    for (int k = 0; k < 50; ++k) sent += all.back().send(Note{k}) ? 1 : 0;
  }
  for (const auto& each : all) await_stop(each);
  EXPECT_LE(system.dead_letter_count(), sent);
  EXPECT_EQ(system.dead_letter_count(), seen);
}

}  // namespace
}  // namespace handoff
