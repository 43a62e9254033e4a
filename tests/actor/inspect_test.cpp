#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<std::string, std::size_t>> tree_of(const ActorSystem& system) {
  std::vector<std::pair<std::string, std::size_t>> tree;
  for (const auto& each : system.inspect()) tree.emplace_back(each.path, each.depth);
  return tree;
}

struct ActorInspection : ::testing::Test {
  testing::ManualClock clock;
  Log log;
  ActorSystem system{{.workers = 2}};
};

// -- Who is there -----------------------------------------------------------------------------------

TEST_F(ActorInspection, ShowsTheTreeParentsFirstAndTheOldestFirst) {
  const auto with = [](std::vector<std::string> names) {
    return Script{.construct = [names](Puppet& self) {
      for (const auto& each : names) {
        (void)self.spawn<Puppet>({.name = each}, Script{.construct = [](Puppet& child) {
                                   (void)child.spawn<Puppet>({.name = "leaf"});
                                 }});
      }
    }};
  };
  EXPECT_THAT(system.inspect(), IsEmpty());
  (void)system.spawn<Puppet>({.name = "z"}, with({"2", "1"}));
  (void)system.spawn<Puppet>({.name = "a"}, with({"x"}));
  EXPECT_THAT(tree_of(system),
              ElementsAre(Pair("z", 0), Pair("z/2", 1), Pair("z/2/leaf", 2), Pair("z/1", 1),
                          Pair("z/1/leaf", 2), Pair("a", 0), Pair("a/x", 1), Pair("a/x/leaf", 2)));
  EXPECT_EQ(system.size(), 8u);
  auto gone = *system.find<Puppet>("z/2");
  gone.stop();
  await_stop(gone);
  eventually([&] { return system.size() == 6; });
  EXPECT_THAT(tree_of(system), ElementsAre(Pair("z", 0), Pair("z/1", 1), Pair("z/1/leaf", 2),
                                           Pair("a", 0), Pair("a/x", 1), Pair("a/x/leaf", 2)));
}

