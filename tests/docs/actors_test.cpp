// The code of docs/guide/actors.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/log.hpp"
#include "handoff/router.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;

// -- The first actor ------------------------------------------------------------------------------

struct Deposit {
  std::int64_t cents;
};
struct Balance {
  using Reply = std::int64_t;  // What the question is answered with.
};

class Account : public handoff::Actor<Account, Deposit, Balance> {
 public:
  void on(Deposit deposit) { cents_ += deposit.cents; }
  std::int64_t on(Balance) { return cents_; }

 private:
  std::int64_t cents_ = 0;  // No lock: nobody else comes here.
};

TEST(ActorsGuide, TheFirstActor) {
  handoff::ActorSystem system{{.workers = 4, .name = "bank"}};
  auto account = system.spawn<Account>({.name = "accounts/42"});  // ActorRef<Account>

  account.send(Deposit{500});
  auto cents = account.ask(Balance{}, 1min);  // std::expected<std::int64_t, handoff::AskError>

  auto report = system.shutdown(handoff::finish_within(30s));
  EXPECT_EQ(cents, 500);
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(account.send(Deposit{1}), std::unexpected(handoff::Refusal::closed));
}

TEST(ActorsGuide, AFunctionIsAnActor) {
  handoff::ActorSystem system{{.workers = 2}};
  std::atomic<std::int64_t> seen = 0;
  auto teller = system.spawn(
      [&seen, total = std::int64_t{0}](Deposit deposit) mutable { seen = total += deposit.cents; });
  teller.send(Deposit{1});
  teller.send(Deposit{2});
  (void)system.shutdown(handoff::finish_within(30s));
  EXPECT_EQ(seen, 3);
}

TEST(ActorsGuide, ActorsAreFoundByTheirNames) {
  handoff::ActorSystem system{{.workers = 2}};
  auto account = system.spawn<Account>({.name = "accounts/42"});
  if (auto found = system.find<Account>("accounts/42")) found->send(Deposit{1});

  handoff::Address<Deposit> pays_in = account;  // Any actor that takes a Deposit.
  EXPECT_TRUE(pays_in.send(Deposit{2}));
  EXPECT_EQ(account.ask(Balance{}, 1min), 3);
}

// -- Asking ---------------------------------------------------------------------------------------

struct Total {
  using Reply = std::int64_t;
};

class Branch : public handoff::Actor<Branch, Total> {
 public:
  explicit Branch(std::vector<handoff::ActorRef<Account>> accounts)
      : accounts_(std::move(accounts)) {}

  handoff::Lazy<std::int64_t> on(Total) {
    std::int64_t total = 0;
    for (const auto& account : accounts_) {
      auto cents = co_await account.async_ask(Balance{}, 1min);  // No thread waits here.
      if (!cents) throw std::runtime_error("no total: " + handoff::to_string(cents.error()));
      total += *cents;
    }
    co_return total;
  }

 private:
  std::vector<handoff::ActorRef<Account>> accounts_;
};

TEST(ActorsGuide, AHandlerMayBeACoroutine) {
  handoff::ActorSystem system{{.workers = 2}};
  std::vector<handoff::ActorRef<Account>> accounts;
  for (int i = 1; i <= 3; ++i) {
    accounts.push_back(system.spawn<Account>());
    accounts.back().send(Deposit{i});
  }
  const auto branch = system.spawn<Branch>({}, accounts);
  EXPECT_EQ(branch.ask(Total{}, 1min), 6);
  accounts[0].stop();
  EXPECT_EQ(branch.ask(Total{}, 1min).error(), handoff::AskError::Code::failed);
}

TEST(ActorsGuide, AnAskThatHasNoAnswerSaysWhy) {
  handoff::ActorSystem system{{.workers = 2}};
  const auto account = system.spawn<Account>();
  account.stop();
  std::string page;
  auto cents = account.ask(Balance{}, 1s);
  if (!cents) page = "503 " + handoff::to_string(cents.error());  // "503 closed"
  EXPECT_EQ(page, "503 closed");
}

struct Quote {
  using Reply = int;
};
struct Price {
  int cents;
};

class Market : public handoff::Actor<Market, Quote, Price> {
 public:
  void on(Quote) { waiting_.push_back(reply_later<Quote>()); }
  void on(Price price) {
    for (auto& each : waiting_) each.reply(price.cents);
    waiting_.clear();
  }

 private:
  std::vector<handoff::ReplyTo<int>> waiting_;
};

class Broker : public handoff::Actor<Broker, Quote> {
 public:
  explicit Broker(handoff::ActorRef<Market> market) : market_(std::move(market)) {}
  void on(Quote quote) { forward(market_, quote); }  // The market answers whoever asked.

