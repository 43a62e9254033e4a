// How messages are given to handlers: one at a time, in order, as values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "support/sanitized.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;

std::vector<int> numbers_to(int end) {
  std::vector<int> numbers(static_cast<std::size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// -- One at a time, in order ----------------------------------------------------------------------

struct Count {
  int sender;
  int number;
};

class Counter : public Actor<Counter, Count> {
 public:
  struct Report {
    std::atomic<int> inside = 0;
    std::atomic<int> collisions = 0;
    std::atomic<int> handled = 0;
    std::atomic<int> out_of_order = 0;
  };
  explicit Counter(std::shared_ptr<Report> report) : report_(std::move(report)) {}
  void on(Count count) {
    if (++report_->inside != 1) ++report_->collisions;
    auto& next = next_[static_cast<std::size_t>(count.sender)];
    if (count.number != next) ++report_->out_of_order;
    next = count.number + 1;
    total_ = total_ + 1;  // No lock: ThreadSanitizer would tell.
    report_->handled = total_;
    --report_->inside;
  }

 private:
  const std::shared_ptr<Report> report_;
  std::array<int, 8> next_{};
  int total_ = 0;
};

// Sends a message of its own for each it gets.
class Relay : public Actor<Relay, Count> {
 public:
  explicit Relay(ActorRef<Counter> to) : to_(std::move(to)) {}
  void on(Count count) { EXPECT_TRUE(to_.send(count)); }

 private:
  const ActorRef<Counter> to_;
};

struct ManySenders : ::testing::Test {
  static constexpr int senders = 4;
  static constexpr int each = is_sanitized ? 1000 : 5000;
  const std::shared_ptr<Counter::Report> report = std::make_shared<Counter::Report>();
  ActorSystem system{{.workers = 4}};

  void expect_all_in_order() {
    EXPECT_EQ(report->handled, senders * each);
    EXPECT_EQ(report->collisions, 0);
    EXPECT_EQ(report->out_of_order, 0);
    EXPECT_EQ(system.dead_letter_count(), 0u);
  }
  template <typename Send>
  static void from_threads(Send send) {
    std::vector<std::jthread> threads;
    for (int sender = 0; sender < senders; ++sender) {
      threads.emplace_back([=] {
        for (int i = 0; i < each; ++i) ASSERT_TRUE(send(Count{sender, i}));
      });
    }
  }
};

TEST_F(ManySenders, AreHandledOneMessageAtATimeAndInTheOrderOfEachThread) {
  const auto counter = system.spawn<Counter>({}, report);
  from_threads([&](Count count) { return counter.send(count); });
  counter.stop_when_drained();
  await_end(system, counter);
  expect_all_in_order();
}

TEST_F(ManySenders, KeepTheirOrderThroughASmallMailboxThatLetsThemWait) {
  const auto counter = system.spawn<Counter>({.mailbox = {.capacity = 3}}, report);
  from_threads([&](Count count) { return counter.send(count); });
  counter.stop_when_drained();
  await_end(system, counter);
  expect_all_in_order();
}

TEST_F(ManySenders, KeepTheirOrderIfTheyAreActorsWithOutboxes) {
  const auto counter = system.spawn<Counter>({.mailbox = {.capacity = 2}}, report);
  std::vector<ActorRef<Relay>> relays;
  for (int i = 0; i < senders; ++i) relays.push_back(system.spawn<Relay>({}, counter));
  from_threads(
      [&](Count count) { return relays[static_cast<std::size_t>(count.sender)].send(count); });
  for (const auto& relay : relays) relay.stop_when_drained();
  for (const auto& relay : relays) await_end(system, relay);
  counter.stop_when_drained();
  await_end(system, counter);
  expect_all_in_order();
}

TEST(Messages, ToItselfComeAfterThoseThatAreThere) {
  struct Step {
    int left;
  };
  class Walker : public Actor<Walker, Step> {
   public:
    explicit Walker(std::shared_ptr<Seen<int>> seen) : seen_(std::move(seen)) {}
    void on(Step step) {
      seen_->add(step.left);
      if (step.left == 0) return stop();
      EXPECT_TRUE(self().send(Step{step.left - 1}));
    }

   private:
    const std::shared_ptr<Seen<int>> seen_;
  };
  ActorSystem system{{.workers = 2}};
  const auto seen = std::make_shared<Seen<int>>();
  const auto walker = system.spawn<Walker>({}, seen);
  ASSERT_TRUE(walker.send(Step{3}));
  await_end(system, walker);
  EXPECT_THAT(seen->all(), ElementsAre(3, 2, 1, 0));
}

TEST(Messages, ABusyActorLetsOthersRunAfter64OfThem) {
  struct Begin {
    ActorRef<Desk> busy;
    ActorRef<Desk> other;
  };
  ActorSystem system{{.workers = 1}};
  const auto order = std::make_shared<Seen<int>>();
  const auto busy = system.spawn<Desk>({}, order);
  const auto other = system.spawn<Desk>({}, order);
  // In a turn on the one worker: neither of them runs before it is over.
  const auto starter = system.spawn([](const Begin& begin) {
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(begin.busy.send(Note{i}));
    EXPECT_TRUE(begin.other.send(Note{-1}));
  });
  ASSERT_TRUE(starter.send(Begin{busy, other}));
  eventually([&] { return order->size() == 501; });
  const auto all = order->all();
  EXPECT_LE(std::ranges::find(all, -1) - all.begin(), 64);
}

// -- Values ---------------------------------------------------------------------------------------

// Counts how often it is copied and moved.
struct Parcel {
  struct Trips {
    int copies = 0;
    int moves = 0;
  };
  std::shared_ptr<Trips> trips = std::make_shared<Trips>();
  int content = 0;

  explicit Parcel(int what) : content(what) {}
  Parcel(const Parcel& other) : trips(other.trips), content(other.content) { ++trips->copies; }
  Parcel(Parcel&& other) noexcept : trips(other.trips), content(std::exchange(other.content, -1)) {
    ++trips->moves;
  }
  Parcel& operator=(const Parcel&) = delete;
};

struct ByValue : Parcel {
  using Parcel::Parcel;
};
struct ByReference : Parcel {
  using Parcel::Parcel;
};

class Receiver : public Actor<Receiver, ByValue, ByReference> {
 public:
  explicit Receiver(std::shared_ptr<Seen<int>> seen) : seen_(std::move(seen)) {}
  void on(ByValue parcel) { seen_->add(parcel.content); }
  void on(const ByReference& parcel) { seen_->add(parcel.content); }

 private:
  const std::shared_ptr<Seen<int>> seen_;
};

struct Values : ::testing::Test {
  ActorSystem system{{.workers = 1}};
  const std::shared_ptr<Seen<int>> seen = std::make_shared<Seen<int>>();
  const ActorRef<Receiver> receiver = system.spawn<Receiver>({}, seen);
  void drain() {
    receiver.stop_when_drained();
    await_end(system, receiver);
  }
};

TEST_F(Values, AreMovedIntoTheMailboxAndIntoTheHandler) {
  ByValue value(1);
  ByReference reference(2);
  ASSERT_TRUE(receiver.send(std::move(value)));
  ASSERT_TRUE(receiver.send(std::move(reference)));
  drain();
  EXPECT_THAT(seen->all(), ElementsAre(1, 2));
  EXPECT_EQ(value.trips->copies, 0);
  EXPECT_EQ(value.trips->moves, 2);
  EXPECT_EQ(reference.trips->copies, 0);
  EXPECT_EQ(reference.trips->moves, 1);
}

TEST_F(Values, AreCopiedIfTheSenderKeepsThem) {
  const ByReference parcel(7);
  ASSERT_TRUE(receiver.send(parcel));
  ASSERT_TRUE(receiver.send(parcel));
  drain();
  EXPECT_THAT(seen->all(), ElementsAre(7, 7));
  EXPECT_EQ(parcel.trips->copies, 2);
}

TEST_F(Values, ThatWereRefusedAreUntouched) {
  drain();
  ByValue parcel(1);
  EXPECT_EQ(receiver.send(std::move(parcel)), std::unexpected(Refusal::closed));
  EXPECT_EQ(parcel.content, 1);
  EXPECT_EQ(parcel.trips->moves, 0);
}

TEST(Messages, MayBeMoveOnly) {
  struct Letter {
    std::unique_ptr<std::string> text;
  };
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<std::string>>();
  const auto reader = system.spawn([seen](Letter letter) { seen->add(*letter.text); });
  ASSERT_TRUE(reader.send(Letter{std::make_unique<std::string>("hello")}));
  eventually([&] { return seen->size() == 1; });
  EXPECT_EQ(seen->all()[0], "hello");
}

struct Large {
  std::array<std::uint64_t, 100> words;
};
struct alignas(64) Aligned {
  std::uint64_t word;
};
struct Small {
  std::uint8_t byte;
};

// One mailbox for messages that lie in it and such that are too large for that.
class Mixed : public Actor<Mixed, Large, Aligned, Small> {
 public:
  explicit Mixed(std::shared_ptr<Seen<std::uint64_t>> seen) : seen_(std::move(seen)) {}
  void on(const Large& large) {
    seen_->add(std::accumulate(large.words.begin(), large.words.end(), std::uint64_t{0}));
  }
  void on(const Aligned& aligned) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned) % 64, 0u);
    seen_->add(aligned.word);
  }
  void on(Small small) { seen_->add(small.byte); }

 private:
  const std::shared_ptr<Seen<std::uint64_t>> seen_;
};

