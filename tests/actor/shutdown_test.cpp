#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "puppet.hpp"
#include "support/sanitized.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<int> notes_in(const ActorShutdownReport& report) {
  std::vector<int> notes;
  for (const auto& each : report.handed_back) {
    if (const Note* const note = each.message.get_if<Note>()) notes.push_back(note->number);
  }
  return notes;
}

// All but the probes of await_closed().
std::vector<const Undelivered*> others_in(const ActorShutdownReport& report) {
  std::vector<const Undelivered*> others;
  for (const auto& each : report.handed_back) {
    if (each.message.type() != "Do") others.push_back(&each);
  }
  return others;
}

struct ActorShutdown : ::testing::Test {
  Log log;
  Journal life;
  ActorSystem system{{.workers = 2}};

  std::future<ActorShutdownReport> shutdown_elsewhere(const Shutdown& how) {
    return std::async(std::launch::async, [this, how] { return system.shutdown(how); });
  }
  // Some of its probes may be accepted.
  static void await_closed(const PuppetRef& puppet) {
    eventually([&] { return puppet.send(Do{[](Puppet&) {}}) == std::unexpected(Refusal::closed); });
  }
};

// -- With time to finish ----------------------------------------------------------------------------

TEST_F(ActorShutdown, FinishesAllThatWasAccepted) {
  std::atomic<int> handled = 0;
  for (int i = 0; i < 10; ++i) {
    auto puppet = system.spawn<Puppet>();
    for (int k = 0; k < 100; ++k) ASSERT_TRUE(puppet.send(Do{[&](Puppet&) { ++handled; }}));
  }
  const auto report = system.shutdown(finish_within(1min));
  EXPECT_EQ(handled, 1000);
  EXPECT_EQ(report.stopped, 10u);
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(to_string(report), "10 stopped");
  EXPECT_EQ(system.size(), 0u);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(ActorShutdown, OfNobodyIsOverAtOnce) {
  const auto report = system.shutdown(finish_within(1min));
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(report.stopped, 0u);
}

TEST_F(ActorShutdown, StopsChildrenBeforeTheirParents) {
  const auto noting = [this](Puppet& self) { life.add(self.path()); };
  const Script leaf{.start = [](Puppet&) {}, .stop = noting};
  auto root = system.spawn<Puppet>(
      {.name = "a"},
      Script{.construct = [&](Puppet& self) { (void)self.spawn<Puppet>({.name = "b"}, leaf); },
             .stop = noting});
  EXPECT_THAT(notes_of(root), IsEmpty());
  EXPECT_THAT(notes_of(*system.find<Puppet>("a/b")), IsEmpty());
  ASSERT_TRUE(system.shutdown(finish_within(1min)).is_complete());
  EXPECT_THAT(life.lines(), ElementsAre("a/b", "a"));
}

TEST_F(ActorShutdown, TakesNoMoreMessagesMeanwhile) {
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  auto report = shutdown_elsewhere(finish_within(1min));
  await_closed(puppet);
  EXPECT_EQ(puppet.ask(Notes{}, 1min).error(), AskError::Code::closed);
  block.let_go();
  EXPECT_TRUE(report.get().is_complete());
}

TEST_F(ActorShutdown, ThoseThatAreSpawnedMeanwhileByOthersFinishToo) {
  std::atomic<int> handled = 0;
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(puppet.send(Do{[&](Puppet& self) {
      auto child = self.spawn<Puppet>();
      EXPECT_TRUE(child.send(Do{[&](Puppet&) { ++handled; }}));
    }}));
  }
  auto report = shutdown_elsewhere(finish_within(1min));
  await_closed(puppet);
  block.let_go();
  const auto done = report.get();
  EXPECT_TRUE(done.is_complete());
  EXPECT_EQ(done.stopped, 11u);
  EXPECT_EQ(handled, 10);
}

