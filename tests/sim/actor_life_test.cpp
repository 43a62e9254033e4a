// How actors live and end, under many schedules: who hears of an end, families, timers and names.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
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

class SimulatedLife : public QuietTest {};

struct Fail {};
class Mortal : public Actor<Mortal, Item, Fail> {
 public:
  void on(Item) { ++inside_; }
  void on(Fail) { throw std::runtime_error("on request"); }

 private:
  testing::Var<int> inside_{0, "a mortal's state"};
};

// -- Who hears of it ------------------------------------------------------------------------------

struct Look {};
struct LookAway {};

class Watcher : public Actor<Watcher, Look, LookAway> {
 public:
  Watcher(ActorRef<Mortal> whom, std::vector<StopReason>* ends, Event* heard)
      : whom_(std::move(whom)), ends_(ends), heard_(heard) {}
  void on(Look) { watch(whom_); }
  void on(LookAway) { unwatch(whom_); }
  void on(const Terminated& end) {
    check(end.id == whom_.id() && end.actor == whom_.path(), "another's end");
    ends_->push_back(end.reason);
    heard_->set();
  }

 private:
  ActorRef<Mortal> whom_;
  std::vector<StopReason>* ends_;
  Event* heard_;
};

TEST_F(SimulatedLife, AWatcherHearsOfTheEndOnce) {
  simulate_both(
      [] {
        std::vector<StopReason> ends;
        Event heard;
        ActorSystem system{{.workers = 2, .name = "actors"}};
        const auto mortal = system.spawn<Mortal>();
        const auto watcher = system.spawn<Watcher>({}, mortal, &ends, &heard);
        Thread kills([&] { mortal.stop(); });
        for (int i = 0; i < 2; ++i) check(watcher.send(Look{}).has_value(), "refused");
        const auto end = system.watch(mortal).get();
        check(end.has_value() && end->reason == StopReason::requested, "the wrong reason");
        check(heard.wait().has_value(), "refused");
        check(system.shutdown(finish_within(1h)).is_complete(), "not all have ended");
        // If it looks a second time after it has heard, it hears again.
        check(!ends.empty() && ends.size() <= 2, "heard too often");
      },
      {.faults = some_faults});
}

// All that look before the end hear of it once, and those who have looked away do not.
TEST_F(SimulatedLife, EachOfManyWatchersHearsOnceAndWhoLooksAwayAtMostOnce) {
  simulate_both([] {
    std::vector<StopReason> ends[3];
    Event heard[3];
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto mortal = system.spawn<Mortal>();
    std::vector<ActorRef<Watcher>> watchers;
    for (int i = 0; i < 3; ++i) {
      watchers.push_back(system.spawn<Watcher>({}, mortal, &ends[i], &heard[i]));
      check(watchers.back().send(Look{}).has_value(), "refused");
    }
    {
      Thread kills([&] { mortal.stop(); });
      check(watchers[2].send(LookAway{}).has_value(), "refused");
    }
    check(heard[0].wait().has_value() && heard[1].wait().has_value(), "refused");
    check(system.shutdown(finish_within(1h)).is_complete(), "not all have ended");
    check(ends[0].size() == 1 && ends[1].size() == 1 && ends[2].size() <= 1, "heard too often");
  });
}

TEST_F(SimulatedLife, WatcherAndWatchedMayEndTogether) {
  simulate_both([] {
    std::vector<StopReason> ends;
    Event heard;
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto mortal = system.spawn<Mortal>();
    const auto watcher = system.spawn<Watcher>({}, mortal, &ends, &heard);
    check(watcher.send(Look{}).has_value(), "refused");
    Thread kills([&] { mortal.stop(); });
    Thread kills_too([&] { watcher.stop(); });
    check(system.watch(mortal).get().has_value(), "refused");
    check(system.watch(watcher).get().has_value(), "refused");
    check(ends.size() <= 1, "heard too often");
  });
}

// Whether it looks before or after: the reason is the same.
TEST_F(SimulatedLife, WhoLooksTooLateHearsWhyAsWell) {
  simulate_both([] {
    std::vector<StopReason> ends;
    Event heard;
    ActorSystem system{
        {.workers = 2, .name = "actors", .supervision = {.directive = Directive::stop}}};
    const auto mortal = system.spawn<Mortal>();
    const auto watcher = system.spawn<Watcher>({}, mortal, &ends, &heard);
    check(mortal.send(Fail{}).has_value(), "refused");
    check(watcher.send(Look{}).has_value(), "refused");
    const auto end = system.watch(mortal).get();
    check(end.has_value() && end->reason == StopReason::failed, "the wrong reason");
    check(end->error.find("on request") != std::string::npos, "the wrong error");
    check(heard.wait().has_value() && ends.front() == StopReason::failed, "the wrong reason");
  });
}

// -- Families -------------------------------------------------------------------------------------

struct Grow {
  int depth;
};

