// Random topologies, real threads: each message that was accepted is handled, becomes a dead letter or is handed back, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;

// What became of every message, by its number.
class Ledger {
 public:
  explicit Ledger(std::size_t most) : accepted_(most), ended_(most) {}

  // One past the last if there are no more.
  std::size_t next() { return std::min(next_.fetch_add(1), accepted_.size()); }
  std::size_t most() const { return accepted_.size(); }
  bool is_used_up() const { return next_ >= most(); }
  void accept(std::size_t number) { ++accepted_[number]; }
  void end(std::size_t number) { ++ended_[number]; }

  void check() const {
    for (std::size_t i = 0; i < accepted_.size(); ++i) {
      ASSERT_LE(accepted_[i], 1) << "message " << i;
      ASSERT_EQ(ended_[i].load(), accepted_[i].load()) << "message " << i;
    }
  }
  std::size_t accepted() const {
    std::size_t count = 0;
    for (const auto& each : accepted_) count += static_cast<std::size_t>(each.load());
    return count;
  }

 private:
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::atomic<int>> accepted_;
  std::vector<std::atomic<int>> ended_;
};

struct Parcel {
  std::size_t number;
  int hops;
};
struct Express {
  static constexpr int priority = 1;
  std::size_t number;
  int hops;
};
// Takes its time, and other messages wait.
struct Slow {
  std::size_t number;
  int hops;
};
// Not in the ledger: who asks cannot always know whether it was accepted.
struct Question {
  using Reply = int;
};

class Hub;
struct World {
  explicit World(std::uint32_t from) : seed(from), ledger(6000) {}
  const std::uint32_t seed;
  Ledger ledger;
  std::vector<ActorRef<Hub>> hubs;  // Fixed before the first message.
};

template <typename M, typename To>
void send_counted(World& world, const To& to, int hops) {
  const auto number = world.ledger.next();
  if (number == world.ledger.most()) return;
  if (to.send(M{.number = number, .hops = hops})) world.ledger.accept(number);
}

class Hub : public Actor<Hub, Parcel, Express, Slow, Question> {
 public:
  explicit Hub(std::shared_ptr<World> world)
      : world_(std::move(world)), random_(world_->seed + static_cast<std::uint32_t>(self().id())) {}

  void on(Parcel parcel) { pass_on(parcel.number, parcel.hops); }
  void on(const Express& express) { pass_on(express.number, express.hops); }
  Lazy<> on(Slow slow) {
    world_->ledger.end(slow.number);
    const auto to = somebody();
    const auto number = world_->ledger.next();
    if (slow.hops == 0 || number == world_->ledger.most()) co_return;
    auto parcel = Parcel{.number = number, .hops = slow.hops - 1};
    const auto sent = co_await to.async_send(std::move(parcel));
    if (sent) world_->ledger.accept(number);
    auto question = Question{};
    (void)co_await to.async_ask(std::move(question), std::chrono::microseconds(random_() % 300));
    if (random_() % 16 == 0) throw std::runtime_error("a slow one");
  }
  int on(Question) { return 1; }

 private:
  const ActorRef<Hub>& somebody() { return world_->hubs[random_() % world_->hubs.size()]; }

  void pass_on(std::size_t number, int hops) {
    world_->ledger.end(number);
    for (int i = 0; i < 2 && hops > 0; ++i) {
      switch (random_() % 3) {
        case 0: send_counted<Parcel>(*world_, somebody(), hops - 1); break;
        case 1: send_counted<Express>(*world_, somebody(), hops - 1); break;
        case 2: send_counted<Slow>(*world_, somebody(), hops - 1); break;
      }
    }
    const auto what = random_() % 200;
    if (what < 4) throw std::runtime_error("a plain one");
    if (what == 4) stop();
    if (what == 5) stop_when_drained();
    if (what == 6) somebody().stop();
    if (what == 7) after(1ms, Question{});
  }

  const std::shared_ptr<World> world_;
  std::minstd_rand random_;
};

std::size_t number_of(MessageView message, std::size_t none) {
  if (const auto* const parcel = message.get_if<Parcel>()) return parcel->number;
  if (const auto* const express = message.get_if<Express>()) return express->number;
  if (const auto* const slow = message.get_if<Slow>()) return slow->number;
  return none;
}

Directive decide(const Failure& failure) {
  const auto number = number_of(failure.message, 0);
  constexpr Directive all[] = {Directive::resume, Directive::restart, Directive::restart,
                               Directive::stop};
  return all[number % 4];
}

