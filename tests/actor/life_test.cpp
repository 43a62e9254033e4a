#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "handoff/actor.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ActorLife : ::testing::Test {
  Log log;
  ActorSystem system{{.workers = 2}};
};

// -- How it begins ----------------------------------------------------------------------------------

TEST_F(ActorLife, IsMadeByTheThreadThatSpawnsIt) {
  std::thread::id made_by;
  (void)system.spawn<Puppet>(
      {}, Script{.construct = [&](Puppet&) { made_by = std::this_thread::get_id(); }});
  EXPECT_EQ(made_by, std::this_thread::get_id());
}

TEST_F(ActorLife, ItsConstructorMayUseItselfSpawnAndSend) {
  ActorRef<Puppet> child;
  ActorRef<Puppet> itself;
  std::string path;
  auto parent = system.spawn<Puppet>({.name = "parent"}, Script{.construct = [&](Puppet& puppet) {
                                       itself = puppet.self();
                                       path = puppet.path();
                                       child = puppet.spawn<Puppet>({.name = "child"});
                                       EXPECT_TRUE(puppet.self().send(Note{1}));
                                       EXPECT_TRUE(child.send(Note{2}));
                                     }});
  EXPECT_EQ(itself, parent);
  EXPECT_EQ(path, "parent");
  EXPECT_EQ(child.path(), "parent/child");
  EXPECT_THAT(notes_of(parent), ElementsAre(1));
  EXPECT_THAT(notes_of(child), ElementsAre(2));
}

TEST_F(ActorLife, NobodyIsMadeIfTheConstructorThrows) {
  EXPECT_EQ(error_of([&] {
              (void)system.spawn<Puppet>({.name = "broken"}, Script{.construct = [](Puppet&) {
                                           throw std::runtime_error("no such file");
                                         }});
            }),
            "no such file");
  EXPECT_FALSE(system.find<Puppet>("broken"));
  (void)system.spawn<Puppet>({.name = "broken"});  // The name is free at once.
  eventually([&] { return system.size() == 1; });
}

TEST_F(ActorLife, WhatAConstructorDidBeforeItThrewComesToAnEnd) {
  ActorRef<Puppet> itself;
  ActorRef<Puppet> child;
  std::atomic<bool> was_stopped = false;
  const auto construct = [&](Puppet& puppet) {
    itself = puppet.self();
    child = puppet.spawn<Puppet>({}, Script{.stop = [&](Puppet&) { was_stopped = true; }});
    EXPECT_TRUE(child.send(Note{1}));
    EXPECT_TRUE(itself.send(Note{2}));
    EXPECT_TRUE(itself.send(Note{3}));
    throw std::runtime_error("half-way");
  };
  EXPECT_THROW((void)system.spawn<Puppet>({}, Script{.construct = construct}), std::runtime_error);
  eventually([&] { return system.size() == 0; });
  EXPECT_TRUE(itself.is_stopped());
  EXPECT_TRUE(child.is_stopped());
  EXPECT_EQ(itself.send(Note{4}), std::unexpected(Refusal::closed));
  // Those to itself; the child's may have been handled.
  EXPECT_GE(system.dead_letter_count(), 2u);
  EXPECT_LE(system.dead_letter_count(), 3u);
}

TEST_F(ActorLife, TimersOfAConstructorThatThrewAreGone) {
  auto held = std::make_shared<int>();
  const auto construct = [](Puppet& puppet) {
    puppet.every(1h, Note{1});
    throw std::runtime_error("half-way");
  };
  EXPECT_THROW((void)system.spawn<Puppet>({}, Script{.construct = construct, .held = held}),
               std::runtime_error);
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
}

TEST_F(ActorLife, AnObjectThatWasNotSpawnedHasNoSystem) {
  Puppet puppet;
  EXPECT_THROW((void)puppet.self(), std::logic_error);
  EXPECT_THROW((void)puppet.spawn<Puppet>(), std::logic_error);
  EXPECT_THROW(puppet.stop(), std::logic_error);
}

TEST_F(ActorLife, RefusesOptionsThatMakeNoSense) {
  const std::string long_name(256, 'x');
  EXPECT_THROW((void)system.spawn<Puppet>({.mailbox = {.capacity = 0}}), std::invalid_argument);
  EXPECT_THROW((void)system.spawn<Puppet>({.name = long_name}), std::invalid_argument);
  EXPECT_EQ(system.size(), 0u);
}

// -- Names ------------------------------------------------------------------------------------------

struct Other : Actor<Other, Note> {
  void on(Note) {}
};

