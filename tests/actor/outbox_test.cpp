// A handler that sends to a full mailbox does not wait: its message does, and its actor takes no other meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"

namespace handoff::tests {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using Sent = std::expected<void, Refusal>;

constexpr auto is_full = std::unexpected(Refusal::full);

// Notes from `first` to `last`, to another.
struct Batch {
  Address<Note> to;
  int first;
  int last;
  std::shared_ptr<Gate> gate = nullptr;  // Passed before.
};
struct AskFor {
  ActorRef<Desk> whom;
};
struct Pass {
  using Reply = int;
  ActorRef<Desk> to;
};

struct ClerkNotes {
  Seen<Sent> sent;
  Seen<int> handled;
  Seen<AskError::Code> errors;
};

class Clerk : public Actor<Clerk, Batch, Note, AskFor, Pass> {
 public:
  explicit Clerk(std::shared_ptr<ClerkNotes> notes) : notes_(std::move(notes)) {}
  void on(const Batch& batch) {
    if (batch.gate) batch.gate->pass();
    for (int i = batch.first; i <= batch.last; ++i) notes_->sent.add(batch.to.send(Note{i}));
  }
  void on(Note note) { notes_->handled.add(note.number); }
  void on(const AskFor& ask_for) {
    EXPECT_TRUE(ask_for.whom.send(Note{1}));
    const auto answer = ask_for.whom.ask(Question{1}, long_enough);
    notes_->errors.add(answer ? AskError::Code::unanswered : answer.error().code);
  }
  void on(const Pass& pass) {
    EXPECT_TRUE(pass.to.send(Note{1}));
    EXPECT_TRUE(forward(pass.to, Question{2}));
    notes_->handled.add(2);
  }

 private:
  const std::shared_ptr<ClerkNotes> notes_;
};

struct Outboxes : ::testing::Test {
  // One worker is held up by who is held, the other is free.
  explicit Outboxes(std::size_t workers = 2) : system({.workers = workers}) {}
  ActorSystem system;
  const std::shared_ptr<ClerkNotes> notes = std::make_shared<ClerkNotes>();

  ActorRef<Clerk> clerk(const ActorOptions& options = {}) {
    return system.spawn<Clerk>(options, notes);
  }
  std::string waits_for(const ActorRef<Clerk>& who) {
    for (const ActorInfo& each : system.inspect()) {
      if (each.path == who.path()) return each.waits_for;
    }
    return "gone";
  }
  std::size_t accepted() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        notes->sent.all(), [](const Sent& each) { return each.has_value(); }));
  }
};

TEST_F(Outboxes, KeepTheOrderOfWhatDoesNotFit) {
  HeldDesk desk(system, {.mailbox = {.capacity = 2}});
  ASSERT_TRUE(clerk().send(Batch{desk.ref, 1, 50}));
  eventually([&] { return notes->sent.size() == 50; });
  EXPECT_EQ(accepted(), 50u);
  EXPECT_EQ(desk.mailbox(), 2u);
  desk.let_go();
  eventually([&] { return desk.seen->size() == 50; });
  const auto all = desk.seen->all();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i + 1);
}

TEST_F(Outboxes, HoldTheirActorUpUntilTheyAreEmpty) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}, .name = "desk"});
  const auto sender = clerk();
  ASSERT_TRUE(sender.send(Batch{desk.ref, 1, 2}));
  ASSERT_TRUE(sender.send(Note{7}));
  eventually([&] { return waits_for(sender) == "room at desk"; });
  // The one worker that is free has gone by all that was ready.
  EXPECT_EQ(system.spawn<Desk>({}, desk.seen).ask(Question{0}, long_enough), 0);
  EXPECT_EQ(notes->handled.size(), 0u);
  desk.let_go();
  eventually([&] { return notes->handled.size() == 1; });
  // The outbox is empty once the mailbox has taken the last one, before the desk has read it.
  eventually([&] { return desk.seen->size() == 3; });
  EXPECT_THAT(desk.seen->all(), ElementsAre(0, 1, 2));
  eventually([&] { return waits_for(sender).empty(); });
}

