// Failures that concern others: those that are escalated, and those of one for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "supervised.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// -- Escalated --------------------------------------------------------------------------------------

struct Escalation : Supervised {
  explicit Escalation(Directive of_roots = Directive::restart)
      : Supervised({.directive = of_roots}) {}

  // "g", "g/p" and "g/p/c", each of which leaves failures to the one above.
  void spawn_line() {
    const auto escalate = supervise({.directive = Directive::escalate});
    const Script of_parent{.construct = [this](Puppet& self) {
      auto made_now = self.spawn<Puppet>({.name = "c"});
      if (!child) child = made_now;
    }};
    const Script of_grandparent{.construct = [this, of_parent, escalate](Puppet& self) {
      auto made_now = self.spawn<Puppet>({.name = "p", .children = escalate}, of_parent);
      if (!parent) parent = made_now;
    }};
    grandparent = system.spawn<Puppet>({.name = "g", .children = escalate}, of_grandparent);
    for (const auto& each : {grandparent, parent, child}) {
      send_notes(each, 1, 1);
      EXPECT_THAT(notes_of(each), ElementsAre(1));
    }
  }
  PuppetRef grandparent;
};

struct EscalationThatResumes : Escalation {
  EscalationThatResumes() : Escalation(Directive::resume) {}
};
struct EscalationThatStops : Escalation {
  EscalationThatStops() : Escalation(Directive::stop) {}
};

TEST_F(Escalation, ReachesTheTopWhichIsRestartedWithAllBelow) {
  spawn_line();
  ASSERT_TRUE(child.send(Fail{"boom"}));
  eventually([&] { return info_of(system, "g").restarts == 1; });
  EXPECT_THAT(failures.lines(),
              ElementsAre("g/p/c escalate: boom at Fail", "g/p escalate: boom", "g restart: boom"));
  EXPECT_TRUE(parent.is_stopped());
  EXPECT_TRUE(child.is_stopped());
  EXPECT_THAT(notes_of(grandparent), IsEmpty());
  EXPECT_THAT(notes_of(*system.find<Puppet>("g/p/c")), IsEmpty());
  // Those that have stopped are counted a little longer.
  EXPECT_TRUE(eventually([&] { return system.size() == 3; }));
}

TEST_F(EscalationThatStops, EndsThemAll) {
  spawn_line();
  ASSERT_TRUE(child.send(Fail{"boom"}));
  const auto end = system.watch(grandparent).get();
  EXPECT_EQ(end->reason, StopReason::failed);
  EXPECT_EQ(end->error, "boom");
  EXPECT_TRUE(parent.is_stopped());
  EXPECT_TRUE(child.is_stopped());
  eventually([&] { return system.size() == 0; });
}

TEST_F(EscalationThatResumes, GoesDownAgainAndAllGoOn) {
  spawn_line();
  ASSERT_TRUE(child.send(Fail{"boom"}));
  for (const auto& each : {child, parent, grandparent}) {
    send_notes(each, 2, 2);
    EXPECT_THAT(notes_of(each), ElementsAre(1, 2));
  }
  EXPECT_THAT(failures.lines(),
              ElementsAre("g/p/c escalate: boom at Fail", "g/p escalate: boom", "g resume: boom"));
}

TEST_F(EscalationThatResumes, AllGoOnHoweverManyFailAtOnce) {
  spawn_line();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(child.send(Fail{"boom"}));
    ASSERT_TRUE(parent.send(Fail{"boom"}));
    ASSERT_TRUE(grandparent.send(Fail{"boom"}));
  }
  for (const auto& each : {child, parent, grandparent}) {
    send_notes(each, 2, 2);
    EXPECT_THAT(notes_of(each), ElementsAre(1, 2));
  }
  EXPECT_EQ(failures.size(), 50u * 3 + 50u * 2 + 50u);
}

