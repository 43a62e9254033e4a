// Actors that ask each other in a ring: told at once, and reported by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "handoff/lock_order.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Asks the last of the others for what it asks of the others. The answer: what came of the last question.
struct Chase {
  using Reply = std::string;
  std::vector<Address<Chase>> others;
};

template <typename Answer>
std::string told(const Answer& answer) {
  return answer ? *answer : std::string(to_string(answer.error().code));
}

template <bool is_reentrant>
class BlockingLink : public Actor<BlockingLink<is_reentrant>, Chase> {
 public:
  static constexpr bool reentrant = is_reentrant;
  std::string on(Chase chase) {
    if (chase.others.empty()) return "done";
    const auto next = chase.others.back();
    chase.others.pop_back();
    return told(next.ask(std::move(chase), long_enough));
  }
};

template <bool is_reentrant>
class AwaitingLink : public Actor<AwaitingLink<is_reentrant>, Chase> {
 public:
  static constexpr bool reentrant = is_reentrant;
  Lazy<std::string> on(Chase chase) {
    if (chase.others.empty()) co_return "done";
    const auto next = chase.others.back();
    chase.others.pop_back();
    const auto answer = co_await next.async_ask(std::move(chase), long_enough);
    co_return told(answer);
  }
};

struct AskRings : ::testing::Test {
  std::mutex lock;
  std::vector<LockProblem> problems;
  LockProblemHandler before = on_lock_problem([this](const LockProblem& problem) {
    const std::scoped_lock held(lock);
    problems.push_back(problem);
  });
  ActorSystem system{{.workers = 1}};
  ~AskRings() override { on_lock_problem(std::move(before)); }

  // Each asks the next, from the first to the last.
  template <typename A>
  static std::string ask(std::vector<ActorRef<A>> way) {
    Chase chase;
    for (std::size_t i = way.size() - 1; i > 0; --i) chase.others.push_back(way[i]);
    return told(way[0].ask(chase, long_enough));
  }
  template <typename A>
  std::vector<ActorRef<A>> spawn(const std::vector<std::string>& names) {
    std::vector<ActorRef<A>> all;
    for (const auto& each : names) all.push_back(system.spawn<A>({.name = each}));
    return all;
  }
};

template <typename A>
struct EachKind : AskRings {};
using Kinds = ::testing::Types<BlockingLink<false>, AwaitingLink<false>>;
TYPED_TEST_SUITE(EachKind, Kinds);

TYPED_TEST(EachKind, OneThatAsksItselfIsTold) {
  const auto links = this->template spawn<TypeParam>({"a"});
  EXPECT_EQ(this->ask(std::vector{links[0], links[0]}), "deadlock");
  ASSERT_THAT(this->problems, SizeIs(1));
  EXPECT_EQ(this->problems[0].kind, LockProblem::Kind::deadlock);
  EXPECT_THAT(this->problems[0].locks, ElementsAre("a"));
  EXPECT_THAT(this->problems[0].report, HasSubstr("a waits for a"));
}

TYPED_TEST(EachKind, OfTwoTheLastIsTold) {
  const auto links = this->template spawn<TypeParam>({"a", "b"});
  EXPECT_EQ(this->ask(std::vector{links[0], links[1], links[0]}), "deadlock");
  ASSERT_THAT(this->problems, SizeIs(1));
  EXPECT_THAT(this->problems[0].locks, ElementsAre("b", "a"));
}

TYPED_TEST(EachKind, OfThreeTheLastIsToldAndTheReportNamesThemAll) {
  const auto links = this->template spawn<TypeParam>({"shop/a", "b", "c"});
  EXPECT_EQ(this->ask(std::vector{links[0], links[1], links[2], links[0]}), "deadlock");
  ASSERT_THAT(this->problems, SizeIs(1));
  EXPECT_THAT(this->problems[0].locks, ElementsAre("c", "shop/a", "b"));
  EXPECT_EQ(this->problems[0].report,
            "deadlock: actors that wait for each other's answers\n"
            "  c waits for shop/a\n"
            "  shop/a waits for b\n"
            "  b waits for c\n");
}

TYPED_TEST(EachKind, ARingBehindTheFirstIsFoundToo) {
  const auto links = this->template spawn<TypeParam>({"a", "b", "c"});
  EXPECT_EQ(this->ask(std::vector{links[0], links[1], links[2], links[1]}), "deadlock");
  ASSERT_THAT(this->problems, SizeIs(1));
  EXPECT_THAT(this->problems[0].locks, ElementsAre("c", "b"));
}

TYPED_TEST(EachKind, QuestionsThatAreAnsweredAreForgotten) {
  const auto links = this->template spawn<TypeParam>({"a", "b", "c"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(this->ask(std::vector{links[0], links[1], links[2]}), "done");
    EXPECT_EQ(this->ask(std::vector{links[2], links[1], links[0]}), "done");
    EXPECT_EQ(this->ask(std::vector{links[1], links[0], links[2]}), "done");
  }
  EXPECT_THAT(this->problems, IsEmpty());
}

TYPED_TEST(EachKind, AfterItWasToldAllGoOn) {
  const auto links = this->template spawn<TypeParam>({"a", "b"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(this->ask(std::vector{links[0], links[1], links[0]}), "deadlock");
    EXPECT_EQ(this->ask(std::vector{links[1], links[0]}), "done");
  }
  EXPECT_THAT(this->problems, SizeIs(3));
}

TEST_F(AskRings, ReentrantActorsMayAskInARing) {
  const auto links = spawn<AwaitingLink<true>>({"a", "b", "c"});
  EXPECT_EQ(ask(std::vector{links[0], links[1], links[2], links[0]}), "done");
  EXPECT_EQ(ask(std::vector{links[0], links[0]}), "done");
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(AskRings, OneReentrantActorIsEnough) {
  const auto a = system.spawn<AwaitingLink<true>>({.name = "a"});
  const auto b = system.spawn<AwaitingLink<false>>({.name = "b"});
  EXPECT_EQ(told(a.ask(Chase{{a, b}}, long_enough)), "done");
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(AskRings, AReentrantActorThatHoldsItsThreadTakesNoOtherMessageEither) {
  const auto links = spawn<BlockingLink<true>>({"a", "b"});
  EXPECT_EQ(ask(std::vector{links[0], links[1], links[0]}), "deadlock");
  EXPECT_THAT(problems, SizeIs(1));
}

// -- Rings of questions and full mailboxes --------------------------------------------------------

struct Tell {
  using Reply = std::string;
  Address<Note> whom;
};
class Teller : public Actor<Teller, Tell> {
 public:
  std::string on(const Tell& tell) {
    const auto sent = tell.whom.send(Note{1});
    return sent ? "sent" : std::string(to_string(sent.error()));
  }
};
struct Begin {
  using Reply = std::string;
  ActorRef<Teller> whom;
};
class Beginner : public Actor<Beginner, Begin, Note> {
 public:
  Lazy<std::string> on(Begin begin) {
    EXPECT_TRUE(self().send(Note{0}));  // Full.
    auto tell = Tell{self()};
    const auto answer = co_await begin.whom.async_ask(std::move(tell), long_enough);
    co_return told(answer);
  }
  void on(Note) {}
};

TEST_F(AskRings, WhoIsAskedIsNotMadeToWaitForRoomAtWhoAsks) {
  const auto beginner = system.spawn<Beginner>({.mailbox = {.capacity = 1}});
  EXPECT_EQ(told(beginner.ask(Begin{system.spawn<Teller>()}, long_enough)), "full");
  EXPECT_THAT(problems, IsEmpty());
}

}  // namespace
}  // namespace handoff::tests
