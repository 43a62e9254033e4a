#include "handoff/supervision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "supervised.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// -- Every directive, for every way to fail ---------------------------------------------------------

struct EveryFailure : Supervised, ::testing::WithParamInterface<Way> {
  void fail_by(Directive directive) {
    spawn_family(directive, {.start = [this](Puppet&) { life.add("start"); },
                             .stop = [this](Puppet&) { life.add("stop"); },
                             .terminated = &fail_at_end});
    send_notes(child, 1, 1);
    EXPECT_THAT(notes_of(child), ElementsAre(1));
    make_fail(child, GetParam());
    await_failures(1);
  }
  std::string line(Directive directive) const {
    return "parent/child " + std::string(to_string(directive)) + ": boom" + message_of(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Actors, EveryFailure, ::testing::ValuesIn(every_way),
                         [](const auto& param) { return name_of(param.param); });

TEST_P(EveryFailure, ResumeKeepsTheState) {
  fail_by(Directive::resume);
  send_notes(child, 2, 2);
  EXPECT_THAT(notes_of(child), ElementsAre(1, 2));
  EXPECT_THAT(failures.lines(), ElementsAre(line(Directive::resume)));
  EXPECT_THAT(life.lines(), ElementsAre("start"));
  EXPECT_EQ(child_info().failures, 1u);
  EXPECT_EQ(child_info().restarts, 0u);
}

TEST_P(EveryFailure, RestartMakesTheStateAnew) {
  fail_by(Directive::restart);
  send_notes(child, 2, 2);
  EXPECT_THAT(notes_of(child), ElementsAre(2));
  EXPECT_THAT(failures.lines(), ElementsAre(line(Directive::restart)));
  EXPECT_THAT(life.lines(), ElementsAre("start", "stop", "start"));
  EXPECT_EQ(child_info().failures, 1u);
  EXPECT_EQ(child_info().restarts, 1u);
  EXPECT_EQ(*system.find<Puppet>("parent/child"), child);
}

TEST_P(EveryFailure, StopEndsItAlone) {
  fail_by(Directive::stop);
  const auto end = system.watch(child).get();
  EXPECT_EQ(end->reason, StopReason::failed);
  EXPECT_THAT(end->error, ::testing::HasSubstr("boom"));
  EXPECT_THAT(failures.lines(), ElementsAre(line(Directive::stop)));
  EXPECT_THAT(life.lines(), ElementsAre("start", "stop"));
  EXPECT_THAT(notes_of(parent), IsEmpty());
}

TEST_P(EveryFailure, EscalateMakesTheParentFailInItsPlace) {
  const auto before = child;
  fail_by(Directive::escalate);
  await_failures(2);
  // Of the parent the system decides: a restart.
  eventually([&] { return info_of(system, "parent").restarts == 1; });
  EXPECT_THAT(failures.lines(), ElementsAre(line(Directive::escalate), "parent restart: boom"));
  EXPECT_TRUE(child.is_stopped());
  EXPECT_THAT(notes_of(*system.find<Puppet>("parent/child")), IsEmpty());
  EXPECT_EQ(info_of(system, "parent").last_failure, "boom");
}

// -- Where there is no message ----------------------------------------------------------------------

struct FailingStart : Supervised {
  void spawn_failing(Directive directive) {
    spawn_family(directive, {.start = [this](Puppet&) {
                   if (++starts == 1) throw std::runtime_error("not yet");
                 }});
  }
};

TEST_F(FailingStart, ResumedItGoesOn) {
  spawn_failing(Directive::resume);
  send_notes(child, 1, 1);
  EXPECT_THAT(notes_of(child), ElementsAre(1));
  EXPECT_EQ(starts, 1);
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child resume: not yet"));
}

TEST_F(FailingStart, RestartedItStartsAgain) {
  spawn_failing(Directive::restart);
  send_notes(child, 1, 1);
  EXPECT_THAT(notes_of(child), ElementsAre(1));
  EXPECT_EQ(starts, 2);
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child restart: not yet"));
}

TEST_F(FailingStart, StoppedItHandlesNothing) {
  spawn_family(Directive::stop,
               {.construct = [](Puppet& self) { EXPECT_TRUE(self.self().send(Note{})); },
                .start = [](Puppet&) { throw std::runtime_error("never"); }});
  EXPECT_EQ(system.watch(child).get()->error, "never");
  EXPECT_EQ(system.dead_letter_count(), 1u);
  EXPECT_EQ(system.dead_letters()[0].reason, "its actor failed");
}

TEST_F(FailingStart, EscalatedItIsTheParentThatFails) {
  spawn_failing(Directive::escalate);
  await_failures(2);
  EXPECT_THAT(failures.lines(),
              ElementsAre("parent/child escalate: not yet", "parent restart: not yet"));
  eventually([&] { return starts == 2; });
}

// Fails when it is made anew for the first time; `by` is what is decided then.
struct FailingConstructor : Supervised {
  void fail_by(Directive by) {
    spawn_family(
        {.decide =
             [by](const Failure& failure) { return failure.message ? Directive::restart : by; }},
        {.construct = [this](Puppet&) {
          if (++made == 2) throw std::runtime_error("no memory");
        }});
    Block block;
    block.hold(child);
    ASSERT_TRUE(child.send(Fail{"boom"}));
    send_notes(child, 1, 3);
    block.let_go();
    await_failures(2);
  }
};

TEST_F(FailingConstructor, IsTriedAgainByARestart) {
  fail_by(Directive::restart);
  EXPECT_THAT(notes_of(child), ElementsAre(1, 2, 3));
  EXPECT_EQ(made, 3);
  EXPECT_EQ(child_info().restarts, 1u);
  EXPECT_EQ(child_info().failures, 2u);
  EXPECT_THAT(failures.lines(),
              ElementsAre("parent/child restart: boom at Fail", "parent/child restart: no memory"));
}

TEST_F(FailingConstructor, LeavesNothingThatCouldBeResumed) {
  fail_by(Directive::resume);
  EXPECT_EQ(system.watch(child).get()->error, "no memory");
  EXPECT_EQ(failures.lines()[1], "parent/child stop: no memory");
  EXPECT_EQ(system.dead_letter_count(), 3u);
}

TEST_F(FailingConstructor, StopsIt) {
  fail_by(Directive::stop);
  EXPECT_EQ(system.watch(child).get()->error, "no memory");
  EXPECT_EQ(system.dead_letter_count(), 3u);
  EXPECT_EQ(made, 2);
}

TEST_F(FailingConstructor, IsEscalated) {
  fail_by(Directive::escalate);
  await_failures(3);
  EXPECT_EQ(failures.lines()[2], "parent restart: no memory");
  await_stop(child);
  eventually([&] { return made == 3; });  // The restarted parent's own.
}

TEST_F(FailingConstructor, LeavesNoTimersToTheNext) {
  std::atomic<int> came = 0;
  spawn_family(Directive::restart, {.construct = [&](Puppet& self) {
                 if (++made != 2) return;
                 self.after(0ms, Do{[&](Puppet&) { ++came; }});
                 self.every(1h, Do{[](Puppet&) {}});
                 throw std::runtime_error("no memory");
               }});
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_THAT(notes_of(child), IsEmpty());
  EXPECT_EQ(made, 3);
  EXPECT_EQ(came, 0);
}

// -- decide() ---------------------------------------------------------------------------------------

struct Deciding : Supervised {};

TEST_F(Deciding, SeesTheActorTheMessageAndTheError) {
  Journal seen;
  spawn_family({.decide = [&](const Failure& failure) {
    const Fail* const message = failure.message.get_if<Fail>();
    EXPECT_EQ(failure.message.get_if<Note>(), nullptr);
    seen.add(failure.actor + ", " + message->text + ", " + text_of(failure.error));
    return message->text == "small" ? Directive::resume : Directive::stop;
  }});
  send_notes(child, 1, 1);
  ASSERT_TRUE(child.send(Fail{"small"}));
  EXPECT_THAT(notes_of(child), ElementsAre(1));
  ASSERT_TRUE(child.send(Fail{"big"}));
  await_stop(child);
  EXPECT_THAT(seen.lines(), ElementsAre("parent/child, small, small", "parent/child, big, big"));
}

TEST_F(Deciding, WhatItThrowsMeansStop) {
  spawn_family({.decide = [](const Failure&) -> Directive { throw std::runtime_error("unsure"); }});
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_EQ(system.watch(child).get()->reason, StopReason::failed);
  EXPECT_THAT(failures.lines(), ElementsAre("parent/child stop: boom at Fail"));
}

TEST_F(Deciding, WithoutAParentThereIsNobodyToEscalateTo) {
  ActorSystem strict{{.workers = 1, .supervision = {.directive = Directive::escalate}}};
  auto root = strict.spawn<Puppet>();
  ASSERT_TRUE(root.send(Fail{"boom"}));
  EXPECT_EQ(strict.watch(root).get()->reason, StopReason::failed);
}

TEST_F(Deciding, TheDefaultForChildrenIsToRestart) {
  auto plain = system.spawn<Puppet>(
      {.name = "plain"}, Script{.construct = [&](Puppet& self) { child = self.spawn<Puppet>(); }});
  ASSERT_TRUE(child.send(Fail{"boom"}));
  EXPECT_THAT(notes_of(child), IsEmpty());
  EXPECT_THAT(failures.lines(), ElementsAre(child.path() + " restart: boom at Fail"));
}

TEST_F(Deciding, PoliciesThatMakeNoSenseAreRefused) {
  EXPECT_THROW((void)supervise({.within = 0s}), std::invalid_argument);
  EXPECT_THROW((void)supervise({.backoff = -1s}), std::invalid_argument);
  EXPECT_THROW((void)supervise({.most_backoff = -1s}), std::invalid_argument);
  EXPECT_THROW((ActorSystem{{.supervision = {.within = -1s}}}), std::invalid_argument);
}

// -- The message that failed ------------------------------------------------------------------------

struct FailedMessage : Supervised {};

TEST_F(FailedMessage, IsNotTriedAgain) {
  spawn_family(Directive::restart);
  std::atomic<int> tries = 0;
  ASSERT_TRUE(child.send(Do{[&](Puppet&) {
    ++tries;
    throw std::runtime_error("boom");
  }}));
  EXPECT_THAT(notes_of(child), IsEmpty());
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(FailedMessage, LeavesTheRestOfTheMailboxToTheNextIncarnation) {
  spawn_family(Directive::restart);
  Block block;
  block.hold(child);
  send_notes(child, 1, 100);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  send_notes(child, 101, 200);
  ASSERT_TRUE(child.send(FailAwaiting{"boom"}));
  send_notes(child, 201, 300);
  block.let_go();
  EXPECT_EQ(notes_of(child), numbers(201, 300));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(FailedMessage, LeavesTheRestOfTheMailboxToDeadLettersIfItIsStopped) {
  spawn_family(Directive::stop);
  Block block;
  block.hold(child);
  ASSERT_TRUE(child.send(Fail{"boom"}));
  send_notes(child, 1, 50);
  block.let_go();
  await_stop(child);
  EXPECT_EQ(system.dead_letter_count(), 50u);
  EXPECT_EQ(system.dead_letters().back().reason, "its actor failed");
}

struct Charge {
  using Reply = int;
  int cents;
};
struct Till : Actor<Till, Charge> {
  int on(Charge charge) {
    if (charge.cents < 0) throw std::invalid_argument("negative");
    return charge.cents;
  }
};

TEST_F(FailedMessage, IsSeenByTheHookAndWhoAskedIsToldWhy) {
  std::vector<int> failed;
  ActorSystem bank{{.workers = 1}, {.on_failure = [&](const Failure& failure, Directive) {
                     failed.push_back(failure.message.get_if<Charge>()->cents);
                   }}};
  auto till = bank.spawn<Till>();
  EXPECT_EQ(till.ask(Charge{5}, 1min), 5);
  const auto refused = till.ask(Charge{-5}, 1min);
  EXPECT_EQ(refused.error(), AskError::Code::failed);
  EXPECT_EQ(to_string(refused.error()), "failed: negative");
  EXPECT_EQ(till.ask(Charge{6}, 1min), 6);
  EXPECT_THAT(failed, ElementsAre(-5));
}

TEST_F(FailedMessage, IsLoggedIfThereIsNoHook) {
  ActorSystem quiet{{.workers = 1}};
  auto puppet = quiet.spawn<Puppet>({.name = "one"});
  ASSERT_TRUE(puppet.send(Fail{"boom"}));
  EXPECT_THAT(notes_of(puppet), IsEmpty());
  EXPECT_THAT(log.lines(), ElementsAre("one failed at Fail: boom (restart)"));
}

TEST_F(FailedMessage, AHookThatThrowsIsLoggedAndChangesNothing) {
  ActorSystem loud{{.workers = 1}, {.on_failure = [](const Failure&, Directive) {
                     throw std::runtime_error("hook");
                   }}};
  auto puppet = loud.spawn<Puppet>();
  send_notes(puppet, 1, 1);
  ASSERT_TRUE(puppet.send(Fail{"boom"}));
  send_notes(puppet, 2, 2);
  EXPECT_THAT(notes_of(puppet), ElementsAre(2));
  EXPECT_THAT(log.lines(), ElementsAre("on_failure threw: hook"));
}

}  // namespace
}  // namespace handoff
