// Questions to actors that stop, fail, forward or are late, under many schedules: there is always an answer, and never a hang.
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
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
using testing::sudden_stop;
using Code = AskError::Code;

class SimulatedAsk : public QuietTest {};

struct Double {
  using Reply = int;
  int number;
};
using Answer = std::expected<int, AskError>;

// The right answer, or one of these.
void expect(const Answer& answer, int number, std::initializer_list<Code> codes) {
  if (answer) return check(*answer == 2 * number, "an answer to another question");
  for (const Code each : codes) {
    if (answer.error() == each) return;
  }
  check(false, "the wrong refusal: " + to_string(answer.error()));
}

// -- Who answers ----------------------------------------------------------------------------------

class Plain : public Actor<Plain, Double> {
 public:
  int on(Double question) {
    ++inside_;
    return 2 * question.number;
  }

 private:
  testing::Var<int> inside_{0, "the state of the one that answers"};
};

// In a coroutine, which waits meanwhile.
class Slow : public Actor<Slow, Double> {
 public:
  Lazy<int> on(Double question) {
    ++inside_;
    co_await yield();
    ++inside_;
    co_return 2 * question.number;
  }

 private:
  testing::Var<int> inside_{0, "the state of the one that answers"};
};

// Later, when the next is asked.
class Later : public Actor<Later, Double> {
 public:
  void on(Double question) {
    if (kept_.is_awaited()) kept_.reply(2 * number_);
    kept_ = reply_later<Double>();
    number_ = question.number;
  }

 private:
  ReplyTo<int> kept_;
  int number_ = 0;
};

// Each other question.
class Failing : public Actor<Failing, Double> {
 public:
  int on(Double question) {
    if (question.number % 2 == 1) throw std::runtime_error("odd");
    return 2 * question.number;
  }
};

class Forwarding : public Actor<Forwarding, Double> {
 public:
  explicit Forwarding(Address<Double> to) : to_(std::move(to)) {}
  void on(Double question) { static_cast<void>(forward(to_, question)); }

 private:
  Address<Double> to_;
};

// -- From threads ---------------------------------------------------------------------------------

constexpr std::initializer_list<Code> any_end = {Code::closed, Code::unanswered, Code::failed};

// Two threads ask without a deadline, and what is asked is stopped at any step.
template <typename A>
void ask_a_dying(WhenFull policy, bool drains) {
  ActorSystem system{{.workers = 2, .name = "actors"}};
  const auto actor = system.spawn<A>({.mailbox = {.capacity = 1, .when_full = policy}});
  const auto ask_two = [&](int first) {
    for (int i = first; i < first + 2; ++i) {
      const auto answer = actor.ask(Double{i}, Wait{});
      if (policy != WhenFull::block && !answer && answer.error() == Code::full) continue;
      expect(answer, i, any_end);
    }
  };
  Thread one([&] { ask_two(0); });
  Thread two([&] { ask_two(2); });
  drains ? actor.stop_when_drained() : actor.stop();
}

template <typename A>
void simulate_dying() {
  for (const bool drains : {true, false}) {
    simulate_both([=] { ask_a_dying<A>(WhenFull::block, drains); },
                  {.faults = some_faults, .variants = 2});
  }
}

TEST_F(SimulatedAsk, ThreadsAreAnsweredByOneThatStops) { simulate_dying<Plain>(); }
TEST_F(SimulatedAsk, ThreadsAreAnsweredByCoroutinesOfOneThatStops) { simulate_dying<Slow>(); }
TEST_F(SimulatedAsk, ThreadsAreAnsweredByOneThatStopsAndOwesAnAnswer) { simulate_dying<Later>(); }
TEST_F(SimulatedAsk, ThreadsAreAnsweredByOneThatFailsAndStops) { simulate_dying<Failing>(); }

TEST_F(SimulatedAsk, WhoIsEvictedOrRefusedIsToldSo) {
  for (const auto policy : {WhenFull::drop_oldest, WhenFull::reject}) {
    simulate_both([=] { ask_a_dying<Plain>(policy, true); }, {.variants = 2});
  }
}

// The question goes through two: one of them is stopped.
TEST_F(SimulatedAsk, WhatIsForwardedIsAnswered) {
  simulate_both([] {
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const ActorOptions small{.mailbox = {.capacity = 1}};
    const auto last = system.spawn<Slow>(small);
    const auto first = system.spawn<Forwarding>(small, Address<Double>(last));
    Thread one([&] { expect(first.ask(Double{1}, Wait{}), 1, any_end); });
    Thread two([&] { expect(first.ask(Double{2}, Wait{}), 2, any_end); });
    Thread three([&] { expect(last.ask(Double{3}, Wait{}), 3, any_end); });
    Thread four([&] { last.stop(); });
    first.stop_when_drained();
  });
}

