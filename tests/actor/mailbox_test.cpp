// How much fits in a mailbox, and what becomes of what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"

namespace handoff::tests {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

struct Mailboxes : ::testing::Test {
  Seen<std::string> letters;  // "<number of the note>: <reason>"
  ActorSystem system{{.workers = 2}, {.on_dead_letter = [this](const DeadLetter& letter) {
                       const Note* const note = letter.message.get_if<Note>();
                       letters.add((note == nullptr ? "?" : std::to_string(note->number)) + ": " +
                                   std::string(letter.reason));
                     }}};
  static ActorOptions holding(std::size_t capacity, WhenFull when_full) {
    return {.mailbox = {.capacity = capacity, .when_full = when_full}};
  }
};

constexpr auto is_full = std::unexpected(Refusal::full);

TEST_F(Mailboxes, HoldSoManyBesidesTheOneThatIsHandled) {
  HeldDesk desk(system, holding(5, WhenFull::reject));
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(desk.ref.send(Note{i}));
  EXPECT_EQ(desk.ref.send(Note{6}), is_full);
  const auto info = system.inspect()[0];
  EXPECT_EQ(info.mailbox, 5u);
  EXPECT_EQ(info.capacity, 5u);
  EXPECT_THAT(desk.handled(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(Mailboxes, HoldAThousandUnlessSaidOtherwise) {
  HeldDesk desk(system, {.mailbox = {.when_full = WhenFull::reject}});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(desk.ref.send(Note{i}));
  EXPECT_EQ(desk.ref.send(Note{1000}), is_full);
  EXPECT_THAT(desk.handled(), SizeIs(1000));
}

TEST_F(Mailboxes, AreFullAgainAsOftenAsTheyAreEmptied) {
  HeldDesk desk(system, holding(3, WhenFull::reject));
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(desk.ref.send(Note{i}));
    ASSERT_EQ(desk.ref.send(Note{3}), is_full);
    desk.let_go();
    eventually([&] { return desk.seen->size() == 3u * (static_cast<unsigned>(round) + 1); });
    desk.hold();
  }
}

TEST_F(Mailboxes, RejectWhatDoesNotFitAndCountNothing) {
  HeldDesk desk(system, holding(2, WhenFull::reject));
  for (int i = 1; i <= 2; ++i) EXPECT_TRUE(desk.ref.send(Note{i}));
  for (int i = 3; i <= 9; ++i) EXPECT_EQ(desk.ref.send(Note{i}), is_full);
  EXPECT_EQ(desk.ref.ask(Question{1}, long_enough).error(), AskError::Code::full);
  EXPECT_THAT(desk.handled(), ElementsAre(1, 2));
  EXPECT_EQ(system.dropped(), 0u);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(Mailboxes, DropTheNewestAndCountIt) {
  HeldDesk desk(system, holding(2, WhenFull::drop_newest));
  for (int i = 1; i <= 2; ++i) EXPECT_TRUE(desk.ref.send(Note{i}));
  for (int i = 3; i <= 9; ++i) EXPECT_EQ(desk.ref.send(Note{i}), is_full);
  EXPECT_EQ(desk.ref.ask(Question{1}, long_enough).error(), AskError::Code::full);
  EXPECT_THAT(desk.handled(), ElementsAre(1, 2));
  EXPECT_EQ(system.dropped(), 8u);
  EXPECT_EQ(system.dead_letter_count(), 0u);  // They were not accepted.
}

TEST_F(Mailboxes, DropTheOldestWhichBecomesADeadLetter) {
  HeldDesk desk(system, holding(3, WhenFull::drop_oldest));
  for (int i = 1; i <= 7; ++i) EXPECT_TRUE(desk.ref.send(Note{i}));
  EXPECT_EQ(system.dropped(), 4u);
  EXPECT_EQ(system.dead_letter_count(), 4u);
  EXPECT_THAT(letters.all(), ElementsAre("1: dropped as the oldest", "2: dropped as the oldest",
                                         "3: dropped as the oldest", "4: dropped as the oldest"));
  desk.let_go();
  eventually([&] { return desk.seen->size() == 3; });
  EXPECT_THAT(desk.seen->all(), ElementsAre(5, 6, 7));
}

TEST_F(Mailboxes, WhoAskedAQuestionThatIsDroppedIsToldFull) {
  HeldDesk desk(system, holding(1, WhenFull::drop_oldest));
  std::expected<int, AskError> answer = 0;
  std::jthread asker([&] { answer = desk.ref.ask(Question{1}, long_enough); });
  eventually([&] { return system.inspect()[0].mailbox == 1; });
  EXPECT_TRUE(desk.ref.send(Note{2}));
  asker.join();
  EXPECT_EQ(answer.error(), AskError::Code::full);
  EXPECT_THAT(desk.handled(), ElementsAre(2));
}

TEST_F(Mailboxes, OfOneMessageFollowTheirPolicyToo) {
  for (const auto policy : {WhenFull::reject, WhenFull::drop_newest, WhenFull::drop_oldest}) {
    HeldDesk desk(system, holding(1, policy));
    EXPECT_TRUE(desk.ref.send(Note{1}));
    EXPECT_EQ(desk.ref.send(Note{2}).has_value(), policy == WhenFull::drop_oldest);
    desk.let_go();
    eventually([&] { return desk.seen->size() == 1; });
    EXPECT_THAT(desk.seen->all(), ElementsAre(policy == WhenFull::drop_oldest ? 2 : 1));
  }
  EXPECT_EQ(system.dropped(), 2u);
}

// Throws when it is copied, if it was told to.
struct Unwilling {
  explicit Unwilling(bool refuses) : throws(refuses) {}
  Unwilling(const Unwilling& other) : throws(other.throws) {
    if (throws) throw std::runtime_error("not copied");
  }
  Unwilling& operator=(const Unwilling&) = default;
  bool throws;
};

TEST_F(Mailboxes, NothingIsDroppedForAMessageThatCannotBePutThere) {
  const auto gate = std::make_shared<Gate>();
  const auto desk =
      system.spawn([gate](const Unwilling&) { gate->pass(); }, holding(2, WhenFull::drop_oldest));
  ASSERT_TRUE(desk.send(Unwilling(false)));
  gate->await_somebody();
  ASSERT_TRUE(desk.send(Unwilling(false)));
  ASSERT_TRUE(desk.send(Unwilling(false)));
  EXPECT_THROW(static_cast<void>(desk.send(Unwilling(true))), std::runtime_error);
  EXPECT_EQ(system.dropped(), 0u);
  EXPECT_EQ(system.inspect()[0].mailbox, 2u);
  gate->open();
  desk.stop_when_drained();
  await_end(system, desk);
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST_F(Mailboxes, HaveABoundThatMakesSense) {
  const auto seen = std::make_shared<Seen<int>>();
  const auto of = [&](std::size_t capacity) {
    return system.spawn<Desk>({.mailbox = {.capacity = capacity}}, seen);
  };
  EXPECT_THROW(of(0), std::invalid_argument);
  EXPECT_THROW(of((std::size_t{1} << 31) + 1), std::invalid_argument);
  EXPECT_NO_THROW(of(std::size_t{1} << 31));
}

TEST_F(Mailboxes, BecomeDeadLettersWhenTheActorStops) {
  HeldDesk desk(system);
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(desk.ref.send(Note{i}));
  desk.ref.stop();
  EXPECT_EQ(desk.ref.send(Note{4}), std::unexpected(Refusal::closed));
  desk.let_go();
  await_end(system, desk.ref);
  EXPECT_THAT(letters.all(), ElementsAre("1: its actor was stopped", "2: its actor was stopped",
                                         "3: its actor was stopped"));
  EXPECT_THAT(system.dead_letters(), Each(Field(&DeadLetterNote::type, "Note")));
  EXPECT_EQ(desk.seen->size(), 0u);
}

TEST_F(Mailboxes, AreHandledToTheEndWhenTheActorStopsOnceDrained) {
  HeldDesk desk(system);
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(desk.ref.send(Note{i}));
  desk.ref.stop_when_drained();
  EXPECT_EQ(desk.ref.send(Note{4}), std::unexpected(Refusal::closed));
  desk.let_go();
  await_end(system, desk.ref);
  EXPECT_THAT(desk.seen->all(), ElementsAre(1, 2, 3));
  EXPECT_EQ(system.dead_letter_count(), 0u);
}

TEST(DeadLetters, OfWhichTheLastOnesAreRemembered) {
  ActorSystem system{{.workers = 1, .dead_letters = 2}};
  HeldDesk desk(system,
                {.mailbox = {.capacity = 1, .when_full = WhenFull::drop_oldest}, .name = "desk"});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(desk.ref.send(Note{i}));
  ASSERT_TRUE(desk.ref.send(Hold{desk.gate}));
  EXPECT_EQ(system.dead_letter_count(), 5u);
  const auto notes = system.dead_letters();
  ASSERT_THAT(notes, SizeIs(2));
  EXPECT_EQ(notes[1].actor, "desk");
  EXPECT_EQ(notes[1].type, "Note");
  EXPECT_EQ(notes[1].reason, "dropped as the oldest");
}

}  // namespace
}  // namespace handoff::tests
