// Senders that wait for room in a mailbox, under many schedules: threads, coroutines and outboxes.
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <stop_token>
#include <utility>

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

class SimulatedMailbox : public QuietTest {};

const ActorOptions small{.mailbox = {.capacity = 1}};

void end(ActorSystem& system, Letters& letters) {
  const auto report = system.shutdown(finish_within(1h));
  check(report.still_alive.empty(), "an actor did not end");
  letters.handed_back(report);
  letters.check();
}

// -- Threads --------------------------------------------------------------------------------------

TEST_F(SimulatedMailbox, ThreadsThatWaitAreLetInOneByOne) {
  simulate_both(
      [] {
        Letters letters(6);
        ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
        const auto keeper = system.spawn<Keeper>(small, &letters);
        const auto send_two = [&](int first) {
          for (int i = first; i < first + 2; ++i) {
            check(keeper.send(Item{i}).has_value(), "refused");
            letters.sent(i, true);
          }
        };
        {
          Thread one([&] { send_two(0); });
          Thread two([&] { send_two(2); });
          send_two(4);
        }
        end(system, letters);
        check(system.dead_letter_count() == 0, "a dead letter for no reason");
      },
      {.faults = some_faults});
}

// One is stopped at any step, one has a deadline, and the actor may stop as well.
TEST_F(SimulatedMailbox, AStopADeadlineAndACloseAtAnyStepLoseNothing) {
  simulate_both(
      [] {
        Letters letters(6);
        ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
        const auto keeper = system.spawn<Keeper>(small, &letters);
        const auto stop = sudden_stop();
        {
          Thread one([&] {
            for (int i = 0; i < 2; ++i) {
              letters.sent(i, keeper.send(Item{i}, {.deadline = {}, .stop = stop}).has_value());
            }
          });
          Thread two([&] {
            for (int i = 2; i < 4; ++i) {
              letters.sent(i,
                           keeper.send(Item{i}, {.deadline = within(0s), .stop = {}}).has_value());
            }
          });
          Thread three([&] { keeper.stop(); });
          for (int i = 4; i < 6; ++i) letters.sent(i, keeper.send(Item{i}).has_value());
        }
        end(system, letters);
      },
      {.faults = some_faults});
}

// Those who gave up leave no trace: there is room for those who come.
TEST_F(SimulatedMailbox, ThereIsRoomAfterOneThatGaveUp) {
  simulate_both([] {
    Letters letters(4);
    Event may_go_on;
    ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
    const auto slow = system.spawn(
        [&](Item item) {
          check(may_go_on.wait().has_value(), "refused");
          letters.handled(item.number);
        },
        small);
    const Wait soon{.deadline = within(1ms), .stop = {}};
    {
      Thread one([&] { letters.sent(0, slow.send(Item{0}, soon).has_value()); });
      Thread two([&] { letters.sent(1, slow.send(Item{1}, soon).has_value()); });
      letters.sent(2, slow.send(Item{2}, soon).has_value());
    }
    may_go_on.set();
    letters.sent(3, slow.send(Item{3}).has_value());
    end(system, letters);
  });
}

// A message has left the mailbox when its handler begins: there is room then, however long the handler takes. Here it takes as long as the
// sender waits.
TEST_F(SimulatedMailbox, ThereIsRoomWhileAHandlerIsAtWork) {
  simulate_both([] {
    Letters letters(3);
    Event is_sent;
    ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
    const auto slow = system.spawn(
        [&](Item item) {
          check(is_sent.wait().has_value(), "refused");
          letters.handled(item.number);
        },
        {.mailbox = {.capacity = 2}, .dedicated_thread = true});
    for (int i = 0; i < 3; ++i) letters.sent(i, slow.send(Item{i}).has_value());
    is_sent.set();
    end(system, letters);
  });
}

struct Sent {
  using Reply = int;
};

// The same if it asks: whom it asks answers once the sender has sent.
TEST_F(SimulatedMailbox, ThereIsRoomWhileAHandlerAsks) {
  simulate_both([] {
    Letters letters(3);
    Event is_sent;
    ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
    const auto knows = system.spawn([&](Sent) -> Lazy<int> {
      const auto known = co_await is_sent.async_wait();
      co_return known ? 1 : 0;
    });
    const auto asks = system.spawn(
        [&](Item item) {
          const auto known = knows.ask(Sent{}, Wait{});
          check(known.value_or(1) == 1, "the wrong answer");  // Or it has ended before.
          letters.handled(item.number);
        },
        {.mailbox = {.capacity = 2}});
    for (int i = 0; i < 3; ++i) letters.sent(i, asks.send(Item{i}).has_value());
    is_sent.set();
    end(system, letters);
  });
}

// -- Coroutines -----------------------------------------------------------------------------------

Lazy<> send_some(ActorRef<Keeper> keeper, Letters& letters, int first, Deadline deadline) {
  for (int i = first; i < first + 2; ++i) {
    const auto sent = co_await keeper.async_send(Item{i}, deadline);
    letters.sent(i, sent.has_value());
  }
}