TEST_F(ActorLife, IsFoundByItsPathAndItsClass) {
  auto shop = system.spawn<Puppet>({.name = "shop"}, Script{.start = [](Puppet& puppet) {
                                     (void)puppet.spawn<Puppet>({.name = "carts/7"});
                                   }});
  EXPECT_THAT(notes_of(shop), IsEmpty());
  EXPECT_EQ(system.find<Puppet>("shop"), shop);
  ASSERT_TRUE(system.find<Puppet>("shop/carts/7"));
  EXPECT_EQ(system.find<Puppet>("shop/carts/7")->path(), "shop/carts/7");
  EXPECT_FALSE(system.find<Puppet>("carts/7"));
  EXPECT_FALSE(system.find<Puppet>("shop/carts"));
  EXPECT_FALSE(system.find<Puppet>(""));
  EXPECT_FALSE(system.find<Other>("shop"));
}

TEST_F(ActorLife, ActorsFindEachOther) {
  auto one = system.spawn<Puppet>({.name = "one"});
  auto other = system.spawn<Puppet>({.name = "other"});
  ASSERT_TRUE(one.send(Do{[](Puppet& puppet) {
    EXPECT_TRUE(puppet.find<Puppet>("other")->send(Note{1}));
    EXPECT_FALSE(puppet.find<Puppet>("nobody"));
  }}));
  EXPECT_THAT(notes_of(one), IsEmpty());
  EXPECT_THAT(notes_of(other), ElementsAre(1));
}

TEST_F(ActorLife, WithoutANameItIsCalledByItsTypeAndANumber) {
  auto puppet = system.spawn<Puppet>();
  EXPECT_EQ(puppet.path(), "Puppet#" + std::to_string(puppet.id()));
  EXPECT_FALSE(system.find<Puppet>(puppet.path()));
}

TEST_F(ActorLife, ANameIsTakenOnceAtATime) {
  auto first = system.spawn<Puppet>({.name = "one"});
  EXPECT_EQ(error_of<std::invalid_argument>([&] { (void)system.spawn<Puppet>({.name = "one"}); }),
            "there is an actor named \"one\"");
  EXPECT_EQ(system.size(), 1u);
  EXPECT_EQ(system.find<Puppet>("one"), first);
  first.stop();
  await_stop(first);
  EXPECT_FALSE(system.find<Puppet>("one"));
  auto second = system.spawn<Puppet>({.name = "one"});
  EXPECT_NE(first.id(), second.id());
  EXPECT_EQ(system.find<Puppet>("one"), second);
}

TEST_F(ActorLife, ChildrenOfDifferentParentsMayHaveTheSameName) {
  const Script with_child{.construct = [](Puppet& puppet) {
    (void)puppet.spawn<Puppet>({.name = "child"});
    EXPECT_THROW((void)puppet.spawn<Puppet>({.name = "child"}), std::invalid_argument);
  }};
  (void)system.spawn<Puppet>({.name = "a"}, with_child);
  (void)system.spawn<Puppet>({.name = "b"}, with_child);
  EXPECT_TRUE(system.find<Puppet>("a/child"));
  EXPECT_TRUE(system.find<Puppet>("b/child"));
}

// -- How it ends ------------------------------------------------------------------------------------

TEST_F(ActorLife, StopsAfterTheMessageItIsAt) {
  auto puppet = system.spawn<Puppet>({.name = "one"});
  Block block;
  block.hold(puppet);
  send_notes(puppet, 1, 10);
  puppet.stop();
  EXPECT_EQ(puppet.send(Note{11}), std::unexpected(Refusal::closed));
  EXPECT_FALSE(puppet.is_stopped());
  EXPECT_EQ(system.dead_letter_count(), 0u);
  block.let_go();
  await_stop(puppet);
  EXPECT_EQ(system.dead_letter_count(), 10u);
  for (const auto& each : system.dead_letters()) {
    EXPECT_EQ(each.actor, "one");
    EXPECT_EQ(each.type, "Note");
    EXPECT_EQ(each.reason, "its actor was stopped");
  }
}

