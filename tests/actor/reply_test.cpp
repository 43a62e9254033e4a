// Answers that are given later, or by another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;
using Code = AskError::Code;
using Answer = std::expected<int, AskError>;

// Someone who asks, on a thread.
class Asker {
 public:
  template <typename A, typename M>
  Asker(const ActorRef<A>& whom, M message, Duration timeout = long_enough)
      : thread_([this, whom, message, timeout] { answer_ = whom.ask(message, timeout); }) {}
  Answer answer() {
    thread_.join();
    return std::move(answer_);
  }
  Code error() {
    const auto got = answer();
    EXPECT_FALSE(got.has_value());
    return got ? Code::full : got.error().code;
  }

 private:
  Answer answer_ = 0;
  std::jthread thread_;
};

// -- Later ----------------------------------------------------------------------------------------

struct Quote {
  using Reply = int;
};
struct Tick {
  int price;
};
struct Refuse {};
struct Forget {};
struct Other {
  using Reply = std::string;
};

class Market : public Actor<Market, Quote, Tick, Refuse, Forget> {
 public:
  struct Report {
    Seen<bool> awaited;
  };
  explicit Market(std::shared_ptr<Report> report) : report_(std::move(report)) {}
  void on(Quote) {
    waiting_.push_back(reply_later<Quote>());
    report_->awaited.add(waiting_.back().is_awaited());
    EXPECT_FALSE(reply_later<Quote>().is_awaited());  // There is one answer.
  }
  void on(Tick tick) {
    for (auto& each : waiting_) {
      each.reply(tick.price);
      each.reply(-1);  // It has answered.
      EXPECT_FALSE(each.is_awaited());
    }
    waiting_.clear();
  }
  void on(Refuse) {
    for (auto& each : waiting_) {
      each.fail(std::make_exception_ptr(std::runtime_error("closed today")));
    }
  }
  void on(Forget) { waiting_.clear(); }

 private:
  const std::shared_ptr<Report> report_;
  std::vector<ReplyTo<int>> waiting_;
};

struct ReplyLater : ::testing::Test {
  ActorSystem system{{.workers = 1}};
  const std::shared_ptr<Market::Report> report = std::make_shared<Market::Report>();
  const ActorRef<Market> market = system.spawn<Market>({}, report);
  void await_questions(std::size_t count) {
    eventually([&] { return report->awaited.size() == count; });
  }
};

TEST_F(ReplyLater, AnswersAfterOtherMessages) {
  Asker one(market, Quote{});
  Asker another(market, Quote{});
  await_questions(2);
  ASSERT_TRUE(market.send(Tick{7}));
  EXPECT_EQ(one.answer(), 7);
  EXPECT_EQ(another.answer(), 7);
}

TEST_F(ReplyLater, MayTellThatItFailed) {
  Asker asker(market, Quote{});
  await_questions(1);
  ASSERT_TRUE(market.send(Refuse{}));
  EXPECT_EQ(to_string(asker.answer().error()), "failed: closed today");
}

TEST_F(ReplyLater, ThatIsForgottenIsUnanswered) {
  Asker asker(market, Quote{});
  await_questions(1);
  ASSERT_TRUE(market.send(Forget{}));
  EXPECT_EQ(asker.error(), Code::unanswered);
}

TEST_F(ReplyLater, IsUnansweredIfItsActorEndsFirst) {
  Asker asker(market, Quote{});
  await_questions(1);
  market.stop();
  EXPECT_EQ(asker.error(), Code::unanswered);
}

TEST_F(ReplyLater, IsNotAwaitedIfTheQuestionWasSent) {
  ASSERT_TRUE(market.send(Quote{}));
  await_questions(1);
  EXPECT_THAT(report->awaited.all(), ElementsAre(false));
  ASSERT_TRUE(market.send(Tick{7}));  // Which harms nobody.
  Asker asker(market, Quote{});
  await_questions(2);
  ASSERT_TRUE(market.send(Tick{8}));
  EXPECT_EQ(asker.answer(), 8);
}

