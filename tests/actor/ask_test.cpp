// Questions: who may ask, and what comes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;
using Code = AskError::Code;

template <typename T>
Code code_of(const std::expected<T, AskError>& answer) {
  EXPECT_FALSE(answer.has_value());
  return answer ? Code::unanswered : answer.error().code;
}

// -- Answers --------------------------------------------------------------------------------------

struct Nothing {
  using Reply = void;
};
struct Owned {
  using Reply = std::unique_ptr<int>;
};
struct Converted {
  using Reply = std::string;
};
struct Later {
  using Reply = void;
};

class Oracle : public Actor<Oracle, Nothing, Owned, Converted, Later> {
 public:
  void on(Nothing) {}
  std::unique_ptr<int> on(Owned) { return std::make_unique<int>(7); }
  const char* on(Converted) { return "seven"; }
  Lazy<> on(Later) { co_return; }
};

TEST(Ask, GivesTheAnswerAsAValue) {
  ActorSystem system{{.workers = 1}};
  const auto oracle = system.spawn<Oracle>();
  EXPECT_TRUE(oracle.ask(Nothing{}, long_enough));
  EXPECT_TRUE(oracle.ask(Later{}, long_enough));
  EXPECT_EQ(**oracle.ask(Owned{}, long_enough), 7);
  EXPECT_EQ(oracle.ask(Converted{}, long_enough), "seven");
  EXPECT_EQ(oracle.ask(Converted{}, Wait{}), "seven");  // However long it takes.
}

TEST(Ask, AQuestionMayAlsoBeSent) {
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<int>>();
  const auto desk = system.spawn<Desk>({}, seen);
  EXPECT_TRUE(desk.send(Question{1}));
  EXPECT_EQ(desk.ask(Question{2}, long_enough), 2);
  EXPECT_THAT(seen->all(), ElementsAre(1, 2));
}

// -- Who asks -------------------------------------------------------------------------------------

struct Relayed {
  using Reply = int;
  std::vector<Address<Relayed>> rest;
};

// Asks the next, and that the next, and so on.
class Blocking : public Actor<Blocking, Relayed> {
 public:
  int on(Relayed relayed) {
    if (relayed.rest.empty()) return 0;
    const auto next = relayed.rest.back();
    relayed.rest.pop_back();
    return next.ask(std::move(relayed), long_enough).value() + 1;
  }
};
class Awaiting : public Actor<Awaiting, Relayed> {
 public:
  Lazy<int> on(Relayed relayed) {
    if (relayed.rest.empty()) co_return 0;
    const auto next = relayed.rest.back();
    relayed.rest.pop_back();
    const auto answer = co_await next.async_ask(std::move(relayed), long_enough);
    co_return answer.value() + 1;
  }
};

TEST(Ask, HandlersMayWaitForTheAnswerOnTheOneWorkerThereIs) {
  ActorSystem system{{.workers = 1}};
  Relayed chain;
  for (int i = 0; i < 10; ++i) chain.rest.push_back(system.spawn<Blocking>());
  EXPECT_EQ(system.spawn<Blocking>().ask(chain, long_enough), 10);
}

TEST(Ask, CoroutinesOfHandlersAwaitTheAnswer) {
  ActorSystem system{{.workers = 1}};
  Relayed chain;
  for (int i = 0; i < 100; ++i) chain.rest.push_back(system.spawn<Awaiting>());
  EXPECT_EQ(system.spawn<Awaiting>().ask(chain, long_enough), 100);
}

TEST(Ask, ActorsWithAThreadOfTheirOwnAskToo) {
  ActorSystem system{{.workers = 1}};
  Relayed chain;
  for (int i = 0; i < 3; ++i) {
    chain.rest.push_back(system.spawn<Blocking>({.dedicated_thread = true}));
    chain.rest.push_back(system.spawn<Awaiting>({.dedicated_thread = true}));
  }
  EXPECT_EQ(system.spawn<Blocking>().ask(chain, long_enough), 6);
}

Lazy<std::expected<int, AskError>> question(ActorRef<Desk> desk, int number,
                                            Duration timeout = long_enough) {
  auto answer = co_await desk.async_ask(Question{number}, timeout);
  co_return answer;
}