TEST_F(ActorLife, DrainedItHandlesWhatItHasAccepted) {
  std::vector<int> handled;
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  for (int i = 1; i <= 500; ++i) {
    ASSERT_TRUE(puppet.send(Do{[&handled, i](Puppet&) { handled.push_back(i); }}));
  }
  puppet.stop_when_drained();
  EXPECT_EQ(puppet.send(Note{}), std::unexpected(Refusal::closed));
  block.let_go();
  await_stop(puppet);
  EXPECT_EQ(handled, numbers(1, 500));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(ActorLife, AStopCutsADrainShort) {
  std::atomic<int> handled = 0;
  auto puppet = system.spawn<Puppet>();
  Block first;
  Block second;
  first.hold(puppet);
  ASSERT_TRUE(puppet.send(Do{[&](Puppet&) { ++handled; }}));
  ASSERT_TRUE(puppet.send(second.order()));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(puppet.send(Do{[&](Puppet&) { ++handled; }}));
  puppet.stop_when_drained();
  first.let_go();
  eventually([&] { return handled == 1; });
  puppet.stop();
  puppet.stop_when_drained();  // Is less than that, and changes nothing.
  second.let_go();
  await_stop(puppet);
  EXPECT_EQ(handled, 1);
  // The one that blocks may not have begun before the stop came.
  EXPECT_GE(system.dead_letter_count(), 10u);
}

TEST_F(ActorLife, MayStopItself) {
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  bool went_on = false;
  ASSERT_TRUE(puppet.send(Do{[&](Puppet& self) {
    self.stop();
    went_on = true;
    EXPECT_EQ(self.self().send(Note{}), std::unexpected(Refusal::closed));
  }}));
  send_notes(puppet, 1, 5);
  block.let_go();
  await_stop(puppet);
  EXPECT_TRUE(went_on);
  EXPECT_EQ(system.dead_letter_count(), 5u);
}

TEST_F(ActorLife, MayStopItselfWhenDrained) {
  auto puppet = system.spawn<Puppet>();
  std::atomic<int> handled = 0;
  Block block;
  block.hold(puppet);
  ASSERT_TRUE(puppet.send(Do{[](Puppet& self) { self.stop_when_drained(); }}));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(puppet.send(Do{[&](Puppet&) { ++handled; }}));
  block.let_go();
  await_stop(puppet);
  EXPECT_EQ(handled, 5);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(ActorLife, WaitsForItsCoroutineBeforeItStops) {
  auto puppet = system.spawn<Puppet>();
  Suspension suspension;
  suspension.hold(puppet);
  send_notes(puppet, 1, 3);
  puppet.stop();
  EXPECT_EQ(puppet.send(Note{}), std::unexpected(Refusal::closed));
  EXPECT_FALSE(puppet.is_stopped());
  suspension.let_go();
  await_stop(puppet);
  EXPECT_FALSE(suspension.was_stopped());
  EXPECT_EQ(system.dead_letter_count(), 3u);
}

TEST_F(ActorLife, StoppingOneThatHasStoppedDoesNothing) {
  auto puppet = system.spawn<Puppet>();
  puppet.stop();
  await_stop(puppet);
  puppet.stop();
  puppet.stop_when_drained();
  EXPECT_TRUE(eventually([&] { return system.size() == 0; }));  // It is counted a little longer.
}

TEST_F(ActorLife, NothingIsLeftOfItOnceTheLastReferenceIsGone) {
  auto held = std::make_shared<int>();
  auto puppet = system.spawn<Puppet>({.name = "one"}, Script{.held = held});
  EXPECT_GT(held.use_count(), 1);
  puppet.stop();
  await_stop(puppet);
  puppet = {};
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
}

// -- Hooks of its life ------------------------------------------------------------------------------

struct Journaled : Actor<Journaled, Note> {
  explicit Journaled(std::shared_ptr<Journal> to) : journal(std::move(to)) { journal->add("made"); }
  ~Journaled() { journal->add("destroyed"); }
  void on_start() { journal->add("started"); }
  void on_stop() { journal->add("stopped"); }
  void on(Note note) { journal->add("note " + std::to_string(note.number)); }
  std::shared_ptr<Journal> journal;
};

TEST_F(ActorLife, StartsBeforeItsFirstMessageAndEndsAfterItsLast) {
  const auto journal = std::make_shared<Journal>();
  auto actor = system.spawn<Journaled>({}, journal);
  ASSERT_TRUE(actor.send(Note{1}));
  ASSERT_TRUE(actor.send(Note{2}));
  actor.stop_when_drained();
  eventually([&] { return actor.is_stopped(); });
  EXPECT_THAT(journal->lines(),
              ElementsAre("made", "started", "note 1", "note 2", "stopped", "destroyed"));
}

TEST_F(ActorLife, StartsWithoutAMessage) {
  std::atomic<bool> has_started = false;
  (void)system.spawn<Puppet>({}, Script{.start = [&](Puppet&) { has_started = true; }});
  EXPECT_TRUE(eventually([&] { return has_started.load(); }));
}

TEST_F(ActorLife, OneThatWasStoppedBeforeItStartedIsNotToldToStop) {
  const auto journal = std::make_shared<Journal>();
  (void)system.spawn<Puppet>({}, Script{.construct = [&](Puppet& puppet) { puppet.stop(); },
                                        .start = [&](Puppet&) { journal->add("started"); },
                                        .stop = [&](Puppet&) { journal->add("stopped"); }});
  eventually([&] { return system.size() == 0; });
  EXPECT_THAT(journal->lines(), IsEmpty());
}

TEST_F(ActorLife, MaySendToOthersWhileItStops) {
  auto heir = system.spawn<Puppet>();
  auto puppet = system.spawn<Puppet>({}, Script{.stop = [&](Puppet& self) {
                                       EXPECT_TRUE(heir.send(Note{7}));
                                       EXPECT_FALSE(self.self().send(Note{8}));
                                     }});
  ASSERT_TRUE(puppet.send(Note{1}));
  puppet.stop_when_drained();
  await_stop(puppet);
  EXPECT_THAT(notes_of(heir), ElementsAre(7));
}

}  // namespace
}  // namespace handoff
