// Failures that come together, with messages, stops and the end of the system, under many schedules.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

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

class SimulatedSupervision : public QuietTest {};

// -- Restarts -------------------------------------------------------------------------------------

// Fails at each odd item. What it is made of is made anew then.
class Brittle : public Actor<Brittle, Item> {
 public:
  Brittle(Letters* letters, int* made) : letters_(letters) { ++*made; }
  void on(Item item) {
    ++inside_;
    letters_->handled(item.number);
    check(!has_failed_, "the state is not fresh");
    if (item.number % 2 == 0) return;
    has_failed_ = true;
    throw std::runtime_error("odd");
  }

 private:
  Letters* letters_;
  bool has_failed_ = false;
  testing::Var<int> inside_{0, "the state of a brittle one"};
};

TEST_F(SimulatedSupervision, MessagesMayComeWhileItIsRestarted) {
  for (const Duration backoff : {Duration::zero(), Duration(1ms)}) {
    simulate_both(
        [=] {
          Letters letters(6);
          int made = 0;
          ActorSystem system{{.workers = 2, .name = "actors", .supervision = {.backoff = backoff}},
                             letters.hooks()};
          const auto brittle = system.spawn<Brittle>({.mailbox = {.capacity = 1}}, &letters, &made);
          const auto send_three = [&](int first) {
            for (int i = first; i < first + 3; ++i) {
              check(brittle.send(Item{i}).has_value(), "refused");
              letters.sent(i, true);
            }
          };
          {
            Thread other([&] { send_three(0); });
            send_three(3);
          }
          check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
          check(system.dead_letter_count() == 0, "a dead letter for no reason");
          check(made >= 3 && made <= 4, "not made anew after each failure");
          letters.check();
        },
        {.faults = some_faults, .variants = 2});
  }
}

TEST_F(SimulatedSupervision, AStopMayComeWhileItIsRestarted) {
  for (const bool drains : {true, false}) {
    simulate_both(
        [=] {
          Letters letters(4);
          int made = 0;
          ActorSystem system{{.workers = 2, .name = "actors", .supervision = {.backoff = 1ms}},
                             letters.hooks()};
          const auto brittle = system.spawn<Brittle>({}, &letters, &made);
          {
            Thread stops([&] { drains ? brittle.stop_when_drained() : brittle.stop(); });
            for (int i = 0; i < 4; ++i) letters.sent(i, brittle.send(Item{i}).has_value());
          }
          check(system.watch(brittle).get().has_value(), "refused");
          check(!drains || system.dead_letter_count() == 0, "a dead letter for no reason");
          letters.check();
        },
        {.variants = 2});
  }
}

// -- Families -------------------------------------------------------------------------------------

struct Fail {};
struct Ping {
  using Reply = int;
};

class Child : public Actor<Child, Fail, Ping> {
 public:
  explicit Child(int* made) : made_(made) { ++*made_; }
  void on_start() { static_cast<void>(every(1ms, Fail{})); }  // Dies with it, and its restart.
  void on(Fail) {
    ++inside_;
    throw std::runtime_error("on request");
  }
  int on(Ping) { return ++inside_, 1; }

 private:
  int* made_;
  testing::Var<int> inside_{0, "a child's state"};
};

struct Children {
  using Reply = int;
};

class Parent : public Actor<Parent, Fail, Children> {
 public:
  Parent(std::vector<ActorRef<Child>>* children, int count, int* made)
      : children_(children), count_(count), made_(made) {}
  void on_start() {
    children_->clear();
    for (int i = 0; i < count_; ++i) children_->push_back(spawn<Child>({}, made_));
  }
  void on(Fail) { throw std::runtime_error("on request"); }
  int on(Children) { return static_cast<int>(children_->size()); }

 private:
  std::vector<ActorRef<Child>>* children_;
  int count_;
  int* made_;
};

// A parent with this policy for its children, which the system has the other one for.
struct House {
  House(Supervision for_children, Supervision for_parent)
      : system({.workers = 2, .name = "actors", .supervision = std::move(for_parent)}),
        parent(system.spawn<Parent>({.children = supervise(std::move(for_children))}, &children, 3,
                                    &made)) {
    check(parent.ask(Children{}, Wait{}) == 3, "it has not begun");
  }
  int made = 0;
  std::vector<ActorRef<Child>> children;
  ActorSystem system;
  ActorRef<Parent> parent;

  // They end now, and not because their time is over.
  void expect_end() {
    const auto start = now();
    check(system.shutdown(finish_within(1h)).still_alive.empty(), "an actor did not end");
    check(now() < start + 30min, "it ended only because its time was over");
  }
};

constexpr std::size_t often = 1'000;

