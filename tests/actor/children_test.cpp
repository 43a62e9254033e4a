#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Notes when it stops, and has one child of the same kind below it, `depth` times.
Script family(Journal& journal, int depth) {
  return {.construct =
              [&journal, depth](Puppet& puppet) {
                if (depth == 0) return;
                (void)puppet.spawn<Puppet>({.name = "child"}, family(journal, depth - 1));
              },
          .stop = [&journal](Puppet& puppet) { journal.add(puppet.path()); }};
}

struct ActorChildren : ::testing::Test {
  Log log;
  Journal journal;
  ActorSystem system{{.workers = 2}};

  void start_all(std::initializer_list<const char*> paths) {
    for (const auto* path : paths) EXPECT_THAT(notes_of(*system.find<Puppet>(path)), IsEmpty());
  }
};

TEST_F(ActorChildren, StopBeforeTheirParent) {
  auto parent = system.spawn<Puppet>({.name = "a"}, family(journal, 3));
  start_all({"a", "a/child", "a/child/child", "a/child/child/child"});
  EXPECT_EQ(system.size(), 4u);
  parent.stop();
  await_stop(parent);
  EXPECT_THAT(journal.lines(), ElementsAre("a/child/child/child", "a/child/child", "a/child", "a"));
  EXPECT_TRUE(eventually([&] { return system.size() == 0; }));  // It is counted a little longer.
}