TEST(Ask, CoroutinesOnAPoolAwaitTheAnswerWithoutAThread) {
  ActorSystem system{{.workers = 1}};
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  HeldDesk desk(system, {.mailbox = {.capacity = 2}});
  std::vector<Future<std::expected<int, AskError>>> answers;
  for (int i = 0; i < 5; ++i) {  // Some of them wait for room first.
    auto spawned = spawn(pool, question(desk.ref, i));
    ASSERT_TRUE(spawned);
    answers.push_back(std::move(*spawned));
  }
  eventually([&] { return senders_waiting(desk.ref) == 3; });
  EXPECT_EQ(pool.submit([] { return 1; })->get(long_enough), 1);  // Its one worker is free.
  desk.let_go();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get(long_enough).value(), i);
  }
}

// -- No answer ------------------------------------------------------------------------------------

struct Unhappy {
  using Reply = int;
  bool throws;
};
class Grump : public Actor<Grump, Unhappy, Later> {
 public:
  void on(Unhappy unhappy) {
    if (unhappy.throws) throw std::runtime_error("no such account");
  }
  Lazy<> on(Later) {
    co_await yield();
    throw std::runtime_error("too late");
  }
};

TEST(Ask, IsToldThatTheHandlerThrewAndWhat) {
  ActorSystem system{{.workers = 1, .supervision = {.directive = Directive::resume}}};
  const auto grump = system.spawn<Grump>();
  const auto thrown = grump.ask(Unhappy{true}, long_enough);
  EXPECT_EQ(code_of(thrown), Code::failed);
  EXPECT_EQ(to_string(thrown.error()), "failed: no such account");
  EXPECT_THROW(std::rethrow_exception(thrown.error().cause), std::runtime_error);
  const auto later = grump.ask(Later{}, long_enough);
  EXPECT_EQ(to_string(later.error()), "failed: too late");
}

TEST(Ask, IsToldThatTheHandlerGaveNoAnswer) {
  ActorSystem system{{.workers = 1}};
  const auto answer = system.spawn<Grump>().ask(Unhappy{false}, long_enough);
  EXPECT_EQ(code_of(answer), Code::unanswered);
  EXPECT_EQ(answer.error().cause, nullptr);
  EXPECT_EQ(to_string(answer.error()), "unanswered");
}

// Throws when it is moved or copied, once there are so many of it.
struct Fragile {
  using Reply = int;
  explicit Fragile(int moves) : left(moves) {}
  Fragile(const Fragile& other) : left(other.left - 1) {
    if (left < 0) throw std::runtime_error("broken");
  }
  Fragile& operator=(const Fragile&) = default;
  int left;
};
struct AskFragile {
  using Reply = Fragile;
  int moves;
};
class Handler : public Actor<Handler, Fragile, AskFragile> {
 public:
  Lazy<int> on(Fragile fragile) { co_return fragile.left; }
  Fragile on(AskFragile ask) { return Fragile(ask.moves); }
};

TEST(Ask, IsToldThatItsMessageOrItsAnswerCouldNotBeMoved) {
  ActorSystem system{{.workers = 1, .supervision = {.directive = Directive::resume}}};
  const auto handler = system.spawn<Handler>();
  EXPECT_THROW(static_cast<void>(handler.ask(Fragile(0), long_enough)), std::runtime_error);
  int failed = 0;
  int moves = 1;
  for (; moves < 10; ++moves) {  // On its way to and into the coroutine.
    const auto answer = handler.ask(Fragile(moves), long_enough);
    if (answer) break;
    EXPECT_EQ(to_string(answer.error()), "failed: broken");
    ++failed;
  }
  EXPECT_GE(failed, 2);
  EXPECT_LT(moves, 10);
  EXPECT_EQ(to_string(handler.ask(AskFragile{0}, long_enough).error()), "failed: broken");
}

TEST(Ask, IsToldAtOnceThatTheActorHasStopped) {
  ActorSystem system{{.workers = 1}};
  const auto desk = system.spawn<Desk>({}, std::make_shared<Seen<int>>());
  desk.stop();
  await_end(system, desk);
  EXPECT_EQ(code_of(desk.ask(Question{1}, Wait{})), Code::closed);
  EXPECT_EQ(code_of(sync_wait(question(desk, 1))), Code::closed);
}

// A thread that asks, however long it takes, unless it says otherwise.
class Asker {
 public:
  explicit Asker(const ActorRef<Desk>& whom, Wait wait = {})
      : thread_([this, whom, wait] { answer_ = whom.ask(Question{1}, wait); }) {}
  std::expected<int, AskError> answer() {
    thread_.join();
    return std::move(answer_);
  }