TEST_F(SimulatedSupervision, SiblingsThatFailTogetherAreAllRestarted) {
  simulate_both([] {
    House house({.one_for_all = true, .most_restarts = often}, {});
    const auto children = house.children;
    {
      Thread one([&] { static_cast<void>(children[0].send(Fail{})); });
      Thread two([&] { static_cast<void>(children[1].send(Fail{})); });
      static_cast<void>(children[2].ask(Ping{}, Wait{}));
    }
    // All were made anew after the first failure.
    while (house.made < 6) testing::pause(1ms);
    for (const auto& each : children) {
      check(each.ask(Ping{}, Wait{}).has_value(), "a child does not live");
    }
    house.expect_end();
  });
}

TEST_F(SimulatedSupervision, SiblingsThatFailTogetherAreAllStopped) {
  simulate_both([] {
    House house({.directive = Directive::stop, .one_for_all = true}, {});
    const auto children = house.children;
    {
      Thread one([&] { static_cast<void>(children[0].send(Fail{})); });
      Thread two([&] { static_cast<void>(children[1].send(Fail{})); });
    }
    for (const auto& each : children) check(house.system.watch(each).get().has_value(), "refused");
    check(house.made == 3 && !house.parent.is_stopped(), "the parent had a part in it");
    house.expect_end();
  });
}

// Two children leave it to their parent, which is resumed, made anew or stopped.
TEST_F(SimulatedSupervision, ChildrenThatEscalateTogether) {
  for (const auto directive : {Directive::resume, Directive::restart, Directive::stop}) {
    simulate_both(
        [=] {
          House house({.directive = Directive::escalate},
                      {.directive = directive, .most_restarts = often});
          const auto children = house.children;
          {
            Thread one([&] { static_cast<void>(children[0].send(Fail{})); });
            static_cast<void>(children[1].send(Fail{}));
          }
          if (directive == Directive::resume) {
            for (const auto& each : children)
              check(each.ask(Ping{}, Wait{}) == 1, "it does not live");
          } else {
            for (const auto& each : children) {
              check(house.system.watch(each).get().has_value(), "refused");
            }
          }
          if (directive == Directive::restart) {
            while (house.made < 6) testing::pause(1ms);
          }
          if (directive == Directive::stop) {
            check(house.system.watch(house.parent).get().has_value(), "refused");
          }
          house.expect_end();
        },
        {.variants = 3});
  }
}

// A child that leaves it to its parent while that is stopped, drained or fails itself: nobody is forgotten.
enum class Meanwhile { stop, drain, fail, shutdown };

TEST_F(SimulatedSupervision, AChildMayEscalateToAParentThatEnds) {
  for (const auto meanwhile :
       {Meanwhile::stop, Meanwhile::drain, Meanwhile::fail, Meanwhile::shutdown}) {
    for (const auto directive : {Directive::restart, Directive::stop}) {
      simulate_both(
          [=] {
            House house({.directive = Directive::escalate},
                        {.directive = directive, .most_restarts = often});
            const auto children = house.children;
            {
              Thread one([&] { static_cast<void>(children[0].send(Fail{})); });
              Thread two([&] { static_cast<void>(children[1].send(Fail{})); });
              if (meanwhile == Meanwhile::stop) house.parent.stop();
              if (meanwhile == Meanwhile::drain) house.parent.stop_when_drained();
              if (meanwhile == Meanwhile::fail) static_cast<void>(house.parent.send(Fail{}));
              if (meanwhile == Meanwhile::shutdown) house.expect_end();
            }
            if (meanwhile == Meanwhile::stop || meanwhile == Meanwhile::drain) {
              check(house.system.watch(house.parent).get().has_value(), "refused");
            }
            house.expect_end();
          },
          {.variants = 8});
    }
  }
}

// -- Coroutines -----------------------------------------------------------------------------------

// Some handlers wait when another one fails: they go on to their end, and only then it is made anew.
class Weaver : public Actor<Weaver, Item, Fail> {
 public:
  static constexpr bool reentrant = true;
  Weaver(Letters* letters, int* inside) : letters_(letters), inside_(inside) {}
  ~Weaver() { check(*inside_ == 0, "it is gone while a handler of it is at work"); }
  Lazy<> on(Item item) {
    ++*inside_;
    co_await yield();
    ++state_;
    co_await yield();
    letters_->handled(item.number);
    --*inside_;
    if (item.number == 1) throw std::runtime_error("on request");
  }
  void on(Fail) { throw std::runtime_error("on request"); }

 private:
  Letters* letters_;
  int* inside_;
  testing::Var<int> state_{0, "a weaver's state"};
};

TEST_F(SimulatedSupervision, CoroutinesEndBeforeTheirActorIsMadeAnew) {
  simulate_both([] {
    Letters letters(4);
    int inside = 0;
    ActorSystem system{{.workers = 2, .name = "actors", .supervision = {.most_restarts = often}},
                       letters.hooks()};
    const auto weaver = system.spawn<Weaver>({.mailbox = {.capacity = 2}}, &letters, &inside);
    {
      Thread fails([&] { static_cast<void>(weaver.send(Fail{})); });
      for (int i = 0; i < 4; ++i) letters.sent(i, weaver.send(Item{i}).has_value());
    }
    check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
    letters.check();
  });
}

}  // namespace
}  // namespace handoff::tests