TEST_F(Outboxes, ThatAreFullRefuse) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  const auto sender = clerk({.outbox = 3});
  ASSERT_TRUE(sender.send(Batch{desk.ref, 1, 10}));
  eventually([&] { return notes->sent.size() == 10; });
  EXPECT_EQ(accepted(), 4u);
  desk.let_go();
  // All, before anything else is sent: that would get in between those of the outbox.
  eventually([&] { return desk.seen->size() == 4; });
  EXPECT_THAT(desk.handled(), ElementsAre(1, 2, 3, 4));
  // Empty again, it takes as many as before.
  desk.hold();
  ASSERT_TRUE(sender.send(Batch{desk.ref, 11, 20}));
  eventually([&] { return notes->sent.size() == 20; });
  EXPECT_EQ(accepted(), 8u);
}

TEST_F(Outboxes, OfNoRoomAtAllRefuseAtOnce) {
  HeldDesk desk(system, {.mailbox = {.capacity = 2}});
  ASSERT_TRUE(clerk({.outbox = 0}).send(Batch{desk.ref, 1, 4}));
  eventually([&] { return notes->sent.size() == 4; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent(), Sent(), Sent(is_full), Sent(is_full)));
}

TEST_F(Outboxes, AreNotForMailboxesOfOtherPolicies) {
  const auto sender = clerk();
  std::size_t sent = 0;
  for (const auto policy : {WhenFull::reject, WhenFull::drop_newest, WhenFull::drop_oldest}) {
    HeldDesk desk(system, {.mailbox = {.capacity = 1, .when_full = policy}});
    ASSERT_TRUE(sender.send(Batch{desk.ref, 1, 2}));
    eventually([&] { return notes->sent.size() == sent + 2; });
    sent += 2;
    EXPECT_THAT(desk.handled(), ElementsAre(policy == WhenFull::drop_oldest ? 2 : 1));
  }
  EXPECT_THAT(notes->sent.all(),
              ElementsAre(Sent(), Sent(is_full), Sent(), Sent(is_full), Sent(), Sent()));
}

TEST_F(Outboxes, WhatWaitsThereWhenTheOtherStopsBecomesADeadLetter) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}, .name = "desk"});
  const auto sender = clerk();
  ASSERT_TRUE(sender.send(Batch{desk.ref, 1, 4}));
  ASSERT_TRUE(sender.send(Note{7}));
  eventually([&] { return notes->sent.size() == 4; });
  EXPECT_TRUE(waits_for(sender).starts_with("room at desk"));
  desk.ref.stop();
  eventually([&] { return notes->handled.size() == 1; });  // The sender goes on.
  desk.let_go();
  await_end(system, desk.ref);
  EXPECT_EQ(accepted(), 4u);
  EXPECT_EQ(system.dead_letter_count(), 4u);  // One of them from the mailbox.
  int before_room = 0;
  for (const auto& each : system.dead_letters()) {
    EXPECT_EQ(each.actor, "desk");
    before_room += each.reason == "its actor stopped before there was room";
  }
  EXPECT_EQ(before_room, 3);
  eventually([&] { return waits_for(sender).empty(); });
}

TEST_F(Outboxes, MayOutliveTheSystemThatTheyWaitFor) {
  auto other = std::make_unique<ActorSystem>(SystemOptions{.workers = 1});
  HeldDesk desk(*other, {.mailbox = {.capacity = 1}});
  const auto sender = clerk();
  ASSERT_TRUE(sender.send(Batch{desk.ref, 1, 3}));
  eventually([&] { return notes->sent.size() == 3 && senders_waiting(desk.ref) == 1; });
  desk.ref.stop();
  desk.let_go();
  other.reset();
  ASSERT_TRUE(sender.send(Note{7}));
  eventually([&] { return notes->handled.size() == 1; });
  EXPECT_EQ(accepted(), 3u);
  EXPECT_EQ(system.dead_letter_count(), 2u);  // The third was in the mailbox.
}