// Has two children, as deep as it is told. They end before it does.
class Tree : public Actor<Tree, Grow, Item> {
 public:
  Tree(int* alive, std::vector<ActorRef<Tree>>* all) : alive_(alive), all_(all) { ++*alive_; }
  void on(Grow grow) {
    ++inside_;
    for (int i = 0; i < 2 && grow.depth > 0; ++i) {
      auto child = spawn<Tree>({}, alive_, all_);
      static_cast<void>(child.send(Grow{grow.depth - 1}));
      all_->push_back(std::move(child));  // A copy would let others come in between.
    }
  }
  void on(Item) {}
  void on_stop() {
    for (const auto& each : *all_) {
      if (each.id() != self().id() && each.path().starts_with(path() + "/")) {
        check(each.is_stopped(), "a child outlives its parent");
      }
    }
    --*alive_;
  }

 private:
  int* alive_;
  std::vector<ActorRef<Tree>>* all_;
  testing::Var<int> inside_{0, "a tree's state"};
};

TEST_F(SimulatedLife, ParentsAndChildrenMayBeStoppedTogether) {
  simulate_both([] {
    int alive = 0;
    std::vector<ActorRef<Tree>> all;
    all.reserve(8);  // It is read meanwhile.
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto root = system.spawn<Tree>({}, &alive, &all);
    check(root.send(Grow{2}).has_value(), "refused");
    {
      Thread beside([&] {
        for (std::size_t i = 0; i < all.size(); ++i) {
          i % 2 == 0 ? all[i].stop() : all[i].stop_when_drained();
        }
      });
      Thread looks([&] { static_cast<void>(to_table(system.inspect())); });
      root.stop_when_drained();
      root.stop();
    }
    check(system.watch(root).get().has_value(), "refused");
    for (const auto& each : all) check(each.is_stopped(), "a child outlives its parent");
    check(alive == 0, "not all have ended");
  });
}

// -- Timers ---------------------------------------------------------------------------------------

struct Once {};
struct Tick {};

class Clock : public Actor<Clock, Once, Tick, Item> {
 public:
  Clock(int* ticks, bool* has_ended) : ticks_(ticks), has_ended_(has_ended) {}
  void on_start() {
    static_cast<void>(after(1ms, Once{}));
    ticking_ = every(1ms, Tick{});
  }
  void on(Once) { tick(); }
  void on(Tick) { tick(); }
  void on(Item item) {
    ++inside_;
    if (item.number == 0) stop();
    if (item.number == 1) ticking_.cancel();
    is_cancelled_ = is_cancelled_ || item.number == 1;
  }
  void on_stop() { *has_ended_ = true; }

 private:
  void tick() {
    ++inside_;
    ++*ticks_;
    check(!*has_ended_, "a timer outlives its actor");
  }
  SelfTimerHandle ticking_;
  bool is_cancelled_ = false;
  int* ticks_;
  bool* has_ended_;
  testing::Var<int> inside_{0, "the state of one with timers"};
};

TEST_F(SimulatedLife, TimersMayFireWhileTheActorStops) {
  for (const bool is_stopped_by_itself : {true, false}) {
    simulate_both(
        [=] {
          int ticks = 0;
          bool has_ended = false;
          ActorSystem system{{.workers = 1, .name = "actors"}};
          const auto clock = system.spawn<Clock>({}, &ticks, &has_ended);
          testing::pause(1ms);
          if (is_stopped_by_itself) check(clock.send(Item{0}).has_value(), "refused");
          if (!is_stopped_by_itself) clock.stop();
          check(system.watch(clock).get().has_value(), "refused");
          // If it was stopped before it had begun there was nothing to end.
          check(has_ended || (!is_stopped_by_itself && ticks == 0), "it has not ended");
        },
        {.faults = some_faults, .variants = 2});
  }
}

TEST_F(SimulatedLife, ATimerMayFireWhileItIsCancelled) {
  simulate_both([] {
    int ticks = 0;
    bool has_ended = false;
    ActorSystem system{{.workers = 1, .name = "actors"}};
    const auto clock = system.spawn<Clock>({}, &ticks, &has_ended);
    testing::pause(1ms);
    check(clock.send(Item{1}).has_value(), "refused");
    testing::pause(10ms);
    const int before = ticks;
    testing::pause(10ms);
    check(before == ticks && ticks >= 1 && ticks <= 3, "it ticks on");
  });
}

// -- Names ----------------------------------------------------------------------------------------

TEST_F(SimulatedLife, ANameIsFreeOnceItsActorHasEnded) {
  simulate_both([] {
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto first = system.spawn<Mortal>({.name = "mortal"});
    Thread kills([&] { first.stop(); });
    Thread finds([&] {
      if (const auto found = system.find<Mortal>("mortal")) static_cast<void>(found->send(Item{1}));
    });
    check(system.watch(first).get().has_value(), "refused");
    const auto second = system.spawn<Mortal>({.name = "mortal"});
    check(second.send(Item{2}).has_value(), "refused");
    check(system.find<Mortal>("mortal") == second, "another one");
  });
}

}  // namespace
}  // namespace handoff::tests