 private:
  std::expected<int, AskError> answer_ = 0;
  std::jthread thread_;
};

TEST(Ask, IsToldThatTheActorStopsWithTheQuestionInItsMailbox) {
  ActorSystem system{{.workers = 1}};
  HeldDesk desk(system);
  Asker asker(desk.ref);
  eventually([&] { return desk.mailbox() == 1; });
  desk.ref.stop();
  desk.let_go();
  EXPECT_EQ(code_of(asker.answer()), Code::closed);
  await_end(system, desk.ref);
  EXPECT_EQ(system.dead_letter_count(), 1u);
}

TEST(Ask, IsToldThatTheSystemEndsAndTheQuestionIsHandedBack) {
  ActorSystem system{{.workers = 1}};
  HeldDesk desk(system);
  Asker asker(desk.ref);
  eventually([&] { return desk.mailbox() == 1; });
  EXPECT_EQ(system.shutdown(interrupt(0s)).still_alive.size(), 1u);
  desk.let_go();
  const auto report = system.shutdown(interrupt(long_enough));
  EXPECT_EQ(code_of(asker.answer()), Code::closed);
  ASSERT_EQ(report.handed_back.size(), 1u);
  EXPECT_EQ(report.handed_back[0].message.get_if<Question>()->number, 1);
}

TEST(Ask, EndsByAStopRequest) {
  ActorSystem system{{.workers = 1}};
  HeldDesk desk(system);
  std::stop_source stop;
  Asker asker(desk.ref, {.stop = stop.get_token()});
  eventually([&] { return desk.mailbox() == 1; });
  stop.request_stop();
  EXPECT_EQ(code_of(asker.answer()), Code::stopped);
  EXPECT_THAT(desk.handled(), ElementsAre(1));  // It was accepted; only the answer is discarded.
}

// -- Time -----------------------------------------------------------------------------------------

struct AskInTime : ::testing::Test {
  testing::ManualClock clock;
  Seen<std::string> letters;
  ActorSystem system{
      {.workers = 1}, {.on_dead_letter = [this](const DeadLetter& letter) {
        letters.add(std::string(letter.message.type()) + ": " + std::string(letter.reason));
      }}};
};

TEST_F(AskInTime, TimesOutAndTheQuestionThatNobodyWaitsForIsNotHandled) {
  HeldDesk desk(system);
  Asker asker(desk.ref, {.deadline = within(1s)});
  eventually([&] { return desk.mailbox() == 1; });
  clock.advance(1s);
  EXPECT_EQ(code_of(asker.answer()), Code::timed_out);
  EXPECT_THAT(desk.handled(), ElementsAre());
  EXPECT_THAT(letters.all(), ElementsAre("Question: asked, and not waited for any more"));
}

TEST_F(AskInTime, ALateAnswerIsDiscarded) {
  const auto gate = std::make_shared<Gate>();
  const auto slow = system.spawn([gate](Question question) {
    gate->pass();
    return question.number;
  });
  std::jthread asker([&] { EXPECT_EQ(code_of(slow.ask(Question{1}, 1s)), Code::timed_out); });
  gate->await_somebody();
  clock.advance(1s);
  asker.join();
  gate->open();
  EXPECT_EQ(slow.ask(Question{2}, long_enough), 2);
  EXPECT_EQ(letters.size(), 0u);
}

TEST_F(AskInTime, AnAwaitedQuestionTimesOutToo) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  HeldDesk desk(system, {.mailbox = {.capacity = 1}});
  auto in_mailbox = spawn(pool, question(desk.ref, 1, 1s));
  eventually([&] { return desk.mailbox() == 1; });
  auto in_line = spawn(pool, question(desk.ref, 2, 1s));
  eventually([&] { return senders_waiting(desk.ref) == 1; });
  clock.advance(1s);
  EXPECT_EQ(code_of(*in_mailbox->get()), Code::timed_out);
  EXPECT_EQ(code_of(*in_line->get()), Code::timed_out);
  EXPECT_THAT(desk.handled(), ElementsAre());
}

TEST_F(AskInTime, OneThatIsOverFromTheStartIsAskedForNothing) {
  HeldDesk desk(system);
  EXPECT_EQ(code_of(desk.ref.ask(Question{1}, 0s)), Code::timed_out);
  EXPECT_THAT(desk.handled(), ElementsAre());
}

}  // namespace
}  // namespace handoff::tests