TEST_F(ActorChildren, AreManyAndAllStop) {
  std::atomic<int> stopped = 0;
  const Script child{.start = [](Puppet&) {}, .stop = [&](Puppet&) { ++stopped; }};
  auto parent = system.spawn<Puppet>({}, Script{.construct = [&](Puppet& puppet) {
                                       for (int i = 0; i < 1000; ++i) {
                                         auto each = puppet.spawn<Puppet>({}, child);
                                         EXPECT_TRUE(each.send(Note{i}));
                                       }
                                     }});
  EXPECT_EQ(system.size(), 1001u);
  parent.stop_when_drained();
  await_stop(parent);
  EXPECT_EQ(stopped, 1000);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(ActorChildren, AParentWaitsForOneThatIsAtAMessage) {
  auto parent = system.spawn<Puppet>({.name = "a"}, family(journal, 1));
  start_all({"a", "a/child"});
  Block block;
  block.hold(*system.find<Puppet>("a/child"));
  parent.stop();
  eventually([&] { return info_of(system, "a").state == "stopping"; });
  EXPECT_EQ(info_of(system, "a").waits_for, "1 child");
  EXPECT_THAT(journal.lines(), IsEmpty());
  block.let_go();
  await_stop(parent);
  EXPECT_THAT(journal.lines(), ElementsAre("a/child", "a"));
}

TEST_F(ActorChildren, OfADrainedParentDrainToo) {
  std::vector<int> handled;
  auto parent = system.spawn<Puppet>({.name = "a"}, family(journal, 1));
  auto child = *system.find<Puppet>("a/child");
  Block block;
  block.hold(child);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(child.send(Do{[&handled, i](Puppet&) { handled.push_back(i); }}));
  }
  parent.stop_when_drained();
  block.let_go();
  await_stop(parent);
  EXPECT_EQ(handled, numbers(1, 100));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(ActorChildren, OfAStoppedParentLeaveTheirMessages) {
  auto parent = system.spawn<Puppet>({.name = "a"}, family(journal, 1));
  auto child = *system.find<Puppet>("a/child");
  Block block;
  block.hold(child);
  send_notes(child, 1, 100);
  parent.stop();
  eventually([&] { return child.send(Note{0}) == std::unexpected(Refusal::closed); });
  const auto accepted_late = system.dead_letter_count();
  EXPECT_EQ(accepted_late, 0u);
  block.let_go();
  await_stop(parent);
  EXPECT_GE(system.dead_letter_count(), 100u);
}

TEST_F(ActorChildren, AStopOfAParentThatDrainsReachesThem) {
  auto parent = system.spawn<Puppet>({.name = "a"}, family(journal, 1));
  auto child = *system.find<Puppet>("a/child");
  start_all({"a", "a/child"});
  Block block;
  block.hold(child);
  send_notes(child, 1, 100);
  parent.stop_when_drained();
  eventually([&] { return info_of(system, "a").state == "stopping"; });
  parent.stop();
  block.let_go();
  await_stop(parent);
  EXPECT_EQ(system.dead_letter_count(), 100u);
}

TEST_F(ActorChildren, MayStopWithoutTheirParent) {
  auto parent = system.spawn<Puppet>({.name = "a"}, family(journal, 1));
  auto child = *system.find<Puppet>("a/child");
  start_all({"a", "a/child"});
  child.stop();
  await_stop(child);
  send_notes(parent, 1, 1);
  EXPECT_THAT(notes_of(parent), ElementsAre(1));
  ASSERT_TRUE(parent.send(Do{[](Puppet& self) {
    (void)self.spawn<Puppet>({.name = "child"});  // The name is free.
  }}));
  EXPECT_THAT(notes_of(parent), ElementsAre(1));
  EXPECT_NE(*system.find<Puppet>("a/child"), child);
}

TEST_F(ActorChildren, ReferToTheirParentOnlyByName) {
  auto held = std::make_shared<int>();
  std::optional<PuppetRef> child;
  auto parent = system.spawn<Puppet>(
      {.name = "a"},
      Script{.construct = [&](Puppet& self) { child = self.spawn<Puppet>({.name = "b"}); },
             .held = held});
  parent.stop();
  await_stop(parent);
  parent = {};
  EXPECT_EQ(child->path(), "a/b");  // Also after its parent's end.
  child.reset();
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
}

// -- Spawned too late -------------------------------------------------------------------------------

TEST_F(ActorChildren, OfOneThatStopsHaveStoppedFromTheStart) {
  std::atomic<int> made = 0;
  std::optional<PuppetRef> child;
  auto parent = system.spawn<Puppet>(
      {}, Script{.stop = [&](Puppet& self) {
        child = self.spawn<Puppet>({.name = "late"}, Script{.construct = [&](Puppet&) { ++made; }});
        EXPECT_TRUE(child->is_stopped());
        EXPECT_EQ(child->send(Note{1}), std::unexpected(Refusal::closed));
      }});
  EXPECT_THAT(notes_of(parent), IsEmpty());
  parent.stop();
  await_stop(parent);
  ASSERT_TRUE(child);
  EXPECT_EQ(made, 0);
  eventually([&] { return system.size() == 0; });
}

TEST_F(ActorChildren, AfterTheShutdownOneHasStoppedFromTheStart) {
  ASSERT_TRUE(system.shutdown(finish_within(1min)).is_complete());
  std::atomic<int> made = 0;
  auto late = system.spawn<Puppet>({.name = "late"}, Script{.construct = [&](Puppet&) { ++made; }});
  EXPECT_TRUE(late);
  EXPECT_TRUE(late.is_stopped());
  EXPECT_EQ(late.path(), "late");
  EXPECT_EQ(late.send(Note{1}), std::unexpected(Refusal::closed));
  EXPECT_EQ(late.ask(Notes{}, 1min).error(), AskError::Code::closed);
  EXPECT_EQ(system.watch(late).get()->reason, StopReason::shutdown);
  EXPECT_FALSE(system.find<Puppet>("late"));
  EXPECT_EQ(made, 0);
  EXPECT_EQ(system.size(), 0u);
  (void)system.spawn<Puppet>({.name = "late"});  // The name was not kept.
}

// -- References -------------------------------------------------------------------------------------

TEST(ActorReferences, OutliveTheSystem) {
  PuppetRef puppet;
  PuppetRef child;
  std::uint64_t id = 0;
  {
    ActorSystem system{{.workers = 1}};
    puppet = system.spawn<Puppet>(
        {.name = "a"}, Script{.construct = [&](Puppet& self) { child = self.spawn<Puppet>(); }});
    id = puppet.id();
  }
  EXPECT_TRUE(puppet.is_stopped());
  EXPECT_EQ(puppet.send(Note{1}), std::unexpected(Refusal::closed));
  EXPECT_EQ(puppet.ask(Notes{}, 1min).error(), AskError::Code::closed);
  puppet.stop();
  puppet.stop_when_drained();
  EXPECT_EQ(puppet.path(), "a");
  EXPECT_EQ(puppet.id(), id);
  EXPECT_EQ(child.path(), "a/Puppet#" + std::to_string(child.id()));
  const Address<Note> address = child;
  EXPECT_EQ(address.send(Note{1}), std::unexpected(Refusal::closed));
}

TEST(ActorReferences, OfAnotherSystemCanBeUsedByActors) {
  PuppetRef gone;
  {
    ActorSystem system{{.workers = 1}};
    gone = system.spawn<Puppet>();
  }
  ActorSystem system{{.workers = 1}};
  ActorSystem other{{.workers = 1}};
  auto there = other.spawn<Puppet>();
  auto here = system.spawn<Puppet>();
  ASSERT_TRUE(here.send(Do{[&](Puppet&) {
    EXPECT_EQ(gone.send(Note{1}), std::unexpected(Refusal::closed));
    EXPECT_EQ(gone.ask(Notes{}, 1min).error(), AskError::Code::closed);
    EXPECT_TRUE(there.send(Note{2}));
    EXPECT_THAT(*there.ask(Notes{}, 1min), ElementsAre(2));
  }}));
  EXPECT_THAT(notes_of(here), IsEmpty());
}

TEST(ActorReferences, OfNobodyRefuseEverything) {
  const PuppetRef nobody;
  EXPECT_FALSE(nobody);
  EXPECT_TRUE(nobody.is_stopped());
  EXPECT_EQ(nobody.id(), 0u);
  EXPECT_EQ(nobody.path(), "");
  EXPECT_EQ(nobody.send(Note{1}), std::unexpected(Refusal::closed));
  EXPECT_EQ(nobody.ask(Notes{}, 1min).error(), AskError::Code::closed);
  nobody.stop();
  EXPECT_EQ(nobody, PuppetRef());
}

}  // namespace
}  // namespace handoff