TEST(Messages, OfAllSizesAndAlignmentsArriveInOrder) {
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<std::uint64_t>>();
  const auto mixed = system.spawn<Mixed>({}, seen);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 300; i += 3) {
    Large large{};
    large.words.fill(i);
    ASSERT_TRUE(mixed.send(large));
    ASSERT_TRUE(mixed.send(Aligned{i + 1}));
    ASSERT_TRUE(mixed.send(Small{static_cast<std::uint8_t>(i)}));
    for (const auto each : {i * large.words.size(), i + 1, i % 256}) expected.push_back(each);
  }
  mixed.stop_when_drained();
  await_end(system, mixed);
  EXPECT_EQ(seen->all(), expected);
}

// Throws when it is moved or copied, if it was told to.
struct Unwilling {
  int number = 0;
  bool throws = false;

  explicit Unwilling(int which, bool refuses = false) : number(which), throws(refuses) {}
  Unwilling(const Unwilling& other) : number(other.number), throws(other.throws) {
    if (throws) throw std::runtime_error("not moved");
  }
  Unwilling& operator=(const Unwilling&) = default;
};

TEST(Messages, ThatThrowWhenTheyAreMovedComeBackToTheSender) {
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<int>>();
  const auto reader = system.spawn([seen](const Unwilling& given) { seen->add(given.number); });
  // At every place in the memory of a mailbox: each of the others is behind one that failed.
  for (int i = 0; i < 200; ++i) {
    EXPECT_THROW(static_cast<void>(reader.send(Unwilling(i, true))), std::runtime_error);
    ASSERT_TRUE(reader.send(Unwilling(i)));
  }
  eventually([&] { return seen->size() == 200; });
  EXPECT_EQ(seen->all(), numbers_to(200));
}