TEST_F(SimulatedMailbox, CoroutinesAndThreadsInOneLine) {
  simulate_both([] {
    Letters letters(6);
    ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
    const auto keeper = system.spawn<Keeper>(small, &letters);
    WorkerPool pool{{.workers = 1, .capacity = 4, .name = "senders"}};
    {
      Scope scope;
      check(scope.spawn(pool, send_some(keeper, letters, 0, {})).has_value(), "refused");
      check(scope.spawn(pool, send_some(keeper, letters, 2, {})).has_value(), "refused");
      for (int i = 4; i < 6; ++i) letters.sent(i, keeper.send(Item{i}).has_value());
      check(scope.join().has_value(), "refused");
    }
    end(system, letters);
    check(system.dead_letter_count() == 0, "a dead letter for no reason");
  });
}

TEST_F(SimulatedMailbox, CoroutinesThatAreStoppedOrTooLateOrRefusedLoseNothing) {
  simulate_both(
      [] {
        Letters letters(6);
        ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
        const auto keeper = system.spawn<Keeper>(small, &letters);
        WorkerPool pool{{.workers = 1, .capacity = 4, .name = "senders"}};
        {
          Scope scope;
          check(scope.spawn(pool, send_some(keeper, letters, 0, {})).has_value(), "refused");
          check(scope.spawn(pool, send_some(keeper, letters, 2, within(0s))).has_value(),
                "refused");
          Thread stops([&] { scope.request_stop(); });
          for (int i = 4; i < 6; ++i) letters.sent(i, keeper.send(Item{i}).has_value());
          keeper.stop();
          static_cast<void>(scope.join());
        }
        end(system, letters);
      },
      {.faults = some_faults});
}

// -- Handlers -------------------------------------------------------------------------------------

struct Begin {
  int first;
};

// Sends two items each time it is told to. Its handler does not wait, its items do.
class Source : public Actor<Source, Begin> {
 public:
  Source(ActorRef<Keeper> to, Letters* letters) : to_(std::move(to)), letters_(letters) {}
  void on(Begin begin) {
    ++inside_;
    for (int i = begin.first; i < begin.first + 2; ++i) {
      letters_->sent(i, to_.send(Item{i}).has_value());
    }
  }

 private:
  ActorRef<Keeper> to_;
  Letters* letters_;
  testing::Var<int> inside_{0, "the source's state"};
};

TEST_F(SimulatedMailbox, WhatHandlersSendWaitsByItself) {
  simulate_both([] {
    Letters letters(8);
    ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
    const auto keeper = system.spawn<Keeper>(small, &letters);
    const auto one = system.spawn<Source>({}, keeper, &letters);
    const auto two = system.spawn<Source>({}, keeper, &letters);
    for (int i = 0; i < 2; ++i) {
      check(one.send(Begin{4 * i}).has_value(), "refused");
      check(two.send(Begin{4 * i + 2}).has_value(), "refused");
    }
    one.stop_when_drained();
    two.stop_when_drained();
    check(system.watch(one).get().has_value() && system.watch(two).get().has_value(), "refused");
    end(system, letters);
    check(system.dead_letter_count() == 0, "a dead letter for no reason");
  });
}

// Their actor, or the one they go to, or the whole system ends at any step.
TEST_F(SimulatedMailbox, WhatHandlersSentIsAccountedForWhoeverStops) {
  for (const int who : {0, 1, 2, 3}) {
    simulate_both(
        [=] {
          Letters letters(8);
          ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
          const auto keeper = system.spawn<Keeper>(small, &letters);
          const auto source = system.spawn<Source>(small, keeper, &letters);
          {
            Thread sender([&] {
              for (int i = 0; i < 4; ++i) static_cast<void>(source.send(Begin{2 * i}));
            });
            if (who == 0) keeper.stop();
            if (who == 1) source.stop();
            if (who == 2) letters.handed_back(system.shutdown(interrupt()));
            if (who == 3) letters.handed_back(system.shutdown(finish_within(1h)));
          }
          end(system, letters);
        },
        {.faults = some_faults, .variants = 4});
  }
}

// What an actor sends when it stops may have to wait, too.
class Farewell : public Actor<Farewell, Begin> {
 public:
  Farewell(ActorRef<Keeper> to, Letters* letters) : to_(std::move(to)), letters_(letters) {}
  void on(Begin) {}
  void on_stop() {
    for (int i = 0; i < 3; ++i) letters_->sent(i, to_.send(Item{i}).has_value());
  }

 private:
  ActorRef<Keeper> to_;
  Letters* letters_;
};

TEST_F(SimulatedMailbox, WhatAnActorSendsAtItsEndArrives) {
  simulate_both([] {
    Letters letters(4);
    ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
    const auto keeper = system.spawn<Keeper>(small, &letters);
    const auto farewell = system.spawn<Farewell>({}, keeper, &letters);
    farewell.stop();
    letters.sent(3, keeper.send(Item{3}).has_value());
    check(system.watch(farewell).get().has_value(), "refused");
    end(system, letters);
    check(system.dead_letter_count() == 0, "a dead letter for no reason");
  });
}

}  // namespace
}  // namespace handoff::tests
