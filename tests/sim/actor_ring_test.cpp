// Actors that wait for each other, from all sides at the same time, under many schedules: one of them is refused, and nobody hangs.
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <optional>
#include <utility>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/actors.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;

class SimulatedRing : public QuietTest {};

// What is left to be done, and an end to it. It is waited for without a deadline: what hangs is a deadlock of the run.
struct Goal {
  explicit Goal(int count) : left(count) {}
  void add() { ++left; }
  void reach() {
    if (--left == 0) done.set();
  }
  int left;
  Event done{{.name = "all is done"}};
};

// One system, or two.
class Systems {
 public:
  explicit Systems(bool are_two) {
    if (are_two) second_.emplace(SystemOptions{.workers = 1, .name = "second"});
  }
  ActorSystem& first() { return first_; }
  ActorSystem& second() { return second_ ? *second_ : first_; }
  void end() {
    const auto start = now();
    check(first_.shutdown(finish_within(1h)).is_complete(), "not all have ended");
    check(second().shutdown(finish_within(1h)).is_complete(), "not all have ended");
    check(now() < start + 1h, "it ended only because its time was over");
    check(first_.dead_letter_count() + second().dead_letter_count() == 0, "a dead letter");
  }

 private:
  ActorSystem first_{{.workers = 2, .name = "ring"}};
  std::optional<ActorSystem> second_;
};

// How an actor asks or sends in its handler.
enum class By { thread, coroutine };

struct Greet {
  using Reply = int;
};

// Asks the next when it is told to. Without a deadline: only being told so ends a ring.
template <By by, bool takes_others>
class Asker : public Actor<Asker<by, takes_others>, Greet, Address<Greet>> {
 public:
  static constexpr bool reentrant = takes_others;
  explicit Asker(Goal* goal) : goal_(goal) {}

  int on(Greet) { return 1; }
  auto on(Address<Greet> next) {
    if constexpr (by == By::thread) {
      took(next.ask(Greet{}, Wait{}));
    } else {
      return ask_in_coroutine(std::move(next));
    }
  }

 private:
  Lazy<> ask_in_coroutine(Address<Greet> next) {
    const auto answer = co_await next.async_ask(Greet{}, 1000h);
    took(answer);
  }
  void took(const std::expected<int, AskError>& answer) {
    check(answer.has_value() || answer.error() == AskError::Code::deadlock, "the wrong answer");
    goal_->reach();
  }
  Goal* goal_;
};

template <typename First, typename Second>
void ask_in_a_ring(int actors, bool has_two_systems = false) {
  Goal goal(actors);
  Systems systems(has_two_systems);
  const auto one = systems.first().spawn<First>({}, &goal);
  const auto two = systems.second().spawn<Second>({}, &goal);
  const auto three = systems.first().spawn<First>({}, &goal);
  {
    Thread beside([&] { check(one.send(Address<Greet>(two)).has_value(), "refused"); });
    check(two.send(actors == 2 ? Address<Greet>(one) : Address<Greet>(three)).has_value(),
          "refused");
    if (actors == 3) check(three.send(Address<Greet>(one)).has_value(), "refused");
  }
  check(goal.done.wait().has_value(), "refused");
  systems.end();
}

TEST_F(SimulatedRing, ThreadsThatAskEachOtherAreToldOfIt) {
  simulate_both([] { ask_in_a_ring<Asker<By::thread, false>, Asker<By::thread, false>>(2); },
                {.variants = 2});
  simulate_both([] { ask_in_a_ring<Asker<By::thread, false>, Asker<By::thread, false>>(3); },
                {.variants = 2});
}

TEST_F(SimulatedRing, CoroutinesThatAskEachOtherAreToldOfIt) {
  simulate_both([] { ask_in_a_ring<Asker<By::coroutine, false>, Asker<By::thread, false>>(2); },
                {.variants = 2});
  simulate_both([] { ask_in_a_ring<Asker<By::coroutine, false>, Asker<By::coroutine, false>>(3); },
                {.variants = 2});
}

// Though it takes other messages while a coroutine waits, it does not while its thread does.
TEST_F(SimulatedRing, ReentrantActorsWhoseThreadsAskEachOtherAreToldOfIt) {
  simulate_both([] { ask_in_a_ring<Asker<By::thread, true>, Asker<By::thread, true>>(2); });
}

TEST_F(SimulatedRing, ReentrantActorsMayAskEachOther) {
  simulate_both([] { ask_in_a_ring<Asker<By::coroutine, true>, Asker<By::coroutine, true>>(2); });
}

// -- Room -----------------------------------------------------------------------------------------

struct Push {
  int left;
};