 private:
  handoff::ActorRef<Market> market_;
};

TEST(ActorsGuide, AnAnswerMayComeLaterAndFromAnother) {
  handoff::ActorSystem system{{.workers = 2}};
  const auto market = system.spawn<Market>();
  const auto broker = system.spawn<Broker>({}, market);
  std::jthread ticks([&](std::stop_token stop) {
    while (!stop.stop_requested()) market.send(Price{99});
  });
  EXPECT_EQ(broker.ask(Quote{}, 1min), 99);
}

struct Approve {
  using Reply = std::string;
};
class Clerk;
struct Meet {
  handoff::ActorRef<Clerk> colleague;
};

class Clerk : public handoff::Actor<Clerk, Approve, Meet> {
 public:
  void on(Meet meet) { colleague_ = meet.colleague; }
  std::string on(Approve) {
    auto answer = colleague_.ask(Approve{}, 1min);  // He asks us, we ask him.
    return answer ? *answer : handoff::to_string(answer.error());
  }

 private:
  handoff::ActorRef<Clerk> colleague_;
};

TEST(ActorsGuide, ARingOfQuestionsIsADeadlock) {
  std::string report;
  const auto before = handoff::on_lock_problem(
      [&](const handoff::LockProblem& problem) { report = problem.report; });
  {
    handoff::ActorSystem system{{.workers = 2}};
    const auto ann = system.spawn<Clerk>({.name = "ann"});
    const auto bob = system.spawn<Clerk>({.name = "bob"});
    ann.send(Meet{bob});
    bob.send(Meet{ann});
    EXPECT_EQ(ann.ask(Approve{}, 1min), "deadlock");
  }
  handoff::on_lock_problem(before);
  EXPECT_EQ(report,
            "deadlock: actors that wait for each other's answers\n"
            "  bob waits for ann\n"
            "  ann waits for bob\n");
}

// -- When a mailbox is full -----------------------------------------------------------------------

struct Sample {
  int value;
};

