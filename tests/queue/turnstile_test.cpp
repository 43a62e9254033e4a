#include "handoff/detail/queue/turnstile.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "handoff/detail/core/spin.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::detail {
namespace {

using testing::eventually;

struct Subject final : Primitive {
  Subject() : Primitive("Subject", "") {}
  ~Subject() { retire(); }
  Stats stats() const override { return {}; }
  void report_waits(std::vector<WaitInfo>&) const override {}
};

// An operation that succeeds when told to, and counts how often it was tried.
struct Gate final : Turnstile::Turn {
  bool attempt() override {
    ++attempts;
    return open;
  }
  bool is_ready() const override { return open; }
  std::uint64_t position() const override { return 100; }

  std::atomic<bool> open = false;
  std::atomic<int> attempts = 0;
};

class TurnstileTest : public ::testing::Test {
 protected:
  void start_waiting() {
    waiter_ = std::jthread([this] {
      refusal_ = turnstile_.wait(gate_, Wait{}, {"test", std::source_location::current()});
    });
    eventually([&] { return turnstile_.someone_sleeps() && turnstile_.totals().waiting == 1; });
  }
  void lose_a_turn() {
    // Asleep again with the token let go: only then is the next turn given, not nudged away.
    const int before = gate_.attempts;
    turnstile_.notify();
    eventually([&] { return gate_.attempts >= before + 2 && turnstile_.someone_sleeps(); });
  }

  Subject subject_;
  Turnstile turnstile_{subject_};
  Gate gate_;
  std::optional<Refusal> refusal_;
  std::jthread waiter_;
};

TEST_F(TurnstileTest, OvertakingIsLimitedFromTheMomentOneSleeps) {
  EXPECT_EQ(turnstile_.overtake_limit(), UINT64_MAX);
  start_waiting();
  EXPECT_EQ(turnstile_.overtake_limit(), 100 + Turnstile::max_overtakes);
  gate_.open = true;
  turnstile_.notify();
  waiter_.join();
  EXPECT_EQ(turnstile_.overtake_limit(), UINT64_MAX);
}

TEST_F(TurnstileTest, AfterTooManyLostTurnsTheSleeperIsNext) {
  start_waiting();
  for (std::uint32_t i = 0; i < Turnstile::max_lost_turns; ++i) {
    EXPECT_EQ(turnstile_.overtake_limit(), 100 + Turnstile::max_overtakes);
    lose_a_turn();
  }
  EXPECT_EQ(turnstile_.overtake_limit(), 0U) << "every operation must serve it first";

  bool served = false;
  eventually([&] {
    return turnstile_.serve_front([&](Turnstile::Turn& turn) { served = &turn == &gate_; });
  });
  waiter_.join();
  EXPECT_TRUE(served);
  EXPECT_FALSE(refusal_) << "served means done";
}

TEST_F(TurnstileTest, WhileOneIsOnItsWayNobodyElseIsWoken) {
  start_waiting();
  Gate second;
  std::jthread other(
      [&] { turnstile_.wait(second, Wait{}, {"test", std::source_location::current()}); });
  eventually([&] { return turnstile_.totals().waiting == 2 && turnstile_.someone_sleeps(); });
  gate_.open = true;  // The first goes through and, finding its side ready, wakes the second.
  second.open = true;
  turnstile_.notify();
  waiter_.join();
  other.join();
  EXPECT_EQ(turnstile_.totals().waiting, 0U);
}

// While one spins, publishers wake nobody. If it then succeeds only after it has let go, and there is more, it must
// still wake the next: what was published meanwhile told nobody else.
TEST_F(TurnstileTest, OneThatSucceedsAfterSpinningInVainStillWakesTheNext) {
  start_waiting();  // Has spun in vain, so that the next one does not spin for long.
  Gate second;
  gate_.open = true;
  second.open = true;
  turnstile_.wait(second, Wait{}, {"test", std::source_location::current()});
  if (!spinning_pays()) turnstile_.notify();  // It kept nothing from anybody.
  waiter_.join();
  EXPECT_EQ(turnstile_.totals().waiting, 0U);
}

}  // namespace
}  // namespace handoff::detail