TEST_F(EscalationThatResumes, WhoHasFailedTakesNoMessageUntilItIsDecided) {
  spawn_line();
  Block block;
  block.hold(grandparent);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  send_notes(child, 2, 5);
  await_state("g/p", "failed");
  EXPECT_EQ(info_of(system, "g/p/c").state, "failed");
  EXPECT_EQ(info_of(system, "g/p/c").mailbox, 4u);
  block.let_go();
  EXPECT_THAT(notes_of(child), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(EscalationThatResumes, WhoHasFailedCanBeStopped) {
  spawn_line();
  Block block;
  block.hold(grandparent);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  await_state("g/p", "failed");
  child.stop();
  await_stop(child);
  block.let_go();
  EXPECT_THAT(notes_of(parent), ElementsAre(1));
}

TEST_F(EscalationThatResumes, LeavesNothingThatCouldBeResumedOfAConstructor) {
  const auto decide = [](const Failure& failure) {
    return failure.message ? Directive::restart : Directive::escalate;
  };
  spawn_family({.decide = decide}, {.construct = [this](Puppet&) {
                 if (++made == 2) throw std::runtime_error("no memory");
               }});
  Block block;
  block.hold(child);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  send_notes(child, 1, 3);
  block.let_go();
  EXPECT_EQ(system.watch(child).get()->error, "no memory");
  EXPECT_EQ(system.dead_letter_count(), 3u);
  EXPECT_THAT(notes_of(parent), IsEmpty());
}

TEST_F(Escalation, ToOneThatStopsEndsTheChild) {
  spawn_line();
  Block block;
  block.hold(child);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  parent.stop_when_drained();
  await_state("g/p", "stopping");
  block.let_go();
  await_stop(parent);
  EXPECT_TRUE(child.is_stopped());
  EXPECT_THAT(notes_of(grandparent), ElementsAre(1));
}

TEST_F(Escalation, ToOneThatIsShutDownEndsTheChild) {
  spawn_line();
  Block block;
  block.hold(child);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  auto report = std::async(std::launch::async, [&] { return system.shutdown(finish_within(1h)); });
  await_state("g/p", "stopping");
  block.let_go();
  EXPECT_TRUE(report.get().is_complete());
}

// -- One for all ------------------------------------------------------------------------------------

struct OneForAll : Supervised {
  std::vector<PuppetRef> siblings;

  void spawn_siblings(Supervision policy, int count = 3) {
    policy.one_for_all = true;
    parent = system.spawn<Puppet>({.name = "parent", .children = supervise(std::move(policy))},
                                  Script{.construct = [this, count](Puppet& self) {
                                    if (!siblings.empty()) return;
                                    for (int i = 0; i < count; ++i)
                                      siblings.push_back(self.spawn<Puppet>());
                                  }});
    for (const auto& each : siblings) {
      send_notes(each, 1, 1);
      EXPECT_THAT(notes_of(each), ElementsAre(1));
    }
  }
  void await_restarts(std::uint64_t count) {
    for (const auto& each : siblings) {
      eventually([&] { return info_of(system, each.path()).restarts == count; });
    }
  }
};

TEST_F(OneForAll, ARestartOfOneIsARestartOfAll) {
  spawn_siblings({});
  ASSERT_TRUE(siblings[1].send(Fail{"boom"}));
  await_restarts(1);
  for (const auto& each : siblings) EXPECT_THAT(notes_of(each), IsEmpty());
  EXPECT_EQ(failures.size(), 1u);  // Only one has failed.
  EXPECT_EQ(info_of(system, siblings[0].path()).failures, 0u);
}

TEST_F(OneForAll, KeepsTheMailboxesOfAll) {
  spawn_siblings({});
  Block block;
  block.hold(siblings[0]);
  send_notes(siblings[0], 2, 5);
  ASSERT_TRUE(siblings[1].send(Fail{"boom"}));
  await_failures(1);
  eventually([&] { return info_of(system, siblings[1].path()).restarts == 1; });
  block.let_go();
  EXPECT_THAT(notes_of(siblings[0]), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(OneForAll, AStopOfOneIsAStopOfAll) {
  spawn_siblings({.directive = Directive::stop});
  ASSERT_TRUE(siblings[2].send(Fail{"boom"}));
  EXPECT_EQ(system.watch(siblings[0]).get()->reason, StopReason::requested);
  EXPECT_EQ(system.watch(siblings[1]).get()->reason, StopReason::requested);
  EXPECT_EQ(system.watch(siblings[2]).get()->reason, StopReason::failed);
  EXPECT_THAT(notes_of(parent), IsEmpty());
}

TEST_F(OneForAll, ToResumeConcernsOneOnly) {
  spawn_siblings({.directive = Directive::resume});
  ASSERT_TRUE(siblings[0].send(Fail{"boom"}));
  for (const auto& each : siblings) EXPECT_THAT(notes_of(each), ElementsAre(1));
}

TEST_F(OneForAll, OneThatIsRestartedTooOftenStopsAll) {
  spawn_siblings({.most_restarts = 1});
  ASSERT_TRUE(siblings[0].send(Fail{"boom"}));
  await_restarts(1);
  ASSERT_TRUE(siblings[0].send(Fail{"boom"}));
  for (const auto& each : siblings) await_stop(each);
  EXPECT_EQ(system.watch(siblings[0]).get()->reason, StopReason::failed);
}

TEST_F(OneForAll, RestartsForASiblingAreNotCountedAgainstOne) {
  spawn_siblings({.most_restarts = 3}, 4);
  for (std::uint64_t i = 0; i < 9; ++i) {
    ASSERT_TRUE(siblings[i % 3].send(Fail{"boom"}));
    await_restarts(i + 1);
  }
  EXPECT_THAT(notes_of(siblings[3]), IsEmpty());
}

TEST_F(OneForAll, AllMayFailAtOnce) {
  spawn_siblings({.most_restarts = 1000}, 10);
  for (int i = 0; i < 20; ++i) {
    for (const auto& each : siblings) ASSERT_TRUE(each.send(Fail{"boom"}));
  }
  await_failures(200);
  for (const auto& each : siblings) {
    send_notes(each, 7, 7);
    EXPECT_THAT(notes_of(each), ::testing::Not(::testing::Contains(1)));
  }
}

TEST_F(OneForAll, DoesNotConcernTheSiblingsOfTheParentNorThoseWithoutOne) {
  ActorSystem all{
      {.workers = 1, .supervision = {.directive = Directive::stop, .one_for_all = true}}};
  auto one = all.spawn<Puppet>();
  auto other = all.spawn<Puppet>();
  ASSERT_TRUE(one.send(Fail{"boom"}));
  await_stop(one);
  EXPECT_THAT(notes_of(other), IsEmpty());
}

}  // namespace
}  // namespace handoff