// A deadline or a stop ends the wait for room or for the answer; an answer that comes later finds nobody.
TEST_F(SimulatedAsk, AStopAndADeadlineAtAnyStep) {
  simulate_both(
      [] {
        ActorSystem system{{.workers = 1, .name = "actors"}};
        const auto actor = system.spawn<Slow>({.mailbox = {.capacity = 1}});
        Thread one([&] {
          const Wait wait{.deadline = {}, .stop = sudden_stop()};
          for (int i = 0; i < 2; ++i) expect(actor.ask(Double{i}, wait), i, {Code::stopped});
        });
        Thread two([&] {
          for (int i = 0; i < 2; ++i) expect(actor.ask(Double{i}, 1ns), i, {Code::timed_out});
        });
        for (int i = 0; i < 2; ++i) expect(actor.ask(Double{i}, Wait{}), i, {});
      },
      {.faults = some_faults});
}

// -- From coroutines ------------------------------------------------------------------------------

Lazy<> ask_two(ActorRef<Slow> actor, int first, Duration timeout) {
  for (int i = first; i < first + 2; ++i) {
    const auto answer = co_await actor.async_ask(Double{i}, timeout);
    expect(answer, i, {Code::closed, Code::stopped, Code::timed_out});
  }
}

TEST_F(SimulatedAsk, CoroutinesAreAnsweredOrStopped) {
  simulate_both(
      [] {
        WorkerPool pool{{.workers = 1, .capacity = 4, .name = "askers"}};
        ActorSystem system{{.workers = 1, .name = "actors"}};
        const auto actor = system.spawn<Slow>({.mailbox = {.capacity = 1}});
        Scope scope;
        check(scope.spawn(pool, ask_two(actor, 0, 1000h)).has_value(), "refused");
        check(scope.spawn(pool, ask_two(actor, 2, 1ns)).has_value(), "refused");
        Thread stops([&] { scope.request_stop(); });
        expect(actor.ask(Double{5}, Wait{}), 5, {});
        actor.stop();
        static_cast<void>(scope.join());
      },
      {.faults = some_faults});
}

// -- From other actors ----------------------------------------------------------------------------

struct Begin {};

// Asks in its handler, and is told how it ends.
class Asks : public Actor<Asks, Begin> {
 public:
  Asks(ActorRef<Slow> whom, int* answered) : whom_(std::move(whom)), answered_(answered) {}
  Lazy<> on(Begin) {
    const auto answer = co_await whom_.async_ask(Double{1}, 1000h);
    expect(answer, 1, {Code::closed, Code::stopped});
    ++*answered_;
  }

 private:
  ActorRef<Slow> whom_;
  int* answered_;
};

class AsksByThread : public Actor<AsksByThread, Begin> {
 public:
  AsksByThread(ActorRef<Slow> whom, int* answered) : whom_(std::move(whom)), answered_(answered) {}
  void on(Begin) {
    expect(whom_.ask(Double{1}, Wait{}), 1, {Code::closed});
    ++*answered_;
  }

 private:
  ActorRef<Slow> whom_;
  int* answered_;
};

// Both may be stopped while the question is under way. Who asks ends once it has its answer.
template <typename Asker>
void ask_from_actor(bool stops_asker, const Shutdown& how) {
  int answered = 0;
  ActorSystem system{{.workers = 2, .name = "actors"}};
  const ActorOptions small{.mailbox = {.capacity = 1}};
  const auto whom = system.spawn<Slow>(small);
  const auto one = system.spawn<Asker>(small, whom, &answered);
  const auto two = system.spawn<Asker>(small, whom, &answered);
  {
    Thread beside([&] { static_cast<void>(one.send(Begin{})); });
    static_cast<void>(two.send(Begin{}));
    stops_asker ? one.stop() : whom.stop();
  }
  const auto report = system.shutdown(how);
  check(report.still_alive.empty(), "an actor did not end");
  const auto left = report.handed_back.size() + system.dead_letter_count();
  check(stops_asker || static_cast<std::size_t>(answered) + left >= 2, "an asker was left behind");
}

TEST_F(SimulatedAsk, ActorsThatAskAreAnsweredWhoeverStops) {
  for (const bool stops_asker : {true, false}) {
    simulate_both([=] { ask_from_actor<Asks>(stops_asker, finish_within(1h)); }, {.variants = 8});
    simulate_both([=] { ask_from_actor<Asks>(stops_asker, interrupt(1h)); }, {.variants = 8});
    simulate_both([=] { ask_from_actor<AsksByThread>(stops_asker, finish_within(1h)); },
                  {.variants = 8});
    simulate_both([=] { ask_from_actor<AsksByThread>(stops_asker, interrupt(1h)); },
                  {.variants = 8});
  }
}

}  // namespace
}  // namespace handoff::tests