TEST(ReplyInTime, ThatComesTooLateIsDiscarded) {
  testing::ManualClock clock;
  ActorSystem system{{.workers = 1}};
  const auto report = std::make_shared<Market::Report>();
  const auto market = system.spawn<Market>({}, report);
  Asker impatient(market, Quote{}, 1s);
  eventually([&] { return report->awaited.size() == 1; });
  clock.advance(1s);
  EXPECT_EQ(impatient.error(), Code::timed_out);
  Asker patient(market, Quote{});
  eventually([&] { return report->awaited.size() == 2; });
  ASSERT_TRUE(market.send(Tick{7}));
  EXPECT_EQ(patient.answer(), 7);
}

TEST(Reply, MayBeGivenByAnotherThreadAfterTheSystemHasEnded) {
  struct Deposit {
    using Reply = int;
  };
  class Safe : public Actor<Safe, Deposit> {
   public:
    explicit Safe(std::shared_ptr<Event> taken, std::shared_ptr<ReplyTo<int>> place)
        : taken_(std::move(taken)), place_(std::move(place)) {}
    void on(Deposit) {
      *place_ = reply_later<Deposit>();
      taken_->set();
    }

   private:
    const std::shared_ptr<Event> taken_;
    const std::shared_ptr<ReplyTo<int>> place_;
  };
  const auto taken = std::make_shared<Event>();
  const auto place = std::make_shared<ReplyTo<int>>();
  auto system = std::make_unique<ActorSystem>(SystemOptions{.workers = 1});
  Asker asker(system->spawn<Safe>({}, taken, place), Deposit{});
  ASSERT_TRUE(taken->wait({.deadline = within(long_enough)}));
  system.reset();
  ReplyTo<int> moved = std::move(*place);
  EXPECT_FALSE(place->is_awaited());
  moved.reply(5);
  EXPECT_EQ(asker.answer(), 5);
}

struct WrongLater {
  using Reply = int;
};
class Confused : public Actor<Confused, WrongLater> {
 public:
  int on(WrongLater) {
    EXPECT_THROW(static_cast<void>(reply_later<Other>()), std::logic_error);
    return 3;  // Still its to answer.
  }
};

TEST(Reply, OfAnotherTypeThanTheQuestionsIsAMistake) {
  ActorSystem system{{.workers = 1}};
  EXPECT_EQ(system.spawn<Confused>().ask(WrongLater{}, long_enough), 3);
}

struct Slowly {
  using Reply = int;
  std::shared_ptr<Gate> gate;
  ActorRef<Market> pass_to = {};
};
class Awaiting : public Actor<Awaiting, Slowly> {
 public:
  static constexpr bool reentrant = true;
  Lazy<> on(Slowly slowly) {
    co_await slowly.gate->async_pass();
    if (slowly.pass_to) {
      EXPECT_TRUE(forward(slowly.pass_to, Quote{}));
      co_return;
    }
    // Each coroutine has the question it is for.
    auto reply = reply_later<Slowly>();
    EXPECT_TRUE(reply.is_awaited());
    co_await yield();
    reply.reply(11);
  }
};

TEST(Reply, MayBeTakenByACoroutineAfterItHasWaited) {
  ActorSystem system{{.workers = 1}};
  const auto awaiting = system.spawn<Awaiting>();
  const auto first = std::make_shared<Gate>();
  const auto second = std::make_shared<Gate>();
  const auto report = std::make_shared<Market::Report>();
  const auto market = system.spawn<Market>({}, report);
  Asker one(awaiting, Slowly{first});
  Asker another(awaiting, Slowly{second, market});
  first->await_somebody();
  second->await_somebody();
  first->open();
  EXPECT_EQ(one.answer(), 11);
  second->open();
  eventually([&] { return report->awaited.size() == 1; });
  ASSERT_TRUE(market.send(Tick{12}));
  EXPECT_EQ(another.answer(), 12);
}

// -- Forward --------------------------------------------------------------------------------------

struct Request {
  using Reply = int;
  std::vector<Address<Request>> rest;
};
struct Fragile {
  using Reply = int;
  explicit Fragile(bool is_broken) : broken(is_broken) {}
  Fragile(const Fragile& other) : broken(other.broken) {
    if (broken) throw std::runtime_error("broken");
  }
  Fragile& operator=(const Fragile&) = default;
  bool broken;
};
struct SendOn {
  using Reply = int;
  ActorRef<Desk> to;
};
struct SendBroken {
  using Reply = int;
};
struct SendWrong {
  using Reply = std::string;
  ActorRef<Desk> to;
};

