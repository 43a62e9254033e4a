// What actors promise in numbers, under many schedules: how many messages wait, how often one is restarted, who handles nothing any more.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/actors.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;

class SimulatedPromises : public QuietTest {};

// -- The mailbox ----------------------------------------------------------------------------------

// One is handled, and two wait: others have to. It has a thread of its own, so they are let in as soon as there is room.
TEST_F(SimulatedPromises, AMailboxHasNeverMoreThanItsCapacity) {
  simulate_both([] {
    int accepted = 0;
    Event may_go_on;
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto slow = system.spawn([&](Item) { check(may_go_on.wait().has_value(), "refused"); },
                                   {.mailbox = {.capacity = 2}, .dedicated_thread = true});
    const auto send_two = [&] {
      for (int i = 0; i < 2; ++i) {
        accepted += slow.send(Item{i}, {.deadline = within(1ms), .stop = {}}) ? 1 : 0;
      }
    };
    {
      Thread one(send_two);
      Thread two(send_two);
      send_two();
    }
    check(accepted <= 3, "there are more than it has room for");
    may_go_on.set();
    check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
  });
}

// However many come: the last that was sent is there, and nobody was refused.
TEST_F(SimulatedPromises, TheNewestStaysWhereTheOldestIsDropped) {
  simulate_both([] {
    std::vector<int> handled;
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto actor =
        system.spawn([&](Item item) { handled.push_back(item.number); },
                     {.mailbox = {.capacity = 2, .when_full = WhenFull::drop_oldest}});
    const auto send_three = [&](int first) {
      for (int i = first; i < first + 3; ++i) check(actor.send(Item{i}).has_value(), "refused");
    };
    {
      Thread one([&] { send_three(0); });
      send_three(3);
    }
    send_three(6);
    check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
    check(!handled.empty() && handled.back() == 8, "the newest was dropped");
    check(handled.size() + system.dead_letter_count() == 9, "one was lost, or came twice");
  });
}

struct Begin {};

// Sends three items whenever it is told to. What has no room waits, and so does the next message to it.
class Source : public Actor<Source, Begin> {
 public:
  static constexpr bool reentrant = true;
  Source(Address<Item> to, const int* handled) : to_(std::move(to)), handled_(handled) {}
  void on(Begin) {
    // One in the mailbox, and one whose handler is just called.
    check(sent_ - *handled_ <= 2, "what it has sent before waits still");
    for (int i = 0; i < 3; ++i) check(to_.send(Item{++sent_}).has_value(), "refused");
  }

 private:
  Address<Item> to_;
  const int* handled_;
  int sent_ = 0;
};

TEST_F(SimulatedPromises, AnActorTakesNoMessageWhileWhatItSentWaits) {
  simulate_both([] {
    int handled = 0;
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto counter =
        system.spawn([&](Item) { ++handled; }, {.mailbox = {.capacity = 1}, .name = "counter"});
    const auto source = system.spawn<Source>({}, Address<Item>(counter), &handled);
    for (int i = 0; i < 4; ++i) check(source.send(Begin{}).has_value(), "refused");
    source.stop_when_drained();
    check(system.watch(source).get().has_value(), "refused");
    check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
    check(handled == 12, "one was lost, or came twice");
  });
}

// -- Handlers -------------------------------------------------------------------------------------

struct Double {
  using Reply = int;
  int number;
};

class Calculator : public Actor<Calculator, Double> {
 public:
  int on(Double question) { return 2 * question.number; }
};

// Asks another in its handler: meanwhile others come.
class Careful : public Actor<Careful, Double> {
 public:
  explicit Careful(ActorRef<Calculator> whom) : whom_(std::move(whom)) {}
  Lazy<int> on(Double question) {
    check(!std::exchange(is_at_work_, true), "two handlers of it are at work");
    const auto answer = co_await whom_.async_ask(question, 1000h);
    check(std::exchange(is_at_work_, false), "another has ended");
    co_return answer.value_or(0);
  }

 private:
  ActorRef<Calculator> whom_;
  bool is_at_work_ = false;
};

TEST_F(SimulatedPromises, ACoroutineHoldsTheNextMessageBack) {
  simulate_both([] {
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto careful = system.spawn<Careful>({}, system.spawn<Calculator>());
    Thread one([&] { check(careful.ask(Double{1}, Wait{}) == 2, "the wrong answer"); });
    check(careful.ask(Double{2}, Wait{}) == 4, "the wrong answer");
  });
}

// Keeps whom it should answer.
class Silent : public Actor<Silent, Double> {
 public:
  void on(Double) { kept_.push_back(reply_later<Double>()); }

 private:
  std::vector<ReplyTo<int>> kept_;
};

