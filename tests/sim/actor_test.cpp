// Actors under many schedules: one message at a time, in order, and none is lost.
#include "handoff/actor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "handoff/testing/simulate.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"
#include "sim/actors.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;

class SimulatedActor : public QuietTest {};

// -- One at a time --------------------------------------------------------------------------------

// What a handler did is seen by the next, though nothing but the turn keeps them apart.
TEST_F(SimulatedActor, HandlesOneMessageAtATime) {
  simulate_both([] {
    Letters letters(6);
    ActorSystem system{{.workers = 2, .name = "actors"}, letters.hooks()};
    const auto keeper = system.spawn<Keeper>({}, &letters);
    const auto send_two = [&](int first) {
      return [&, first] {
        for (int i = first; i < first + 2; ++i) letters.sent(i, keeper.send(Item{i}).has_value());
      };
    };
    {
      Thread one(send_two(0));
      Thread two(send_two(2));
      send_two(4)();
    }
    const auto report = system.shutdown(finish_within(1h));
    check(report.is_complete() && system.dead_letter_count() == 0, "not all were handled");
    letters.check();
  });
}

// With timers, ends of others, coroutines that go on, and messages at once.
struct Wake {};
class Busy : public Actor<Busy, Item, Wake> {
 public:
  static constexpr bool reentrant = true;
  explicit Busy(int* handled) : handled_(handled) {}
  void on_start() {
    after(0s, Wake{});
    const auto child = spawn<Keeper>({}, nullptr);
    watch(child);
    child.stop();
  }
  void on(Wake) { touch(); }
  void on(const Terminated&) { touch(); }
  Lazy<> on(Item) {
    touch();
    co_await yield();
    touch();
  }

 private:
  void touch() {
    ++inside_;
    ++*handled_;
  }
  testing::Var<int> inside_{0, "the actor's state"};
  int* handled_;
};

TEST_F(SimulatedActor, IsNeverInTwoPlacesWhateverComes) {
  simulate_both([] {
    int handled = 0;
    ActorSystem system{{.workers = 2, .name = "actors"}};
    const auto busy = system.spawn<Busy>({}, &handled);
    {
      Thread one([&] { check(busy.send(Item{1}).has_value(), "refused"); });
      check(busy.send(Item{2}).has_value(), "refused");
    }
    while (handled < 6) testing::pause(1ms);
    check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
    check(handled == 6, "handled too often");
  });
}

// -- Order ----------------------------------------------------------------------------------------

struct Hop {
  int sender;
  int number;  // The sender's, to this one.
  int left;    // How often it is passed on.
};

// Some actors that pass on what they get to others, in whatever circles.
struct Net {
  static constexpr int size = 4;
  explicit Net(std::uint32_t seed) {
    std::mt19937 draw(seed);
    for (auto& each : ways) {
      for (int& to : each) to = static_cast<int>(draw() % size);
    }
    capacity = 1 + draw() % 2;
    policy = static_cast<WhenFull>(draw() % 4);
  }
  std::array<std::array<int, 2>, size> ways{};
  std::size_t capacity = 1;
  WhenFull policy = WhenFull::block;
  std::vector<Address<Hop>> actors;
  int accepted = 0;
  int handled = 0;
};

class Node : public Actor<Node, Hop> {
 public:
  Node(Net* net, int own) : net_(net), own_(own) {}
  void on(Hop hop) {
    ++inside_;
    int& last = last_[static_cast<std::size_t>(hop.sender)];
    check(hop.number > last, "messages of one sender came out of order");
    last = hop.number;
    if (hop.left > 0) pass_on(hop);
    ++net_->handled;  // Last: while it may still send, they have not come to rest.
  }

 private:
  void pass_on(const Hop& hop) {
    for (const int to : net_->ways[static_cast<std::size_t>(own_)]) {
      Hop next{.sender = own_, .number = ++sent_, .left = hop.left - 1};
      const auto sent = net_->actors[static_cast<std::size_t>(to)].send(next);
      check(sent.has_value() || sent.error() == Refusal::full, "refused for no reason");
      net_->accepted += sent ? 1 : 0;
    }
  }

  Net* net_;
  int own_;
  int sent_ = 0;
  std::array<int, Net::size + 1> last_{};
  testing::Var<int> inside_{0, "a node's state"};
};

void run_net(std::uint32_t seed) {
  Net net(seed);
  int dead = 0;
  ActorSystem system{{.workers = 2, .name = "net"},
                     {.on_failure = {}, .on_dead_letter = [&](const DeadLetter&) { ++dead; }}};
  for (int i = 0; i < Net::size; ++i) {
    net.actors.emplace_back(system.spawn<Node>(
        {.mailbox = {.capacity = net.capacity, .when_full = net.policy}}, &net, i));
  }
  for (int number = 1; number <= 3; ++number) {
    const auto to = static_cast<std::size_t>(number % Net::size);
    net.accepted += net.actors[to].send(Hop{Net::size, number, 2}) ? 1 : 0;
  }
  // What they send each other is refused once they are closed: so they come to rest first.
  while (net.accepted != net.handled + dead) testing::pause(1ms);
  check(system.shutdown(finish_within(1h)).is_complete(), "not all were handled");
  check(net.accepted == net.handled + dead, "a message was lost, or came twice");
  check(net.policy == WhenFull::drop_oldest || dead == 0, "a dead letter for no reason");
}

TEST_F(SimulatedActor, KeepsTheOrderOfEachPairInAnyTopology) {
  constexpr std::uint32_t nets = 50;
  for (std::uint32_t net = 0; net < nets; ++net) {
    simulate_both([=] { run_net(net); }, {.variants = nets});
  }
}

// -- None is lost ---------------------------------------------------------------------------------

enum class End { finish, interrupt, stop, drain };

void account_for_all(WhenFull policy, End end) {
  Letters letters(6);
  ActorSystem system{{.workers = 1, .name = "actors"}, letters.hooks()};
  const auto keeper =
      system.spawn<Keeper>({.mailbox = {.capacity = 1, .when_full = policy}}, &letters);
  const auto send_three = [&](int first) {
    for (int i = first; i < first + 3; ++i) letters.sent(i, keeper.send(Item{i}).has_value());
  };
  {
    Thread one([&] { send_three(0); });
    Thread two([&] { send_three(3); });
    if (end == End::stop) keeper.stop();
    if (end == End::drain) keeper.stop_when_drained();
    if (end == End::finish) letters.handed_back(system.shutdown(finish_within(1h)));
    if (end == End::interrupt) letters.handed_back(system.shutdown(interrupt()));
  }
  const auto report = system.shutdown(finish_within(1h));
  check(report.still_alive.empty(), "it did not end");
  letters.handed_back(report);
  check(end == End::stop || policy == WhenFull::drop_oldest || system.dead_letter_count() == 0,
        "a dead letter for no reason");
  letters.check();
}

TEST_F(SimulatedActor, AccountsForAllWhateverEndsItAndWhateverItsPolicy) {
  for (const auto policy :
       {WhenFull::block, WhenFull::reject, WhenFull::drop_newest, WhenFull::drop_oldest}) {
    for (const auto end : {End::finish, End::interrupt, End::stop, End::drain}) {
      simulate_both([=] { account_for_all(policy, end); }, {.faults = some_faults, .variants = 16});
    }
  }
}

}  // namespace
}  // namespace handoff::tests