TEST_F(ActorInspection, CountsWhatHappenedToEach) {
  auto puppet = system.spawn<Puppet>({.mailbox = {.capacity = 50}, .name = "one"});
  send_notes(puppet, 1, 10);
  ASSERT_TRUE(puppet.send(Fail{"no money"}));
  ASSERT_TRUE(puppet.send(FailAwaiting{"no time"}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  Block block;
  block.hold(puppet);
  send_notes(puppet, 1, 3);
  const auto info = info_of(system, "one");
  EXPECT_EQ(info.type, "Puppet");
  EXPECT_EQ(info.state, "running");
  EXPECT_EQ(info.mailbox, 3u);
  EXPECT_EQ(info.capacity, 50u);
  EXPECT_EQ(info.handled, 14u);  // With the question, and the one it is at.
  EXPECT_EQ(info.failures, 2u);
  EXPECT_EQ(info.restarts, 2u);
  EXPECT_EQ(info.last_failure, "FailAwaiting: no time");
  EXPECT_EQ(info.waits_for, "its handler");
  block.let_go();
}

TEST_F(ActorInspection, CountsWhatTimersSendAsHandledAndNotAsRoom) {
  auto puppet = system.spawn<Puppet>({.mailbox = {.capacity = 2}, .name = "one"});
  ASSERT_TRUE(puppet.send(Do{[](Puppet& self) {
    self.every(1s, Do{[](Puppet&) {}});
    self.after(2s, Do{[](Puppet&) {}});
  }}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  EXPECT_EQ(info_of(system, "one").handled, 2u);
  for (const unsigned handled : {3u, 5u, 6u}) {
    clock.advance(1s);
    eventually([&] { return info_of(system, "one").handled == handled; });
  }
  Block block;
  block.hold(puppet);
  send_notes(puppet, 1, 2);
  EXPECT_EQ(info_of(system, "one").mailbox, 2u);
  EXPECT_EQ(puppet.send(Note{3}, {.deadline = within(0s)}).error(), Refusal::timed_out);
  block.let_go();
}

TEST_F(ActorInspection, ShowsTheAgeOfTheOldestMessage) {
  auto puppet = system.spawn<Puppet>({.name = "one"});
  Block block;
  block.hold(puppet);
  EXPECT_EQ(info_of(system, "one").oldest, 0s);
  send_notes(puppet, 1, 1);
  clock.advance(5s);
  send_notes(puppet, 2, 2);
  clock.advance(1s);
  EXPECT_EQ(info_of(system, "one").oldest, 6s);
  block.let_go();
  EXPECT_THAT(notes_of(puppet), ElementsAre(1, 2));
  EXPECT_EQ(info_of(system, "one").oldest, 0s);
}

struct Urgent {
  static constexpr int priority = 1;
};
struct Ordered : Actor<Ordered, Urgent, Note> {
  void on(Urgent) {
    entered.set();
    (void)open.wait();
  }
  void on(Note) {}
  static inline Event entered;
  static inline Event open;
};

TEST_F(ActorInspection, TheOldestMessageMayBeOneThatIsLessUrgent) {
  Ordered::entered.reset();
  Ordered::open.reset();
  auto actor = system.spawn<Ordered>({.name = "one"});
  ASSERT_TRUE(actor.send(Urgent{}));
  ASSERT_TRUE(Ordered::entered.wait());
  ASSERT_TRUE(actor.send(Note{}));
  clock.advance(5s);
  ASSERT_TRUE(actor.send(Urgent{}));
  clock.advance(1s);
  EXPECT_EQ(info_of(system, "one").oldest, 6s);
  EXPECT_EQ(info_of(system, "one").mailbox, 2u);
  Ordered::open.set();
}

TEST_F(ActorInspection, ActorsMayLookAtTheSystemThemselves) {
  auto puppet = system.spawn<Puppet>({.name = "one"});
  ASSERT_TRUE(puppet.send(Do{[&](Puppet&) {
    EXPECT_THAT(tree_of(system), ElementsAre(Pair("one", 0)));
    EXPECT_EQ(info_of(system, "one").waits_for, "its handler");
  }}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
}

TEST_F(ActorInspection, MayBeCalledWhileActorsComeAndGo) {
  std::atomic<bool> is_over = false;
  std::jthread spawner([&] {
    for (int i = 0; i < 300; ++i) {
      auto root = system.spawn<Puppet>({}, Script{.construct = [](Puppet& self) {
                                         for (int k = 0; k < 3; ++k) (void)self.spawn<Puppet>();
                                       }});
      (void)root.send(i % 2 == 0 ? Do{[](Puppet& self) { self.stop(); }}
                                 : Do{[](Puppet&) { throw std::runtime_error("boom"); }});
      if (i % 3 == 0) root.stop();
    }
    is_over = true;
  });
  while (!is_over) {
    std::size_t depth = 0;
    for (const auto& each : system.inspect()) {
      EXPECT_LE(each.depth, depth + 1);  // Everybody comes after its parent.
      depth = each.depth;
    }
  }
}

// -- How long handlers take -------------------------------------------------------------------------

struct HandlerTimes : ::testing::Test {
  testing::ManualClock clock;
  Log log;

  // A handler that takes so long.
  Do taking(Duration time) {
    return Do{[this, time](Puppet&) { clock.advance(time); }};
  }
  void run(ActorSystem& system, const std::vector<Duration>& times) {
    auto puppet = system.spawn<Puppet>({.name = "one"});
    for (const auto each : times) {
      ASSERT_TRUE(puppet.send(taking(each)));
      ASSERT_TRUE(puppet.ask(Notes{}, 24h));
    }
  }
};

TEST_F(HandlerTimes, AreMeasuredIfAsked) {
  ActorSystem system{{.workers = 1, .time_handlers = true}};
  run(system, {3s, 1s, 2s});
  EXPECT_EQ(info_of(system, "one").busy, 6s);
  EXPECT_EQ(info_of(system, "one").longest, 3s);
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(HandlerTimes, AreNotMeasuredOtherwise) {
  ActorSystem system{{.workers = 1}};
  run(system, {3s});
  EXPECT_EQ(info_of(system, "one").busy, 0s);
  EXPECT_EQ(info_of(system, "one").longest, 0s);
}

TEST_F(HandlerTimes, SlowOnesAreLoggedWithActorAndMessage) {
  ActorSystem system{{.workers = 1, .slow_handler = 100ms}};
  run(system, {99ms, 250ms});
  EXPECT_THAT(log.lines(), ElementsAre("one took 250 ms for Do"));
  EXPECT_EQ(info_of(system, "one").longest, 250ms);  // It implies time_handlers.
}

TEST_F(HandlerTimes, OneThatFailsIsMeasuredToo) {
  ActorSystem system{{.workers = 1, .slow_handler = 100ms},
                     {.on_failure = [](const Failure&, Directive) {}}};
  auto puppet = system.spawn<Puppet>({.name = "one"});
  ASSERT_TRUE(puppet.send(Do{[this](Puppet&) {
    clock.advance(1s);
    throw std::runtime_error("boom");
  }}));
  ASSERT_TRUE(puppet.ask(Notes{}, 24h));
  EXPECT_THAT(log.lines(), ElementsAre("one took 1000 ms for Do"));
}

TEST_F(HandlerTimes, ManySlowOnesAreOneLineASecond) {
  ActorSystem system{{.workers = 1, .slow_handler = 100ms}};
  run(system, {100ms, 100ms, 100ms, 100ms, 900ms});
  EXPECT_THAT(log.lines(),
              ElementsAre("one took 100 ms for Do", "one took 900 ms for Do (4 times)"));
}

// -- For people -------------------------------------------------------------------------------------

TEST(ActorTable, HasARowForEachInTheOrderOfTheTree) {
  std::vector<ActorInfo> infos;
  infos.push_back(
      {.path = "shop", .type = "Shop", .state = "running", .capacity = 1000, .handled = 128});
  infos.push_back({.path = "shop/carts/7",
                   .type = "Cart",
                   .state = "restarting",
                   .depth = 1,
                   .mailbox = 12,
                   .capacity = 1000,
                   .oldest = 40ms,
                   .handled = 9041,
                   .failures = 2,
                   .restarts = 1,
                   .last_failure = "Pay: no money",
                   .waits_for = "ask shop/stock"});
  EXPECT_EQ(
      to_table(infos),
      "actor           type  state       mailbox     oldest  handled  failures  restarts  waits for"
      "       last failure\n"
      "shop            Shop  running     0 of 1000           128      0         0\n"
      "  shop/carts/7  Cart  restarting  12 of 1000  40 ms   9041     2         1         "
      "ask shop/stock  Pay: no money\n");
}

TEST(ActorTable, OfNobodyHasTheNamesOfItsColumns) {
  EXPECT_EQ(to_table(std::vector<ActorInfo>()),
            "actor  type  state  mailbox  oldest  handled  failures  restarts  waits for  last "
            "failure\n");
}

TEST(ActorTable, ShowsAgesInTheUnitThatFits) {
  const auto age = [](Duration oldest) {
    const auto table = to_table(
        std::vector<ActorInfo>{{.path = "x", .type = "X", .state = "s", .oldest = oldest}});
    const auto row = table.substr(table.find('\n') + 1);
    const auto begin = row.find("0 of 0   ") + 9;
    return row.substr(begin, row.find("  ", begin) - begin);
  };
  EXPECT_EQ(age(999ns), "999 ns");
  EXPECT_EQ(age(1us), "1 us");
  EXPECT_EQ(age(15ms), "15 ms");
  EXPECT_EQ(age(90s), "90.0 s");
}

TEST(ActorTable, OfASystemCanBePrintedAtAnyTime) {
  ActorSystem system{{.workers = 1}};
  (void)system.spawn<Puppet>({.name = "one"}, Script{.construct = [](Puppet& self) {
                               (void)self.spawn<Puppet>({.name = "two"});
                             }});
  const auto table = to_table(system.inspect());
  EXPECT_THAT(table, ::testing::StartsWith("actor      type    state"));
  EXPECT_THAT(table, ::testing::HasSubstr("\none        Puppet  running"));
  EXPECT_THAT(table, ::testing::HasSubstr("\n  one/two  Puppet  running"));
}

}  // namespace
}  // namespace handoff