Lazy<> ask_in_vain(ActorRef<Silent> whom, Duration timeout, int* too_late) {
  const auto answer = co_await whom.async_ask(Double{1}, timeout);
  *too_late += !answer && answer.error() == AskError::Code::timed_out ? 1 : 0;
}

TEST_F(SimulatedPromises, EachWhoAsksInVainGivesUpInItsOwnTime) {
  simulate_both([] {
    int too_late = 0;
    WorkerPool pool{{.workers = 1, .capacity = 4, .name = "askers"}};
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto silent = system.spawn<Silent>();
    {
      Scope scope;
      for (const Duration timeout : {Duration(2ms), Duration(1ms), Duration(3ms)}) {
        check(scope.spawn(pool, ask_in_vain(silent, timeout, &too_late)).has_value(), "refused");
      }
      check(scope.join().has_value(), "refused");
    }
    check(too_late == 3, "not all were told that it is too late");
  });
}

TEST_F(SimulatedPromises, AQuestionThatNobodyWaitsForIsNotHandled) {
  simulate_both([] {
    Event may_go_on;
    int handled = 0;
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto slow = system.spawn([&](Double question) {
      ++handled;
      check(may_go_on.wait().has_value(), "refused");
      return 2 * question.number;
    });
    {
      Thread first([&] { check(slow.ask(Double{1}, Wait{}) == 2, "the wrong answer"); });
      while (handled == 0) testing::pause(1ms);
      check(!slow.ask(Double{2}, 1ms).has_value(), "answered by nobody");
      may_go_on.set();
    }
    check(system.shutdown(finish_within(1h)).is_complete(), "not all have ended");
    check(handled == 1 && system.dead_letter_count() == 1, "it was handled");
  });
}

// -- Restarts -------------------------------------------------------------------------------------

struct Fail {};

class Brittle : public Actor<Brittle, Fail> {
 public:
  explicit Brittle(int* made) { ++*made; }
  void on(Fail) { throw std::runtime_error("on request"); }
};

TEST_F(SimulatedPromises, OneThatFailsTooOftenIsStopped) {
  simulate_both([] {
    int made = 0;
    ActorSystem system{{.workers = 2, .name = "actors", .supervision = {.most_restarts = 2}}};
    const auto brittle = system.spawn<Brittle>({}, &made);
    {
      Thread one([&] {
        for (int i = 0; i < 2; ++i) static_cast<void>(brittle.send(Fail{}));
      });
      for (int i = 0; i < 2; ++i) static_cast<void>(brittle.send(Fail{}));
    }
    const auto end = system.watch(brittle).get();
    check(end.has_value() && end->reason == StopReason::failed, "the wrong reason");
    check(made == 3, "not as often as it may be");
  });
}

// A handler of it waits when another one fails: the object stays until that has ended.
class Waiting : public Actor<Waiting, Item, Fail> {
 public:
  static constexpr bool reentrant = true;
  Waiting(Event* may_go_on, int* inside) : may_go_on_(may_go_on), inside_(inside) {}
  ~Waiting() { check(*inside_ == 0, "it is gone while a handler of it is at work"); }
  Lazy<> on(Item) {
    ++*inside_;
    const auto waited = co_await may_go_on_->async_wait();
    check(waited.has_value(), "refused");
    --*inside_;
  }
  void on(Fail) { throw std::runtime_error("on request"); }

 private:
  Event* may_go_on_;
  int* inside_;
};

TEST_F(SimulatedPromises, ARestartWaitsForThoseWhoWait) {
  simulate_both([] {
    Event may_go_on;
    int inside = 0;
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto waiting = system.spawn<Waiting>({}, &may_go_on, &inside);
    check(waiting.send(Item{1}).has_value(), "refused");
    check(waiting.send(Fail{}).has_value(), "refused");
    Thread other([&] { may_go_on.set(); });
    check(waiting.send(Item{2}).has_value(), "refused");
    check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
  });
}

struct Tick {
  int of;  // Which of its objects has asked for it.
};

class Ticking : public Actor<Ticking, Tick, Fail> {
 public:
  explicit Ticking(int* made) : own_(++*made) {}
  void on_start() {
    static_cast<void>(after(1ms, Tick{own_}));
    static_cast<void>(every(1ms, Tick{own_}));
  }
  void on(Tick tick) { check(tick.of == own_, "a timer outlives a restart"); }
  void on(Fail) { throw std::runtime_error("on request"); }

 private:
  int own_;
};

TEST_F(SimulatedPromises, TimersEndWithARestart) {
  simulate_both([] {
    int made = 0;
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto ticking = system.spawn<Ticking>({}, &made);
    testing::pause(1ms);
    check(ticking.send(Fail{}).has_value(), "refused");
    testing::pause(3ms);
    check(system.shutdown(finish_within(1h)).is_complete(), "it did not end");
    check(made == 2, "not made anew");
  });
}

}  // namespace
}  // namespace handoff::tests
