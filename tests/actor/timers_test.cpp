#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ActorTimers : ::testing::Test {
  testing::ManualClock clock;
  Log log;
  const TimePoint begin = now();
  std::vector<Duration> times;  // Of the puppet.
  ActorSystem system{{.workers = 2}};
  PuppetRef witness = system.spawn<Puppet>();
  PuppetRef puppet = system.spawn<Puppet>();

  // A message that writes down when it came.
  Do tick() {
    return Do{[this](Puppet&) { times.push_back(now() - begin); }};
  }
  void in_turn(const std::function<void(Puppet&)>& what) { in_turn_of(puppet, what); }
  static void in_turn_of(const PuppetRef& whose, const std::function<void(Puppet&)>& what) {
    ASSERT_TRUE(whose.send(Do{what}));
    EXPECT_THAT(notes_of(whose), IsEmpty());
  }
  // Moves the clock. When it returns, all that was due has fired: the witness has the last of them.
  void pass(Duration time) {
    Event has_come;
    in_turn_of(witness,
               [&](Puppet& self) { self.after(time, Do{[&](Puppet&) { has_come.set(); }}); });
    clock.advance(time);
    (void)has_come.wait();
  }
  std::vector<Duration> times_now() {
    EXPECT_THAT(notes_of(puppet), IsEmpty());
    return times;
  }
};

// -- Once -------------------------------------------------------------------------------------------

TEST_F(ActorTimers, OneComesAfterItsTimeAndNotBefore) {
  in_turn([&](Puppet& self) { self.after(100ms, tick()); });
  pass(99ms);
  EXPECT_THAT(times_now(), IsEmpty());
  pass(1ms);
  EXPECT_THAT(times_now(), ElementsAre(100ms));
  pass(1h);
  EXPECT_THAT(times_now(), ElementsAre(100ms));
}

TEST_F(ActorTimers, OneWithoutADelayComesSoonButNotWithinTheHandler) {
  bool is_over = false;
  in_turn([&](Puppet& self) {
    self.after(0ms, Do{[&](Puppet&) {
                 EXPECT_TRUE(is_over);
                 times.push_back(now() - begin);
               }});
    is_over = true;
  });
  pass(0ms);
  EXPECT_THAT(times_now(), ElementsAre(0ms));
}