// Passes each message on, twice, to the next one, which has hardly any room.
template <By by>
class Pusher : public Actor<Pusher<by>, Push, Address<Push>> {
 public:
  explicit Pusher(Goal* open) : open_(open) {}
  void on(Address<Push> next) { next_ = std::move(next); }
  auto on(Push push) {
    if constexpr (by == By::thread) {
      for (int i = 0; i < 2 && push.left > 0; ++i) {
        open_->add();
        took(next_.send(Push{push.left - 1}));
      }
      open_->reach();
    } else {
      return push_in_coroutine(push);
    }
  }

 private:
  Lazy<> push_in_coroutine(Push push) {
    for (int i = 0; i < 2 && push.left > 0; ++i) {
      open_->add();
      const auto sent = co_await next_.async_send(Push{push.left - 1});
      took(sent);
    }
    open_->reach();
  }
  void took(const std::expected<void, Refusal>& sent) {
    check(sent.has_value() || sent.error() == Refusal::full, "refused for no reason");
    if (!sent) open_->reach();
  }
  Address<Push> next_;
  Goal* open_;  // Messages that are accepted, and not handled.
};

template <typename First, typename Second>
void push_in_a_ring(int actors, bool has_two_systems = false) {
  Goal open(actors);
  Systems systems(has_two_systems);
  const ActorOptions small{.mailbox = {.capacity = 1}};
  const auto one = systems.first().spawn<First>(small, &open);
  const auto two = systems.second().spawn<Second>(small, &open);
  check(one.send(actors == 1 ? Address<Push>(one) : Address<Push>(two)).has_value(), "refused");
  check(two.send(Address<Push>(one)).has_value(), "refused");
  {
    Thread beside([&] { check(one.send(Push{3}).has_value(), "refused"); });
    if (actors == 2) check(two.send(Push{3}).has_value(), "refused");
  }
  check(open.done.wait().has_value(), "refused");
  systems.end();
}

TEST_F(SimulatedRing, HandlersThatFillEachOthersMailboxesAreRefused) {
  simulate_both([] { push_in_a_ring<Pusher<By::thread>, Pusher<By::thread>>(2); }, {.variants = 2});
  simulate_both([] { push_in_a_ring<Pusher<By::thread>, Pusher<By::thread>>(1); }, {.variants = 2});
}

TEST_F(SimulatedRing, CoroutinesThatFillEachOthersMailboxesAreRefused) {
  simulate_both([] { push_in_a_ring<Pusher<By::coroutine>, Pusher<By::coroutine>>(1); },
                {.variants = 3});
  simulate_both([] { push_in_a_ring<Pusher<By::coroutine>, Pusher<By::coroutine>>(2); },
                {.variants = 3});
  simulate_both([] { push_in_a_ring<Pusher<By::coroutine>, Pusher<By::thread>>(2); },
                {.variants = 3});
}

TEST_F(SimulatedRing, MayGoThroughTwoSystems) {
  using Asks = Asker<By::coroutine, false>;
  simulate_both([] { ask_in_a_ring<Asks, Asker<By::thread, false>>(2, true); }, {.variants = 3});
  simulate_both([] { push_in_a_ring<Pusher<By::thread>, Pusher<By::thread>>(2, true); },
                {.variants = 3});
  simulate_both([] { push_in_a_ring<Pusher<By::coroutine>, Pusher<By::thread>>(2, true); },
                {.variants = 3});
}

// Many that wait for room at their own actor, which is stopped, are told so at once.
class Crowd : public Actor<Crowd, Push> {
 public:
  static constexpr bool reentrant = true;
  Crowd(Event* all_wait, int* refused) : all_wait_(all_wait), refused_(refused) {}
  Lazy<> on(Push push) {
    if (push.left == 0) co_return stop();
    if (++begun_ == 8) all_wait_->set();
    const auto ready = co_await all_wait_->async_wait();
    check(ready.has_value(), "refused");
    for (int i = 0; i < 2; ++i) {
      const auto sent = co_await self().async_send(Push{0});
      if (!sent) ++*refused_;
    }
  }

 private:
  Event* all_wait_;
  int* refused_;
  int begun_ = 0;
};

TEST_F(SimulatedRing, ManyThatWaitForTheirOwnActorAreRefusedTogether) {
  simulate_both([] {
    int refused = 0;
    Event all_wait;
    ActorSystem system{{.workers = 1, .name = "ring"}};
    const auto crowd = system.spawn<Crowd>({.mailbox = {.capacity = 2}}, &all_wait, &refused);
    for (int i = 0; i < 8; ++i) check(crowd.send(Push{1}).has_value(), "refused");
    check(system.watch(crowd).get().has_value(), "refused");
    check(refused > 4, "the room was not for two");
  });
}

}  // namespace
}  // namespace handoff::tests
