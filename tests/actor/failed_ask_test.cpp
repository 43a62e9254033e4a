// Who asked and is told `failed` finds that the failure was noted: by the hook, and in what inspect() says.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "handoff/actor.hpp"
#include "handoff/lazy.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::AskError;

struct Plain {
  using Reply = int;
};
struct Awaited {
  using Reply = int;
};

class Failing : public handoff::Actor<Failing, Plain, Awaited> {
 public:
  int on(Plain) { throw std::runtime_error("a plain handler"); }
  handoff::Lazy<int> on(Awaited) {
    throw std::runtime_error("a coroutine");
    co_return 0;
  }
};

class FailedAsk : public ::testing::Test {
 protected:
  template <typename M>
  void expect_noted() {
    for (std::uint64_t i = 1; i <= 300; ++i) {
      ASSERT_EQ(failing_.ask(M{}, 1min).error(), AskError::Code::failed);
      ASSERT_EQ(noted_, i);
      ASSERT_EQ(system_.inspect().at(0).failures, i);
    }
  }

  std::atomic<std::uint64_t> noted_ = 0;
  handoff::ActorSystem system_{
      {.workers = 1, .supervision = {.directive = handoff::Directive::resume}},
      {.on_failure = [this](const handoff::Failure&, handoff::Directive) { ++noted_; },
       .on_dead_letter = {}}};
  const handoff::ActorRef<Failing> failing_ = system_.spawn<Failing>();
};

TEST_F(FailedAsk, OfAPlainHandlerIsNotedBeforeTheAnswer) { expect_noted<Plain>(); }
TEST_F(FailedAsk, OfACoroutineIsNotedBeforeTheAnswer) { expect_noted<Awaited>(); }

}  // namespace