TEST_F(ActorShutdown, WhenTheTimeIsOverItNamesWhoIsLeft) {
  testing::ManualClock clock;
  ActorSystem late{{.workers = 1}};
  auto puppet = late.spawn<Puppet>({.name = "busy"});
  Block block;
  block.hold(puppet);
  send_notes(puppet, 1, 5);
  auto elsewhere =
      std::async(std::launch::async, [&] { return late.shutdown(finish_within(30s)); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(30s);
  const auto report = elsewhere.get();
  EXPECT_FALSE(report.is_complete());
  EXPECT_EQ(report.stopped, 0u);
  ASSERT_THAT(report.still_alive, SizeIs(1));
  EXPECT_EQ(report.still_alive[0].path, "busy");
  EXPECT_EQ(report.still_alive[0].mailbox, 5u);
  EXPECT_EQ(report.still_alive[0].waits_for, "its handler");
  EXPECT_EQ(to_string(report), "0 stopped, 1 still alive: busy (running, waits for its handler)");
  block.let_go();
  // What it had not come to is handed back by the next.
  const auto rest = late.shutdown(interrupt(1h));
  EXPECT_THAT(notes_in(rest), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(rest.still_alive, IsEmpty());
}

TEST_F(ActorShutdown, AStopEndsTheTimeToFinish) {
  auto puppet = system.spawn<Puppet>();
  Suspension suspension;
  suspension.hold(puppet);
  send_notes(puppet, 1, 3);
  std::stop_source stop;
  auto elsewhere =
      shutdown_elsewhere(finish_within(1h).then_interrupt(1h).or_until(stop.get_token()));
  await_closed(puppet);
  stop.request_stop();
  const auto report = elsewhere.get();
  EXPECT_TRUE(suspension.was_stopped());
  EXPECT_THAT(notes_in(report), ElementsAre(1, 2, 3));
  EXPECT_THAT(report.still_alive, IsEmpty());
}

TEST_F(ActorShutdown, WithoutAnInterruptCoroutinesGoOnWaiting) {
  auto puppet = system.spawn<Puppet>({.name = "one"});
  Suspension suspension;
  suspension.hold(puppet);
  const auto report = system.shutdown(finish_within(1ns));
  ASSERT_THAT(report.still_alive, SizeIs(1));
  EXPECT_EQ(report.still_alive[0].waits_for, "1 coroutine");
  EXPECT_FALSE(suspension.was_stopped());
  suspension.let_go();
  EXPECT_TRUE(system.shutdown(finish_within(1min)).is_complete());
  EXPECT_FALSE(suspension.was_stopped());
}

// -- Interrupted ------------------------------------------------------------------------------------

TEST_F(ActorShutdown, AnInterruptHandsBackWhatWasNotHandled) {
  auto one = system.spawn<Puppet>({.name = "one"});
  auto other = system.spawn<Puppet>({.name = "other"});
  Block block_one;
  Block block_other;
  block_one.hold(one);
  block_other.hold(other);
  send_notes(one, 1, 100);
  ASSERT_TRUE(other.send(Fail{"a long text that does not fit where short ones are kept"}));
  auto elsewhere = shutdown_elsewhere(interrupt(1min));
  await_closed(one);
  await_closed(other);
  block_one.let_go();
  await_stop(one);
  block_other.let_go();
  const auto report = elsewhere.get();
  EXPECT_EQ(notes_in(report), numbers(1, 100));
  const auto handed_back = others_in(report);
  ASSERT_EQ(handed_back.size(), 101u);
  EXPECT_EQ(handed_back[0]->actor, "one");
  EXPECT_EQ(handed_back[0]->message.type(), "Note");
  EXPECT_EQ(handed_back[100]->actor, "other");
  EXPECT_EQ(handed_back[100]->message.get_if<Fail>()->text,
            "a long text that does not fit where short ones are kept");
  EXPECT_EQ(system.dead_letter_count(), 0u);
  EXPECT_FALSE(report.is_complete());
}

TEST_F(ActorShutdown, WhoAskedWhatIsHandedBackIsTold) {
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  auto asking = std::async(std::launch::async, [&] { return puppet.ask(Notes{}, 1h); });
  eventually([&] { return info_of(system, puppet.path()).mailbox == 1; });
  auto elsewhere = shutdown_elsewhere(interrupt(1min));
  await_closed(puppet);
  block.let_go();
  EXPECT_EQ(asking.get().error(), AskError::Code::closed);
  const auto report = elsewhere.get();
  ASSERT_EQ(others_in(report).size(), 1u);
  EXPECT_EQ(others_in(report)[0]->message.type(), "Notes");
}

TEST_F(ActorShutdown, AnInterruptEndsTheWaitsOfCoroutines) {
  std::vector<std::unique_ptr<Suspension>> waits;
  for (int i = 0; i < 20; ++i) {
    waits.push_back(std::make_unique<Suspension>());
    waits.back()->hold(system.spawn<Puppet>());
  }
  const auto report = system.shutdown(interrupt(1min));
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(report.stopped, 20u);
  for (const auto& each : waits) EXPECT_TRUE(each->was_stopped());
}

TEST_F(ActorShutdown, TheReportIsALineForALog) {
  ActorShutdownReport report;
  report.stopped = 12;
  EXPECT_EQ(to_string(report), "12 stopped");
  report.handed_back.push_back({.actor = "a", .message = AnyMessage::of<Note>(Note{1})});
  EXPECT_EQ(to_string(report), "12 stopped, 1 message handed back");
  report.handed_back.push_back({.actor = "a", .message = AnyMessage::of<Note>(Note{2})});
  report.still_alive.push_back(
      {.path = "shop/carts/7", .type = "Cart", .state = "running", .waits_for = "ask shop/stock"});
  report.still_alive.push_back({.path = "shop/log", .type = "Logger", .state = "stopping"});
  EXPECT_EQ(to_string(report),
            "12 stopped, 2 messages handed back, 2 still alive: shop/carts/7 (running, waits for "
            "ask shop/stock), shop/log (stopping)");
}

// -- Again, and by whom -----------------------------------------------------------------------------

TEST_F(ActorShutdown, ASecondOneHasNothingToDo) {
  (void)system.spawn<Puppet>();
  EXPECT_EQ(system.shutdown(finish_within(1min)).stopped, 1u);
  const auto second = system.shutdown(interrupt(1min));
  EXPECT_TRUE(second.is_complete());
  EXPECT_EQ(second.stopped, 0u);
}

TEST_F(ActorShutdown, SeveralAtOnceHandBackEachMessageOnce) {
  auto puppet = system.spawn<Puppet>();
  Block block;
  block.hold(puppet);
  send_notes(puppet, 1, 50);
  std::vector<std::future<ActorShutdownReport>> reports;
  for (int i = 0; i < 4; ++i) reports.push_back(shutdown_elsewhere(interrupt(1min)));
  await_closed(puppet);
  block.let_go();
  std::vector<int> notes;
  std::uint64_t stopped = 0;
  for (auto& each : reports) {
    const auto report = each.get();
    stopped += report.stopped;
    for (const int note : notes_in(report)) notes.push_back(note);
  }
  EXPECT_EQ(notes, numbers(1, 50));
  EXPECT_EQ(stopped, 1u);
}

TEST_F(ActorShutdown, AnActorOfTheSystemMayNotCallIt) {
  auto puppet =
      system.spawn<Puppet>({.name = "rash"}, Script{.construct = [&](Puppet&) {
                             EXPECT_THROW((void)system.shutdown(interrupt()), std::logic_error);
                           }});
  ASSERT_TRUE(puppet.send(Do{[&](Puppet&) {
    EXPECT_EQ(error_of<std::logic_error>([&] { (void)system.shutdown(interrupt()); }),
              "shutdown() was called by an actor of the same system, rash, and would wait for "
              "itself");
  }}));
  ASSERT_TRUE(puppet.send(DoAwaiting{[&](Puppet&) -> Lazy<> {
    EXPECT_THROW((void)system.shutdown(interrupt()), std::logic_error);
    co_return;
  }}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  EXPECT_EQ(system.size(), 1u);  // Nothing has happened.
}

TEST_F(ActorShutdown, AnActorOfAnotherSystemMayCallIt) {
  ActorSystem other{{.workers = 1}};
  (void)system.spawn<Puppet>();
  std::optional<ActorShutdownReport> report;
  auto puppet = other.spawn<Puppet>();
  ASSERT_TRUE(puppet.send(Do{[&](Puppet&) { report = system.shutdown(finish_within(1min)); }}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  EXPECT_TRUE(report->is_complete());
}

// -- The destructor ---------------------------------------------------------------------------------

TEST_F(ActorShutdown, TheDestructorStopsAllAndSaysWhatIsLost) {
  std::atomic<int> stopped = 0;
  {
    Suspension suspension;
    ActorSystem brief{{.workers = 2}};
    auto puppet = brief.spawn<Puppet>({}, Script{.stop = [&](Puppet&) { ++stopped; }});
    suspension.hold(puppet);
    send_notes(puppet, 1, 7);
  }
  EXPECT_EQ(stopped, 1);
  EXPECT_THAT(log.lines(), ElementsAre("an ActorSystem ended with 7 messages that were accepted "
                                       "and not handled; shutdown() hands them back"));
}

TEST_F(ActorShutdown, TheDestructorWaitsForAHandlerThatBlocks) {
  Block block;
  std::thread releases;
  std::atomic<bool> is_released = false;
  {
    ActorSystem brief{{.workers = 1}};
    auto puppet = brief.spawn<Puppet>();
    block.hold(puppet);
    releases = std::thread([&, puppet] {
      await_closed(puppet);
      is_released = true;
      block.let_go();
    });
  }
  EXPECT_TRUE(is_released);
  releases.join();
}

TEST_F(ActorShutdown, TheDestructorSaysNothingIfAllIsWell) {
  {
    (void)ActorSystem{{.workers = 1}};
  }
  EXPECT_THAT(log.lines(), IsEmpty());
}

// -- Races ------------------------------------------------------------------------------------------

TEST_F(ActorShutdown, LeavesNobodyWhoeverIsSpawnedMeanwhile) {
  for (int round = 0; round < (is_sanitized ? 6 : 30); ++round) {
    ActorSystem brief{{.workers = 2}};
    std::atomic<int> made = 0;
    std::atomic<int> ended = 0;
    const Script counted{.construct = [&](Puppet&) { ++made; }, .stop = [&](Puppet&) { ++ended; }};
    std::atomic<bool> is_over = false;
    std::vector<std::jthread> spawners;
    for (int i = 0; i < 2; ++i) {
      spawners.emplace_back([&] {
        while (!is_over) {
          auto root = brief.spawn<Puppet>({}, counted);
          (void)root.send(Do{[&](Puppet& self) { (void)self.spawn<Puppet>({}, counted); }});
        }
      });
    }
    eventually([&] { return made > 20; });
    const auto report = brief.shutdown(round % 2 == 0 ? interrupt(1min) : finish_within(1min));
    EXPECT_THAT(report.still_alive, IsEmpty());
    is_over = true;
    spawners.clear();
    EXPECT_EQ(brief.size(), 0u);
    EXPECT_LE(ended, made);  // Those that were stopped before they started are not told.
  }
}

}  // namespace
}  // namespace handoff
