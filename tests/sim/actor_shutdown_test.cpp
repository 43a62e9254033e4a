// The end of a system, whatever is under way in it, under many schedules.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/actors.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::sudden_stop;

class SimulatedShutdown : public QuietTest {};

struct Count {
  using Reply = int;
};

// Asks itself nothing, and answers others: at once, later, or never.
class Answerer : public Actor<Answerer, Count, Item> {
 public:
  explicit Answerer(Letters* letters) : letters_(letters) {}
  void on(Count) {
    ++inside_;
    kept_.push_back(reply_later<Count>());
    if (kept_.size() == 2) {
      kept_.front().reply(1);
      kept_.erase(kept_.begin());
    }
  }
  void on(Item item) {
    ++inside_;
    letters_->handled(item.number);
  }

 private:
  Letters* letters_;
  std::vector<ReplyTo<int>> kept_;
  testing::Var<int> inside_{0, "the state of the one that answers"};
};

// -- Under way ------------------------------------------------------------------------------------

void shut_down_under_way(const Shutdown& how) {
  Letters letters(4);
  ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
  const auto actor = system.spawn<Answerer>({.mailbox = {.capacity = 2}}, &letters);
  {
    Thread sender([&] {
      for (int i = 0; i < 4; ++i) letters.sent(i, actor.send(Item{i}).has_value());
    });
    Thread asker([&] {
      for (int i = 0; i < 2; ++i) {
        const auto answer = actor.ask(Count{}, Wait{});
        check(answer.has_value() || answer.error() == AskError::Code::closed ||
                  answer.error() == AskError::Code::unanswered,
              "the wrong answer");
      }
    });
    Thread other([&] { static_cast<void>(actor.ask(Count{}, Wait{})); });
    const auto report = system.shutdown(how);
    check(report.still_alive.empty(), "an actor did not end");
    letters.handed_back(report);
  }
  letters.handed_back(system.shutdown(how));
  letters.check();
  check(system.size() == 0, "an actor is still there");
}

TEST_F(SimulatedShutdown, FinishesWithSendersAndQuestionsUnderWay) {
  simulate_both([] { shut_down_under_way(finish_within(1h)); }, {.faults = some_faults});
}

TEST_F(SimulatedShutdown, InterruptsWithSendersAndQuestionsUnderWay) {
  simulate_both([] { shut_down_under_way(interrupt()); }, {.faults = some_faults});
}

TEST_F(SimulatedShutdown, MayBecomeImpatientAtAnyStep) {
  simulate_both(
      [] { shut_down_under_way(finish_within(1h).or_until(sudden_stop()).then_interrupt(1h)); });
}

TEST_F(SimulatedShutdown, MayBeCalledByTwo) {
  simulate_both([] {
    Letters letters(3);
    ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
    const auto keeper = system.spawn<Keeper>({}, &letters);
    {
      Thread other([&] { letters.handed_back(system.shutdown(interrupt())); });
      for (int i = 0; i < 3; ++i) letters.sent(i, keeper.send(Item{i}).has_value());
      letters.handed_back(system.shutdown(finish_within(1h)));
    }
    check(keeper.is_stopped() && system.size() == 0, "an actor is still there");
    letters.check();
  });
}

// -- Coroutines -----------------------------------------------------------------------------------

// Waits for what never comes, and for another one's answer.
class Waits : public Actor<Waits, Item, Count> {
 public:
  Waits(Event* never, std::optional<ActorRef<Answerer>> other, int* ended)
      : never_(never), other_(std::move(other)), ended_(ended) {}
  Lazy<> on(Item) {
    const auto came = co_await never_->async_wait();
    check(came == std::unexpected(Refusal::stopped), "set by nobody");
    ++*ended_;
  }
  Lazy<int> on(Count) {
    const auto answer = co_await other_->async_ask(Count{}, 1000h);
    check(!answer.has_value(), "answered by nobody");
    ++*ended_;
    co_return 2;
  }

 private:
  Event* never_;
  std::optional<ActorRef<Answerer>> other_;
  int* ended_;
};