TEST_F(Outboxes, AQuestionOfAHandlerIsRefusedWhileTheyWait) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  ASSERT_TRUE(desk.ref.send(Note{0}));
  ASSERT_TRUE(clerk().send(AskFor{desk.ref}));
  eventually([&] { return notes->errors.size() == 1; });
  EXPECT_EQ(notes->errors.all()[0], AskError::Code::full);
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1));
}

TEST_F(Outboxes, AForwardedQuestionMayWaitThere) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  ASSERT_TRUE(desk.ref.send(Note{0}));
  const auto sender = clerk();
  std::expected<int, AskError> answer = 0;
  std::jthread asker([&] { answer = sender.ask(Pass{desk.ref}, long_enough); });
  eventually([&] { return waits_for(sender).starts_with("room at"); });
  desk.let_go();
  asker.join();
  EXPECT_EQ(answer, 2);
  EXPECT_THAT(desk.seen->all(), ElementsAre(0, 1, 2));
}

TEST_F(Outboxes, AForwardedQuestionThatWaitsThereIsToldThatTheOtherHasStopped) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  ASSERT_TRUE(desk.ref.send(Note{0}));
  const auto sender = clerk();
  std::expected<int, AskError> answer = 0;
  std::jthread asker([&] { answer = sender.ask(Pass{desk.ref}, long_enough); });
  eventually([&] { return notes->handled.size() == 1; });  // Both were sent.
  EXPECT_THAT(waits_for(sender), ::testing::StartsWith("room at"));
  desk.ref.stop();
  asker.join();
  EXPECT_EQ(answer.error(), AskError::Code::closed);
}

// -- Rings ----------------------------------------------------------------------------------------

TEST_F(Outboxes, AMessageToItselfIsRefusedByItsOwnFullMailbox) {
  const auto sender = clerk({.mailbox = {.capacity = 2}});
  ASSERT_TRUE(sender.send(Batch{sender, 1, 4}));
  eventually([&] { return notes->handled.size() == 2; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent(), Sent(), Sent(is_full), Sent(is_full)));
  EXPECT_THAT(notes->handled.all(), ElementsAre(1, 2));
}

struct Both {
  Address<Note> other;
};
class Writer : public Actor<Writer, Both, Note> {
 public:
  explicit Writer(std::shared_ptr<ClerkNotes> notes) : notes_(std::move(notes)) {}
  void on(const Both& both) {
    EXPECT_TRUE(both.other.send(Note{1}));
    notes_->sent.add(self().send(Note{2}));
  }
  void on(Note note) { notes_->handled.add(note.number); }

 private:
  const std::shared_ptr<ClerkNotes> notes_;
};

TEST_F(Outboxes, AMessageToItselfNeedsNoneIfThereIsRoom) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  ASSERT_TRUE(desk.ref.send(Note{0}));
  ASSERT_TRUE(system.spawn<Writer>({}, notes).send(Both{desk.ref}));
  eventually([&] { return notes->sent.size() == 1; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent()));
  desk.let_go();
  eventually([&] { return notes->handled.size() == 1; });
}

// Each of them waits for room at the next, but for the last, which is about to.
struct Rings : Outboxes {
  Rings() : Outboxes(8) {}
  std::vector<ActorRef<Clerk>> ring;
  std::vector<std::shared_ptr<Gate>> gates;

  void make(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      ring.push_back(clerk({.mailbox = {.capacity = 1}}));
      gates.push_back(std::make_shared<Gate>());
    }
    for (std::size_t i = 0; i < size; ++i) {
      const auto number = static_cast<int>(i);
      ASSERT_TRUE(ring[i].send(Batch{ring[(i + 1) % size], number, number, gates[i]}));
      gates[i]->await_somebody();
    }
    for (const auto& each : ring) ASSERT_TRUE(each.send(Note{-1}));  // All are full.
    for (std::size_t i = 0; i + 1 < size; ++i) {
      gates[i]->open();
      // It stands in line before it has noted that: so long the next must wait, or would be noted first.
      eventually([&] { return senders_waiting(ring[i + 1]) == 1 && notes->sent.size() == i + 1; });
    }
  }
};