struct Round {
  std::shared_ptr<World> world;
  std::unique_ptr<ActorSystem> system;

  explicit Round(std::uint32_t seed) : world(std::make_shared<World>(seed)) {
    const auto to_ledger = [world = world](const DeadLetter& letter) {
      const auto number = number_of(letter.message, world->ledger.most());
      if (number < world->ledger.most()) world->ledger.end(number);
    };
    system = std::make_unique<ActorSystem>(
        SystemOptions{.workers = 2, .supervision = {.decide = &decide, .most_restarts = 1000}},
        SystemHooks{.on_failure = [](const Failure&, Directive) {}, .on_dead_letter = to_ledger});
    std::minstd_rand random(seed);
    constexpr WhenFull policies[] = {WhenFull::block, WhenFull::block, WhenFull::reject,
                                     WhenFull::drop_newest, WhenFull::drop_oldest};
    const std::size_t count = 2 + random() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      const MailboxOptions mailbox{.capacity = 1 + random() % 20,
                                   .when_full = policies[random() % std::size(policies)]};
      world->hubs.push_back(system->spawn<Hub>(
          {.mailbox = mailbox, .dedicated_thread = random() % 8 == 0, .outbox = random() % 20},
          world));
    }
  }
  // Until there are no more numbers, or it is refused.
  void send_from_outside(std::uint32_t seed) const {
    std::minstd_rand random(seed);
    while (true) {
      const auto number = world->ledger.next();
      if (number == world->ledger.most()) return;
      const auto& to = world->hubs[random() % world->hubs.size()];
      const auto sent = to.send(Parcel{.number = number, .hops = 3});
      if (sent) world->ledger.accept(number);
      if (!sent &&
          std::ranges::all_of(world->hubs, [](const auto& each) { return each.is_stopped(); })) {
        return;
      }
    }
  }
  void hand_back(const ActorShutdownReport& report) const {
    for (const auto& each : report.handed_back) {
      const auto number = number_of(each.message.view(), world->ledger.most());
      if (number < world->ledger.most()) world->ledger.end(number);
    }
  }
};

struct ActorConservation : ::testing::TestWithParam<int> {
  Log log;
};

INSTANTIATE_TEST_SUITE_P(Rounds, ActorConservation, ::testing::Range(0, 12));

TEST_P(ActorConservation, EveryAcceptedMessageEndsOnce) {
  const auto seed = static_cast<std::uint32_t>(GetParam() * 1000 + 1);
  const Round round(seed);
  {
    std::vector<std::jthread> senders;
    for (std::uint32_t i = 0; i < 3; ++i) {
      senders.emplace_back([&, i] { round.send_from_outside(seed + i); });
    }
    // In the midst of it, early or late; some have ended by themselves.
    const std::size_t when =
        round.world->ledger.most() / 4 * static_cast<std::size_t>(GetParam() % 4);
    eventually(
        [&] {
          const Ledger& ledger = round.world->ledger;
          return ledger.accepted() >= when / 2 || ledger.is_used_up() || round.system->size() == 0;
        },
        60s);
    const auto how =
        GetParam() % 2 == 0 ? interrupt(1min) : finish_within(20ms).then_interrupt(1min);
    const auto report = round.system->shutdown(how);
    EXPECT_TRUE(report.still_alive.empty()) << to_string(report);
    round.hand_back(report);
  }
  round.world->ledger.check();
}

TEST_P(ActorConservation, NoneIsLostByTheEndOfTheDestructor) {
  const auto seed = static_cast<std::uint32_t>(GetParam() * 1000 + 501);
  Round round(seed);
  round.send_from_outside(seed);
  const auto accepted = round.world->ledger.accepted();
  EXPECT_GT(accepted, 0u);
  const auto report = round.system->shutdown(finish_within(1min));
  EXPECT_TRUE(report.still_alive.empty()) << to_string(report);
  round.hand_back(report);
  round.system.reset();
  round.world->ledger.check();
  // Nothing is left of the actors but our references.
  const std::weak_ptr<World> world = round.world;
  for (const auto& each : round.world->hubs) EXPECT_TRUE(each.is_stopped());
  round.world->hubs.clear();
  round.world.reset();
  EXPECT_TRUE(eventually([&] { return world.expired(); }));
}

}  // namespace
}  // namespace handoff