TEST_F(SimulatedShutdown, AnInterruptReachesCoroutinesAtAnyStep) {
  simulate_both([] {
    Event never;
    int begun = 0;
    int ended = 0;
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto answerer = system.spawn<Answerer>({}, nullptr);
    const auto one = system.spawn<Waits>({}, &never, answerer, &ended);
    const auto two = system.spawn<Waits>({}, &never, answerer, &ended);
    {
      Thread asker([&] { static_cast<void>(two.ask(Count{}, Wait{})); });
      begun += one.send(Item{1}) ? 1 : 0;
      const auto report = system.shutdown(interrupt(1h));
      check(report.still_alive.empty(), "an actor did not end");
      begun -= static_cast<int>(report.handed_back.size());
    }
    check(ended >= begun - 1 && ended <= 2, "a coroutine was left behind");
  });
}

TEST_F(SimulatedShutdown, ADeadLetterThatIsCountedIsRemembered) {
  simulate_both([] {
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto actor = system.spawn([](Item) {});
    check(actor.send(Item{1}).has_value(), "refused");
    actor.stop();
    Thread looks([&] {
      const auto counted = system.dead_letter_count();
      check(system.dead_letters().size() >= counted, "counted, and not there");
    });
    check(system.watch(actor).get().has_value(), "refused");
  });
}

// -- Spawning -------------------------------------------------------------------------------------

class Spawner : public Actor<Spawner, Item> {
 public:
  Spawner(Letters* letters) : letters_(letters) {}
  void on(Item item) {
    letters_->handled(item.number);
    const auto child = spawn<Keeper>({.name = "keeper"}, letters_);
    child.stop();
  }

 private:
  Letters* letters_;
};

TEST_F(SimulatedShutdown, ActorsThatComeTooLateHaveStopped) {
  simulate_both([] {
    Letters letters(2);
    ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
    const auto spawner = system.spawn<Spawner>({}, &letters);
    {
      Thread beside([&] {
        const auto late = system.spawn<Keeper>({.name = "late"}, &letters);
        letters.sent(1, late.send(Item{1}).has_value());
        check(system.watch(late).get().has_value(), "refused");
        check(late.is_stopped(), "it lives");
      });
      letters.sent(0, spawner.send(Item{0}).has_value());
      const auto report = system.shutdown(interrupt());
      check(report.still_alive.empty(), "an actor did not end");
      letters.handed_back(report);
    }
    letters.handed_back(system.shutdown(interrupt()));
    check(system.size() == 0 && system.inspect().empty(), "an actor is still there");
    letters.check();
  });
}

// -- Afterwards -----------------------------------------------------------------------------------

// As soon as the last has ended nothing of the system is touched any more: neither by its workers, nor by those of another's pool.
TEST_F(SimulatedShutdown, MayBeDestroyedWhenTheLastHasEnded) {
  simulate_both([] {
    WorkerPool pool{{.workers = 1, .capacity = 4, .name = "pool"}};
    for (const bool is_stopped_before : {true, false}) {
      const auto system = std::make_unique<ActorSystem>(pool);
      Letters letters(1);
      const auto keeper = system->spawn<Keeper>({}, &letters);
      if (is_stopped_before) keeper.stop();
      if (!is_stopped_before) {
        check(system->shutdown(finish_within(1h)).is_complete(), "it did not end");
      }
    }
    check(pool.shutdown(finish_within(1h)).is_complete(), "a system has not let go of the pool");
  });
}

TEST_F(SimulatedShutdown, MayBeDestroyedWhenAWatcherHasHeardOfTheLast) {
  simulate_both([] {
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto keeper = system.spawn<Keeper>({}, nullptr);
    keeper.stop();
    check(system.watch(keeper).get().has_value(), "refused");
  });
}

TEST_F(SimulatedShutdown, EndsThreadsOfTheirOwn) {
  simulate_both([] {
    Letters letters(2);
    ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
    const auto own = system.spawn<Keeper>({.dedicated_thread = true}, &letters);
    const auto keeper = system.spawn<Keeper>({}, &letters);
    {
      Thread other([&] { own.stop(); });
      letters.sent(0, own.send(Item{0}).has_value());
      letters.sent(1, keeper.send(Item{1}).has_value());
    }
    letters.handed_back(system.shutdown(finish_within(1h)));
    letters.check();
  });
}

}  // namespace
}  // namespace handoff::tests