TEST(ActorsGuide, AFullMailboxDoesWhatItsPolicySays) {
  handoff::Event go_on;
  std::atomic<int> last = 0;
  handoff::ActorSystem system{{.workers = 2}};
  const auto store = [&](Sample sample) {
    static_cast<void>(go_on.wait());
    last = sample.value;
  };
  auto statistics = system.spawn(
      store, {.mailbox = {.capacity = 100, .when_full = handoff::WhenFull::drop_oldest},
              .name = "statistics"});
  for (int i = 1; i <= 1'000; ++i) EXPECT_TRUE(statistics.send(Sample{i}));
  go_on.set();
  (void)system.shutdown(handoff::finish_within(1min));
  EXPECT_EQ(last, 1'000);
  EXPECT_GE(system.dropped(), 899);
}

TEST(ActorsGuide, ASendMayGiveUpWaiting) {
  handoff::Event go_on;
  handoff::ActorSystem system{{.workers = 2}};
  const auto slow = [&](Deposit) { static_cast<void>(go_on.wait()); };
  auto account = system.spawn(slow, {.mailbox = {.capacity = 1}});
  std::stop_source source;
  const auto stop = source.get_token();
  std::string page;
  account.send(Deposit{1});
  account.send(Deposit{2});  // Waits until the first is in hand.
  auto sent = account.send(Deposit{3}, {.deadline = handoff::within(100ms), .stop = stop});
  if (!sent) page = "503 " + std::string(to_string(sent.error()));  // It is still ours.
  EXPECT_EQ(page, "503 timed_out");
  go_on.set();
}

// -- Stopping -------------------------------------------------------------------------------------

TEST(ActorsGuide, AStopIsAfterTheMessageInHandOrAfterAll) {
  handoff::ActorSystem system{{.workers = 2}};
  auto account = system.spawn<Account>();
  auto other = system.spawn<Account>();
  account.stop();             // After the message in hand. What waits becomes dead letters.
  other.stop_when_drained();  // After all it has accepted. It accepts nothing more.

  auto end = system.watch(other).get();  // Terminated: who, and why.
  EXPECT_EQ(end->reason, handoff::StopReason::requested);
  EXPECT_EQ(other.ask(Balance{}, 1s).error(), handoff::AskError::Code::closed);
}

// -- Supervision ----------------------------------------------------------------------------------

struct AddToCart {
  std::string item;
};
struct Items {
  using Reply = std::size_t;
};

class Cart : public handoff::Actor<Cart, AddToCart, Items> {
 public:
  void on(AddToCart add) {
    if (add.item.empty()) throw std::invalid_argument("what is it?");
    items_.push_back(std::move(add.item));
  }
  std::size_t on(Items) { return items_.size(); }

 private:
  std::vector<std::string> items_;
};

struct OpenCart {
  using Reply = handoff::ActorRef<Cart>;
  std::string name;
};

class Shop : public handoff::Actor<Shop, OpenCart> {
 public:
  handoff::ActorRef<Cart> on(const OpenCart& open) { return spawn<Cart>({.name = open.name}); }
};

TEST(ActorsGuide, AFailureIsForTheParentsPolicy) {
  std::string seen;
  handoff::ActorSystem system{
      {.workers = 2},
      {.on_failure = [&](const handoff::Failure& failure, handoff::Directive directive) {
        if (const auto* add = failure.message.get_if<AddToCart>()) {
          seen = failure.actor + " \"" + add->item + "\" " + std::string(to_string(directive));
        }
      }}};
  auto shop =
      system.spawn<Shop>({.name = "shop",
                          .children = handoff::supervise({.directive = handoff::Directive::restart,
                                                          .most_restarts = 5,
                                                          .within = 1min,
                                                          .backoff = 10ms})});
  auto cart = shop.ask(OpenCart{"carts/7"}, 1min);
  ASSERT_TRUE(cart);
  cart->send(AddToCart{"tea"});
  EXPECT_EQ(cart->ask(Items{}, 1min), 1U);
  cart->send(AddToCart{""});
  EXPECT_EQ(cart->ask(Items{}, 1min), 0U);  // The same address, a fresh state.
  EXPECT_EQ(seen, "shop/carts/7 \"\" restart");
}

TEST(ActorsGuide, APolicyMayLookAtTheFailure) {
  handoff::Supervision policy{.directive = handoff::Directive::stop};
  policy.decide = [](const handoff::Failure& failure) {
    try {
      std::rethrow_exception(failure.error);
    } catch (const std::invalid_argument&) {
      return handoff::Directive::resume;  // A bad message; the cart is as it was.
    } catch (...) {
      return handoff::Directive::restart;
    }
  };
  handoff::ActorSystem system{{.workers = 2, .supervision = policy}};
  auto cart = system.spawn<Cart>();
  cart.send(AddToCart{"tea"});
  cart.send(AddToCart{""});
  EXPECT_EQ(cart.ask(Items{}, 1min), 1U);
}

// -- Watching -------------------------------------------------------------------------------------

class Session;

struct Enter {
  handoff::ActorRef<Session> session;
};
struct Present {
  using Reply = std::size_t;
};

class Room : public handoff::Actor<Room, Enter, Present> {
 public:
  void on(Enter enter) {
    sessions_.push_back(enter.session);
    watch(enter.session);
  }
  void on(const handoff::Terminated& end) {  // Not in the list of messages: nobody sends it.
    std::erase_if(sessions_, [&](const auto& each) { return each.id() == end.id; });
  }
  std::size_t on(Present) { return sessions_.size(); }

 private:
  std::vector<handoff::ActorRef<Session>> sessions_;
};

// -- Become ---------------------------------------------------------------------------------------

struct Login {
  std::string name;
};
struct Say {
  std::string text;
};
struct LastLine {
  using Reply = std::string;
};

class Session : public handoff::Actor<Session, Login, Say, LastLine> {
 public:
  struct Chatting {
    Session& session;
    std::string name;
    void on(const Say& say) { session.line_ = name + ": " + say.text; }
  };
  struct LoggingIn {
    Session& session;
    void on(const Login& login) { session.become(Chatting{session, login.name}); }
    void on(const Say&) { session.line_ = "who are you?"; }
  };
  using States = std::tuple<LoggingIn, Chatting>;

  Session() { become(LoggingIn{*this}); }
  std::string on(LastLine) { return line_; }  // In every state.

 private:
  std::string line_;
};

TEST(ActorsGuide, WhoWatchesHearsOfTheEnd) {
  handoff::ActorSystem system{{.workers = 2}};
  const auto room = system.spawn<Room>();
  const auto session = system.spawn<Session>();
  room.send(Enter{session});
  EXPECT_EQ(room.ask(Present{}, 1min), 1U);
  session.stop();
  eventually([&] { return room.ask(Present{}, 1min) == 0U; });
}

TEST(ActorsGuide, ASessionBecomesAnother) {
  handoff::ActorSystem system{{.workers = 2}};
  const auto session = system.spawn<Session>();
  session.send(Say{"hello"});
  EXPECT_EQ(session.ask(LastLine{}, 1min), "who are you?");
  session.send(Login{"bob"});
  session.send(Say{"hello"});
  EXPECT_EQ(session.ask(LastLine{}, 1min), "bob: hello");
  session.send(Login{"eve"});  // Chatting has no handler for it, and neither has the actor itself.
  eventually([&] { return !system.dead_letters().empty(); });
  EXPECT_EQ(system.dead_letters().front().reason, "not handled in this state");
}

// -- Timers ---------------------------------------------------------------------------------------

struct Beat {};
struct GiveUp {};
struct Answered {};

class Heart : public handoff::Actor<Heart, Beat, GiveUp, Answered> {
 public:
  explicit Heart(std::shared_ptr<std::atomic<int>> beats) : beats_(std::move(beats)) {}
  void on_start() {
    every(100ms, Beat{});
    patience_ = after(10s, GiveUp{});
  }
  void on(Beat) { ++*beats_; }
  void on(GiveUp) { stop(); }
  void on(Answered) { patience_.cancel(); }

 private:
  handoff::SelfTimerHandle patience_;
  std::shared_ptr<std::atomic<int>> beats_;
};

TEST(ActorsGuide, TimersAreMessagesToItself) {
  handoff::testing::ManualClock clock;
  handoff::ActorSystem system{{.workers = 2}};
  const auto beats = std::make_shared<std::atomic<int>>(0);
  const auto heart = system.spawn<Heart>({}, beats);
  eventually([&] { return clock.waiting() > 0; });
  eventually([&] {
    clock.advance(100ms);
    return *beats >= 3;
  });
  eventually([&] {
    clock.advance(1s);
    return heart.is_stopped();
  });
}

// -- Routers --------------------------------------------------------------------------------------

struct Photo {
  std::string user;
  std::string route_key() const { return user; }  // For Route::by_key.
};
struct Reload {};

class Resizer : public handoff::Actor<Resizer, Photo, Reload> {
 public:
  explicit Resizer(std::shared_ptr<std::atomic<int>> calls) : calls_(std::move(calls)) {}
  void on(const Photo&) { ++*calls_; }
  void on(const Reload&) { ++*calls_; }

 private:
  std::shared_ptr<std::atomic<int>> calls_;
};

TEST(ActorsGuide, ARouterIsOneAddressOfMany) {
  handoff::ActorSystem system{{.workers = 2}};
  const auto calls = std::make_shared<std::atomic<int>>(0);
  auto resizers = handoff::spawn_router<Resizer>(
      system, {.size = 8, .route = handoff::Route::least_loaded}, {.name = "resizers"}, calls);
  resizers.send(Photo{"ann"});   // To the one with the fewest messages.
  resizers.broadcast(Reload{});  // To all of them; there is one copy.
  EXPECT_TRUE(system.shutdown(handoff::finish_within(1min)).is_complete());
  EXPECT_EQ(*calls, 9);
}

// -- The end, and seeing what goes on -------------------------------------------------------------

TEST(ActorsGuide, TheReportSaysWhoIsLeftAndHandsBackWhatWasNotHandled) {
  std::string left;
  handoff::Event go_on;
  std::int64_t kept = 0;
  handoff::ActorSystem system{{.workers = 2}};
  const auto slow = [&](Deposit) { static_cast<void>(go_on.wait()); };
  auto account = system.spawn(slow, {.name = "accounts/42"});
  account.send(Deposit{1});
  account.send(Deposit{2});
  eventually([&] { return system.inspect().front().handled == 1; });
  auto report = system.shutdown(handoff::finish_within(10ms));
  for (const auto& each : report.still_alive) left += each.path + " is " + each.state + "\n";
  EXPECT_EQ(left, "accounts/42 is running\n");
  go_on.set();
  report = system.shutdown(handoff::finish_within(1min).then_interrupt(10s));
  for (const auto& each : report.handed_back) {
    if (const auto* deposit = each.message.get_if<Deposit>()) kept += deposit->cents;
  }
  EXPECT_EQ(kept, 2);
}

TEST(ActorsGuide, DeadLettersAreCountedHookedAndRemembered) {
  handoff::Event go_on;
  std::atomic<int> hooked = 0;
  handoff::ActorSystem system{
      {.workers = 2, .dead_letters = 64},
      {.on_failure = {}, .on_dead_letter = [&](const handoff::DeadLetter& letter) {
         if (letter.message.get_if<Deposit>() != nullptr) ++hooked;
       }}};
  const auto slow = [&](Deposit) { static_cast<void>(go_on.wait()); };
  auto account = system.spawn(slow);
  account.send(Deposit{1});
  account.send(Deposit{2});
  eventually([&] { return system.inspect().front().handled == 1; });
  account.stop();
  go_on.set();
  eventually([&] { return hooked == 1; });
  EXPECT_EQ(system.dead_letter_count(), 1U);
  EXPECT_EQ(system.dead_letters().front().type, "Deposit");
}

}  // namespace