TEST_F(ActorTimers, TheyComeInOrderOfTheirTimes) {
  std::vector<int> order;
  in_turn([&](Puppet& self) {
    for (const int each : {5, 3, 1, 4, 2}) {
      self.after(each * 1s, Do{[&order, each](Puppet&) { order.push_back(each); }});
    }
  });
  pass(10s);
  EXPECT_THAT(times_now(), IsEmpty());
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(ActorTimers, OneMayArmTheNext) {
  in_turn([&](Puppet& self) {
    self.after(1s, Do{[&](Puppet& again) {
                 times.push_back(now() - begin);
                 again.after(2s, tick());
               }});
  });
  pass(1s);
  EXPECT_THAT(times_now(), ElementsAre(1s));
  pass(2s);
  EXPECT_THAT(times_now(), ElementsAre(1s, 3s));
}

TEST_F(ActorTimers, AConstructorMayArmOne) {
  const auto third =
      system.spawn<Puppet>({}, Script{.construct = [&](Puppet& self) { self.after(1s, tick()); }});
  pass(1s);
  EXPECT_THAT(notes_of(third), IsEmpty());  // It is the one that writes them down.
  EXPECT_THAT(times, ElementsAre(1s));
}

// -- Again and again --------------------------------------------------------------------------------

TEST_F(ActorTimers, EveryComesAgainAndAgain) {
  in_turn([&](Puppet& self) { self.every(1min, tick()); });
  for (int i = 0; i < 3; ++i) {
    pass(59s);
    EXPECT_EQ(times_now().size(), static_cast<std::size_t>(i));
    pass(1s);
    EXPECT_EQ(times_now().size(), static_cast<std::size_t>(i + 1));
  }
  EXPECT_THAT(times_now(), ElementsAre(1min, 2min, 3min));
}

TEST_F(ActorTimers, EveryNeedsAPeriod) {
  in_turn([&](Puppet& self) {
    EXPECT_THROW(self.every(0s, tick()), std::invalid_argument);
    EXPECT_THROW(self.every(-1s, tick()), std::invalid_argument);
  });
}

TEST_F(ActorTimers, ThoseThatWereMissedAreSkipped) {
  in_turn([&](Puppet& self) { self.every(10s, tick()); });
  Block block;
  block.hold(puppet);
  pass(35s);
  block.let_go();
  EXPECT_THAT(times_now(), ElementsAre(35s));  // One for three.
  pass(5s);
  EXPECT_THAT(times_now(), ElementsAre(35s, 40s));  // In step as before.
  pass(10s);
  EXPECT_THAT(times_now(), ElementsAre(35s, 40s, 50s));
}

// -- Cancelled --------------------------------------------------------------------------------------

TEST_F(ActorTimers, ACancelledOneDoesNotCome) {
  SelfTimerHandle once;
  SelfTimerHandle again;
  in_turn([&](Puppet& self) {
    once = self.after(1s, tick());
    again = self.every(1s, tick());
  });
  in_turn([&](Puppet&) {
    once.cancel();
    again.cancel();
    again.cancel();
  });
  pass(1min);
  EXPECT_THAT(times_now(), IsEmpty());
}

TEST_F(ActorTimers, OneMayCancelItself) {
  SelfTimerHandle timer;
  in_turn([&](Puppet& self) {
    timer = self.every(1s, Do{[&](Puppet&) {
                         times.push_back(now() - begin);
                         if (times.size() == 2) timer.cancel();
                       }});
  });
  for (int i = 0; i < 5; ++i) {
    pass(1s);
    (void)times_now();  // It has handled that one.
  }
  EXPECT_THAT(times, ElementsAre(1s, 2s));
}

TEST_F(ActorTimers, OneThatIsDueCanStillBeCancelled) {
  SelfTimerHandle timer;
  Event entered;
  Event open;
  in_turn([&](Puppet& self) { timer = self.every(1s, tick()); });
  ASSERT_TRUE(puppet.send(DoAwaiting{[&](Puppet&) -> Lazy<> {
    entered.set();
    const auto waited = co_await open.async_wait();
    EXPECT_TRUE(waited);
    timer.cancel();
  }}));
  ASSERT_TRUE(entered.wait());
  pass(1s);
  open.set();
  EXPECT_THAT(times_now(), IsEmpty());
  pass(1min);
  EXPECT_THAT(times_now(), IsEmpty());
}

TEST_F(ActorTimers, ACancelledOneLetsGoOfItsMessage) {
  auto held = std::make_shared<int>();
  SelfTimerHandle timer;
  in_turn([&](Puppet& self) { timer = self.after(1h, Do{[held](Puppet&) {}}); });
  EXPECT_EQ(held.use_count(), 2);
  in_turn([&](Puppet&) { timer.cancel(); });
  in_turn([&](Puppet& self) { self.after(1h, tick()); });  // At the latest with the next one.
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ActorTimers, AHandleMayOutliveItsTimerAndItsActor) {
  SelfTimerHandle timer;
  in_turn([&](Puppet& self) { timer = self.after(1s, tick()); });
  pass(1s);
  timer.cancel();
  puppet.stop();
  await_stop(puppet);
  timer.cancel();
  SelfTimerHandle().cancel();
}

// -- They die with the actor ------------------------------------------------------------------------

TEST_F(ActorTimers, EndWithTheActor) {
  auto held = std::make_shared<int>();
  in_turn([&](Puppet& self) {
    self.after(1s, Do{[this, held](Puppet&) { times.push_back({}); }});
    self.every(1s, Do{[this, held](Puppet&) { times.push_back({}); }});
  });
  puppet.stop_when_drained();  // It does not wait for them either.
  await_stop(puppet);
  EXPECT_EQ(held.use_count(), 1);
  pass(1h);
  EXPECT_THAT(times, IsEmpty());
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(ActorTimers, DueOnesEndWithTheActorToo) {
  in_turn([&](Puppet& self) { self.every(1s, tick()); });
  Block block;
  block.hold(puppet);
  pass(1s);
  puppet.stop();
  block.let_go();
  await_stop(puppet);
  EXPECT_THAT(times, IsEmpty());
}

TEST_F(ActorTimers, EndAtARestart) {
  in_turn([&](Puppet& self) {
    self.after(1s, tick());
    self.every(1s, tick());
  });
  ASSERT_TRUE(puppet.send(Fail{"once"}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  pass(1h);
  EXPECT_THAT(times_now(), IsEmpty());
}

TEST_F(ActorTimers, ThatStartArmsAreThereOnceAfterEachRestart) {
  puppet = system.spawn<Puppet>({}, Script{.start = [&](Puppet& self) { self.every(1s, tick()); }});
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(puppet.send(Fail{"again"}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  pass(1s);
  EXPECT_THAT(times_now(), ElementsAre(1s));
}

TEST_F(ActorTimers, DueOnesDoNotComeToTheNextIncarnation) {
  in_turn([&](Puppet& self) { self.every(1s, tick()); });
  Event entered;
  Event open;
  ASSERT_TRUE(puppet.send(DoAwaiting{[&](Puppet&) -> Lazy<> {
    entered.set();
    const auto waited = co_await open.async_wait();
    if (waited) throw std::runtime_error("late");
  }}));
  ASSERT_TRUE(entered.wait());
  pass(1s);
  open.set();
  EXPECT_THAT(times_now(), IsEmpty());
  pass(1min);
  EXPECT_THAT(times_now(), IsEmpty());
}

// -- When they may come -----------------------------------------------------------------------------

TEST_F(ActorTimers, AreHeldBackWhileACoroutineWaits) {
  in_turn([&](Puppet& self) {
    self.after(1s, tick());
    self.every(10s, tick());
  });
  Suspension suspension;
  suspension.hold(puppet);
  pass(35s);
  EXPECT_THAT(times, IsEmpty());
  suspension.let_go();
  EXPECT_THAT(times_now(), ElementsAre(35s, 35s));
  pass(5s);
  EXPECT_THAT(times_now(), ElementsAre(35s, 35s, 40s));
}

struct Reentrant : Actor<Reentrant, Do, DoAwaiting> {
  static constexpr bool reentrant = true;
  explicit Reentrant(std::shared_ptr<Journal> to) : journal(std::move(to)) {}
  void on_start() { after(1s, Do{}); }
  void on(const Do&) { journal->add("tick"); }
  Lazy<> on(DoAwaiting) {
    auto* const event = &open;
    const auto waited = co_await event->async_wait();
    journal->add(waited ? "done" : "stopped");
  }
  static inline Event open;
  std::shared_ptr<Journal> journal;
};

TEST_F(ActorTimers, ComeToAReentrantOneMeanwhile) {
  const auto journal = std::make_shared<Journal>();
  auto actor = system.spawn<Reentrant>({.name = "reentrant"}, journal);
  ASSERT_TRUE(actor.send(DoAwaiting{}));
  eventually([&] { return info_of(system, "reentrant").waits_for == "1 coroutine"; });
  pass(1s);
  eventually([&] { return journal->size() == 1; });
  Reentrant::open.set();
  eventually([&] { return journal->size() == 2; });
  EXPECT_THAT(journal->lines(), ElementsAre("tick", "done"));
  Reentrant::open.reset();
}

TEST_F(ActorTimers, TheirHandlerMayBeACoroutine) {
  Event entered;
  Event open;
  in_turn([&](Puppet& self) {
    self.every(10s, DoAwaiting{[&](Puppet&) -> Lazy<> {
                 entered.set();
                 const auto waited = co_await open.async_wait();
                 if (waited) times.push_back(now() - begin);
               }});
  });
  pass(10s);
  ASSERT_TRUE(entered.wait());
  pass(10s);  // The next is held back meanwhile.
  open.set();
  EXPECT_THAT(times_now(), ElementsAre(20s, 20s));
}

TEST_F(ActorTimers, NeedNoRoomInTheMailbox) {
  auto narrow =
      system.spawn<Puppet>({.mailbox = {.capacity = 1, .when_full = WhenFull::reject}},
                           Script{.construct = [&](Puppet& self) { self.every(1s, tick()); }});
  Block block;
  block.hold(narrow);
  Event is_handled;
  ASSERT_TRUE(narrow.send(Do{[&](Puppet&) { is_handled.set(); }}));
  ASSERT_EQ(narrow.send(Note{}), std::unexpected(Refusal::full));
  pass(1s);
  block.let_go();
  ASSERT_TRUE(is_handled.wait());
  EXPECT_THAT(times, ElementsAre(1s));  // It came first.
}

TEST_F(ActorTimers, OneThatFailsIsAFailureOfTheActor) {
  Journal failures;
  ActorSystem strict{{.workers = 1, .supervision = {.directive = Directive::resume}},
                     {.on_failure = [&](const Failure& failure, Directive) {
                       const Fail* const message = failure.message.get_if<Fail>();
                       failures.add(message == nullptr ? "nothing" : message->text);
                     }}};
  auto failing = strict.spawn<Puppet>(
      {}, Script{.construct = [&](Puppet& self) { self.every(1s, Fail{"tick"}); }});
  for (int i = 0; i < 3; ++i) {
    pass(1s);
    eventually([&] { return failures.size() == static_cast<std::size_t>(i + 1); });
  }
  EXPECT_THAT(failures.lines(), ElementsAre("tick", "tick", "tick"));
  EXPECT_THAT(notes_of(failing), IsEmpty());
}

TEST_F(ActorTimers, ManyEndAtOnce) {
  std::atomic<int> came = 0;
  for (int i = 0; i < 100; ++i) {
    auto each = system.spawn<Puppet>({}, Script{.construct = [&](Puppet& self) {
                                       for (int k = 0; k < 10; ++k) {
                                         self.every(1ms, Do{[&](Puppet&) { ++came; }});
                                       }
                                     }});
    if (i % 2 == 0) each.stop();
  }
  for (int i = 0; i < 10; ++i) clock.advance(1ms);
  eventually([&] { return came >= 500; });
  ASSERT_TRUE(system.shutdown(interrupt(1min)).is_complete());
}

}  // namespace
}  // namespace handoff
