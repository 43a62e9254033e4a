// What is left of actors that were restarted, once their system is gone: nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "handoff/actor.hpp"
#include "handoff/log.hpp"
#include "handoff/testing/eventually.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;

struct Fail {};
struct Ping {
  using Reply = int;
};

// The system keeps a copy of its argument for as long as it keeps anything of the actor.
class Fragile : public handoff::Actor<Fragile, Fail, Ping> {
 public:
  explicit Fragile(std::shared_ptr<int> kept) : kept_(std::move(kept)) {}
  void on(Fail) { throw std::runtime_error("told to fail"); }
  int on(Ping) { return *kept_; }

 private:
  std::shared_ptr<int> kept_;
};

class Restarted : public ::testing::Test {
 protected:
  ~Restarted() override { handoff::set_log(before_); }

  std::shared_ptr<int> kept_ = std::make_shared<int>(7);
  handoff::LogSink before_ = handoff::set_log([](std::string_view) {});
};

TEST_F(Restarted, AfterABackoffItLeavesNothingBehind) {
  {
    handoff::ActorSystem system{{.workers = 1, .supervision = {.backoff = 1ms}}};
    const auto fragile = system.spawn<Fragile>({}, kept_);
    fragile.send(Fail{});
    EXPECT_EQ(fragile.ask(Ping{}, 1min), 7);
    EXPECT_EQ(system.inspect().at(0).restarts, 1U);
    EXPECT_TRUE(system.shutdown(handoff::finish_within(1min)).is_complete());
  }
  EXPECT_EQ(kept_.use_count(), 1);
}

TEST_F(Restarted, StoppedDuringABackoffItLeavesNothingBehind) {
  {
    handoff::ActorSystem system{{.workers = 1, .supervision = {.backoff = 1h, .most_backoff = 1h}}};
    const auto fragile = system.spawn<Fragile>({}, kept_);
    fragile.send(Fail{});
    eventually([&] { return system.inspect().at(0).state == "restarting"; });
    fragile.stop();
    EXPECT_TRUE(system.shutdown(handoff::finish_within(1min)).is_complete());
  }
  EXPECT_EQ(kept_.use_count(), 1);
}

}  // namespace