class Porter : public Actor<Porter, Request, SendOn, SendBroken, SendWrong, Fragile> {
 public:
  int on(const Fragile&) { return 1; }
  // Down the line; the last one answers.
  void on(Request request) {
    if (request.rest.empty()) {
      reply_later<Request>().reply(42);
      return;
    }
    const auto next = request.rest.back();
    request.rest.pop_back();
    EXPECT_TRUE(forward(next, std::move(request)));
    EXPECT_FALSE(reply_later<Request>().is_awaited());
  }
  // If it cannot be passed on, the answer is its own.
  void on(const SendOn& send_on) {
    const auto passed = forward(send_on.to, Question{5});
    if (!passed) reply_later<SendOn>().reply(passed.error() == Refusal::full ? -1 : -2);
  }
  void on(SendBroken) { EXPECT_TRUE(forward(self(), Fragile(true))); }
  std::string on(const SendWrong& wrong) {
    EXPECT_THROW(static_cast<void>(forward(wrong.to, Question{6})), std::logic_error);
    return "mine";
  }
};

struct Forward : ::testing::Test {
  ActorSystem system{{.workers = 2, .supervision = {.directive = Directive::resume}}};
  const ActorRef<Porter> porter = system.spawn<Porter>();
};

TEST_F(Forward, LetsAnotherAnswerHoweverFarAway) {
  Request request;
  for (int i = 0; i < 20; ++i) request.rest.push_back(system.spawn<Porter>());
  EXPECT_EQ(porter.ask(request, long_enough), 42);
}

TEST_F(Forward, OfWhatWasSentIsASend) {
  const auto seen = std::make_shared<Seen<int>>();
  const auto desk = system.spawn<Desk>({}, seen);
  ASSERT_TRUE(porter.send(SendOn{desk}));
  eventually([&] { return seen->size() == 1; });
  EXPECT_THAT(seen->all(), ElementsAre(5));
  EXPECT_EQ(porter.ask(SendOn{desk}, long_enough), 5);
}

TEST_F(Forward, ThatIsRefusedLeavesTheAnswerToTheActor) {
  HeldDesk desk(system, {.mailbox = {.capacity = 1, .when_full = WhenFull::reject}});
  ASSERT_TRUE(desk.ref.send(Note{1}));
  EXPECT_EQ(porter.ask(SendOn{desk.ref}, long_enough), -1);
  desk.ref.stop();
  EXPECT_EQ(porter.ask(SendOn{desk.ref}, long_enough), -2);
  EXPECT_EQ(porter.ask(SendOn{}, long_enough), -2);  // Nobody.
}

TEST_F(Forward, OfAMessageWithAnotherAnswerIsAMistake) {
  const auto seen = std::make_shared<Seen<int>>();
  const auto desk = system.spawn<Desk>({}, seen);
  EXPECT_EQ(porter.ask(SendWrong{desk}, long_enough), "mine");
  EXPECT_EQ(seen->size(), 0u);
}

TEST_F(Forward, OfAMessageThatThrowsIsToldToWhoAsked) {
  const auto answer = porter.ask(SendBroken{}, long_enough);
  ASSERT_FALSE(answer);
  EXPECT_EQ(to_string(answer.error()), "failed: broken");
}

TEST_F(Forward, ThatIsNotHandledIsToldClosed) {
  HeldDesk desk(system);
  Asker asker(porter, SendOn{desk.ref});
  eventually([&] { return desk.mailbox() == 1; });
  desk.ref.stop();
  desk.let_go();
  EXPECT_EQ(asker.error(), Code::closed);
}

TEST(ForwardInTime, KeepsTheDeadlineOfWhoAsked) {
  testing::ManualClock clock;
  ActorSystem system{{.workers = 2}};
  HeldDesk desk(system);
  Asker asker(system.spawn<Porter>(), SendOn{desk.ref}, 1s);
  eventually([&] { return desk.mailbox() == 1; });
  clock.advance(1s);
  EXPECT_EQ(asker.error(), Code::timed_out);
  EXPECT_THAT(desk.handled(), ElementsAre());
  EXPECT_EQ(system.dead_letter_count(), 1u);
}

}  // namespace
}  // namespace handoff::tests