TEST_F(Rings, OfTwoAreNotClosed) {
  make(2);
  gates.back()->open();
  eventually([&] { return notes->handled.size() == 3; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent(), Sent(is_full)));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(Rings, OfFiveAreNotClosed) {
  make(5);
  gates.back()->open();
  eventually([&] { return notes->handled.size() == 9; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent(), Sent(), Sent(), Sent(), Sent(is_full)));
}

TEST_F(Rings, ThatAreNoneAreNotRefused) {
  make(3);
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  ASSERT_TRUE(desk.ref.send(Note{0}));
  // Two that wait for the same one are no ring.
  ASSERT_TRUE(clerk().send(Batch{desk.ref, 1, 1}));
  ASSERT_TRUE(clerk().send(Batch{desk.ref, 2, 2}));
  eventually([&] { return senders_waiting(desk.ref) == 2; });
  EXPECT_THAT(notes->sent.all(), Each(Sent()));
  gates.back()->open();
  eventually([&] { return notes->handled.size() == 5; });
}

// The same with coroutines, which wait themselves.
class Courier : public Actor<Courier, Batch, Note> {
 public:
  explicit Courier(std::shared_ptr<ClerkNotes> notes) : notes_(std::move(notes)) {}
  Lazy<> on(Batch batch) {
    if (batch.gate) co_await batch.gate->async_pass();
    for (int i = batch.first; i <= batch.last; ++i) {
      const auto sent = co_await batch.to.async_send(Note{i});
      notes_->sent.add(sent);
    }
  }
  void on(Note note) { notes_->handled.add(note.number); }

 private:
  const std::shared_ptr<ClerkNotes> notes_;
};

TEST_F(Outboxes, CoroutinesNeedNone) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  const auto courier = system.spawn<Courier>({.outbox = 0}, notes);
  ASSERT_TRUE(courier.send(Batch{desk.ref, 1, 3}));
  ASSERT_TRUE(courier.send(Note{7}));
  eventually([&] { return senders_waiting(desk.ref) == 1; });
  EXPECT_EQ(notes->sent.size(), 1u);
  EXPECT_EQ(notes->handled.size(), 0u);
  desk.let_go();
  eventually([&] { return notes->handled.size() == 1; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent(), Sent(), Sent()));
  eventually([&] { return desk.seen->size() == 3; });  // The last may still be in the mailbox.
  EXPECT_THAT(desk.seen->all(), ElementsAre(1, 2, 3));
}

TEST_F(Outboxes, ACoroutineDoesNotWaitForRoomInItsOwnActorsMailbox) {
  const auto courier = system.spawn<Courier>({.mailbox = {.capacity = 2}}, notes);
  ASSERT_TRUE(courier.send(Batch{courier, 1, 4}));
  eventually([&] { return notes->handled.size() == 2; });
  EXPECT_THAT(notes->sent.all(), ElementsAre(Sent(), Sent(), Sent(is_full), Sent(is_full)));
}

TEST_F(Outboxes, CoroutinesDoNotCloseARingEither) {
  const auto one = system.spawn<Courier>({.mailbox = {.capacity = 1}}, notes);
  const auto other = system.spawn<Courier>({.mailbox = {.capacity = 1}}, notes);
  const auto gate_of_one = std::make_shared<Gate>();
  const auto gate_of_other = std::make_shared<Gate>();
  ASSERT_TRUE(one.send(Batch{other, 1, 1, gate_of_one}));
  ASSERT_TRUE(other.send(Batch{one, 2, 2, gate_of_other}));
  gate_of_one->await_somebody();
  gate_of_other->await_somebody();
  ASSERT_TRUE(one.send(Note{3}));
  ASSERT_TRUE(other.send(Note{4}));
  gate_of_one->open();
  eventually([&] { return senders_waiting(other) == 1; });
  gate_of_other->open();
  eventually([&] { return notes->handled.size() == 3; });
  EXPECT_THAT(notes->sent.all(), ::testing::UnorderedElementsAre(Sent(), Sent(is_full)));
}

}  // namespace
}  // namespace handoff::tests