TEST(Messages, ThatThrowTakeNoRoom) {
  ActorSystem system{{.workers = 1}};
  const auto gate = std::make_shared<Gate>();
  const auto reader = system.spawn([gate](const Unwilling&) { gate->pass(); },
                                   {.mailbox = {.capacity = 1, .when_full = WhenFull::reject}});
  ASSERT_TRUE(reader.send(Unwilling(0)));
  gate->await_somebody();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW(static_cast<void>(reader.send(Unwilling(1, true))), std::runtime_error);
  }
  EXPECT_TRUE(reader.send(Unwilling(1)));
  EXPECT_EQ(reader.send(Unwilling(2)), std::unexpected(Refusal::full));
  gate->open();
}

// -- References -----------------------------------------------------------------------------------

TEST(References, OfNobodyRefuseAndOutliveTheSystem) {
  ActorRef<Desk> ref;
  EXPECT_FALSE(ref);
  EXPECT_TRUE(ref.is_stopped());
  EXPECT_EQ(ref.path(), "");
  EXPECT_EQ(ref.send(Note{1}), std::unexpected(Refusal::closed));
  EXPECT_EQ(ref.ask(Question{1}, long_enough).error(), AskError::Code::closed);
  ref.stop();
  {
    ActorSystem system{{.workers = 1}};
    ref = system.spawn<Desk>({.name = "desk"}, std::make_shared<Seen<int>>());
    EXPECT_TRUE(ref);
    EXPECT_FALSE(ref.is_stopped());
  }
  EXPECT_TRUE(ref);
  EXPECT_TRUE(ref.is_stopped());
  EXPECT_EQ(ref.path(), "desk");
  EXPECT_EQ(ref.send(Note{1}), std::unexpected(Refusal::closed));
  EXPECT_EQ(ref.ask(Question{1}, long_enough).error(), AskError::Code::closed);
}

TEST(References, ToOneActorAreEqual) {
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<int>>();
  const auto one = system.spawn<Desk>({}, seen);
  const auto other = system.spawn<Desk>({}, seen);
  const auto copy = one;
  EXPECT_EQ(copy, one);
  EXPECT_EQ(copy.id(), one.id());
  EXPECT_NE(copy, other);
  EXPECT_EQ((Address<Note, Question>(one)), (Address<Note, Question>(copy)));
}

TEST(Addresses, ReachActorsOfAnyClassThatTakeTheMessages) {
  class Doubler : public Actor<Doubler, Question> {
   public:
    int on(Question question) { return 2 * question.number; }
  };
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<int>>();
  std::vector<Address<Question>> addresses{system.spawn<Desk>({}, seen), system.spawn<Doubler>()};
  EXPECT_EQ(addresses[0].ask(Question{4}, long_enough), 4);
  EXPECT_EQ(addresses[1].ask(Question{4}, long_enough), 8);

  const Address<Note, Question> both = system.spawn<Desk>({}, seen);
  EXPECT_TRUE(both.send(Note{1}));
  EXPECT_EQ(both.ask(Question{2}, long_enough), 2);
  EXPECT_THAT(seen->all(), ElementsAre(4, 1, 2));
  both.stop();
  eventually([&] { return both.is_stopped(); });
  EXPECT_EQ(both.send(Note{1}), std::unexpected(Refusal::closed));
  EXPECT_EQ(Address<Note>().send(Note{1}), std::unexpected(Refusal::closed));
}

TEST(Messages, AnActorThatWasNotSpawnedHasNoAddress) {
  class Lost : public Actor<Lost, Note> {
   public:
    void on(Note) { static_cast<void>(self()); }
  };
  Lost lost;
  EXPECT_THROW(lost.on(Note{1}), std::logic_error);
}

}  // namespace
}  // namespace handoff::tests
