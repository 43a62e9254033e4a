// Handlers that are coroutines: what their actor does while they wait. Timers and ends meanwhile: timers_test.cpp, watch_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "handoff/pool.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;

struct Fail {
  std::shared_ptr<Gate> gate;
};

// Waits at a gate, or notes a number.
template <bool is_reentrant>
class Waiting : public Actor<Waiting<is_reentrant>, Hold, Note, Fail, Question> {
 public:
  static constexpr bool reentrant = is_reentrant;
  explicit Waiting(std::shared_ptr<Seen<int>> seen) : seen_(std::move(seen)) {}
  Lazy<> on(Hold hold) {
    seen_->add(-1);
    co_await hold.gate->async_pass();
    seen_->add(-2);
  }
  void on(Note note) {
    ++notes_;
    seen_->add(note.number);
  }
  Lazy<> on(Fail fail) {
    co_await fail.gate->async_pass();
    throw std::runtime_error("after a while");
  }
  int on(Question) { return notes_; }

 private:
  const std::shared_ptr<Seen<int>> seen_;
  int notes_ = 0;
};

struct HandlerCoroutines : ::testing::Test {
  Seen<std::string> failures;
  ActorSystem system{{.workers = 1},
                     {.on_failure = [this](const Failure& failure, Directive directive) {
                       failures.add(std::string(failure.message.type()) + ", " +
                                    std::string(to_string(directive)));
                     }}};
  const std::shared_ptr<Seen<int>> seen = std::make_shared<Seen<int>>();
  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();

  // The one worker has come by all that was ready.
  void expect_nothing_ready() {
    const auto other = system.spawn<Desk>({}, std::make_shared<Seen<int>>());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(other.ask(Question{i}, long_enough), i);
  }
};

TEST_F(HandlerCoroutines, HoldOtherMessagesBackWhileTheyWait) {
  const auto waiting = system.spawn<Waiting<false>>({}, seen);
  ASSERT_TRUE(waiting.send(Hold{gate}));
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(waiting.send(Note{i}));
  gate->await_somebody();
  expect_nothing_ready();
  EXPECT_THAT(seen->all(), ElementsAre(-1));
  EXPECT_EQ(system.inspect()[0].mailbox, 3u);
  EXPECT_EQ(system.inspect()[0].waits_for, "1 coroutine");
  gate->open();
  eventually([&] { return seen->size() == 5; });
  EXPECT_THAT(seen->all(), ElementsAre(-1, -2, 1, 2, 3));
}

TEST_F(HandlerCoroutines, OfAReentrantActorHoldNothingBack) {
  const auto waiting = system.spawn<Waiting<true>>({}, seen);
  ASSERT_TRUE(waiting.send(Hold{gate}));
  ASSERT_TRUE(waiting.send(Note{1}));
  ASSERT_TRUE(waiting.send(Hold{gate}));
  ASSERT_TRUE(waiting.send(Note{2}));
  eventually([&] { return seen->size() == 4; });
  EXPECT_THAT(seen->all(), ElementsAre(-1, 1, -1, 2));
  gate->open();
  eventually([&] { return seen->size() == 6; });
  EXPECT_THAT(seen->all(), ElementsAre(-1, 1, -1, 2, -2, -2));
}

TEST_F(HandlerCoroutines, HoldNoWorkerWhileTheyWait) {
  std::vector<ActorRef<Waiting<false>>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(system.spawn<Waiting<false>>({}, seen));
    ASSERT_TRUE(all.back().send(Hold{gate}));
  }
  eventually([&] { return seen->size() == 100; });
  gate->open();
  eventually([&] { return seen->size() == 200; });
}

TEST_F(HandlerCoroutines, ThatThrowAreFailuresWithTheirMessage) {
  const auto waiting = system.spawn<Waiting<false>>({}, seen);
  ASSERT_TRUE(waiting.send(Note{1}));
  ASSERT_TRUE(waiting.send(Fail{gate}));
  ASSERT_TRUE(waiting.send(Note{2}));
  gate->await_somebody();
  gate->open();
  EXPECT_EQ(waiting.ask(Question{}, long_enough), 1);  // Made anew, with the mailbox as it was.
  EXPECT_THAT(seen->all(), ElementsAre(1, 2));
  EXPECT_THAT(failures.all(), ElementsAre("Fail, restart"));
}

TEST_F(HandlerCoroutines, AreWaitedForBeforeARestart) {
  const auto waiting = system.spawn<Waiting<true>>({}, seen);
  const auto failing = std::make_shared<Gate>();
  ASSERT_TRUE(waiting.send(Hold{gate}));
  ASSERT_TRUE(waiting.send(Fail{failing}));
  failing->await_somebody();
  failing->open();
  eventually([&] { return system.inspect()[0].state == "restarting"; });
  ASSERT_TRUE(waiting.send(Note{1}));
  expect_nothing_ready();
  EXPECT_THAT(seen->all(), ElementsAre(-1));
  gate->open();
  EXPECT_EQ(waiting.ask(Question{}, long_enough), 1);
  EXPECT_THAT(seen->all(), ElementsAre(-1, -2, 1));
}

TEST_F(HandlerCoroutines, AreWaitedForWhenTheirActorIsStopped) {
  const auto waiting = system.spawn<Waiting<false>>({}, seen);
  ASSERT_TRUE(waiting.send(Hold{gate}));
  ASSERT_TRUE(waiting.send(Note{1}));
  gate->await_somebody();
  waiting.stop();
  expect_nothing_ready();
  EXPECT_FALSE(waiting.is_stopped());
  gate->open();
  await_end(system, waiting);
  EXPECT_THAT(seen->all(), ElementsAre(-1, -2));
  EXPECT_EQ(system.dead_letter_count(), 1u);
}

struct Endless {
  using Reply = std::string;
};
class Listener : public Actor<Listener, Endless> {
 public:
  explicit Listener(std::shared_ptr<Gate> reached) : reached_(std::move(reached)) {}
  Lazy<std::string> on(Endless) {
    Event never;
    reached_->open();
    const auto waited = co_await never.async_wait();
    co_return std::string(to_string(waited.error()));
  }

 private:
  const std::shared_ptr<Gate> reached_;
};

TEST_F(HandlerCoroutines, AreInterruptedByTheShutdown) {
  const auto listener = system.spawn<Listener>({}, gate);
  std::expected<std::string, AskError> answer;
  std::jthread asker([&] { answer = listener.ask(Endless{}, long_enough); });
  gate->pass();
  EXPECT_TRUE(system.shutdown(interrupt(long_enough)).is_complete());
  asker.join();
  EXPECT_EQ(answer, "stopped");
}

// -- Inside ---------------------------------------------------------------------------------------

struct Work {
  using Reply = void;
};
class Careful : public Actor<Careful, Work> {
 public:
  static constexpr bool reentrant = true;
  struct Report {
    std::atomic<int> inside = 0;
    std::atomic<int> collisions = 0;
  };
  Careful(std::shared_ptr<Report> report, std::shared_ptr<WorkerPool> elsewhere)
      : report_(std::move(report)), elsewhere_(std::move(elsewhere)) {}
  Lazy<> on(Work) {
    for (int i = 0; i < 10; ++i) {
      step();
      co_await yield();
      step();
      auto away = elsewhere_->submit([] { return 1; });
      EXPECT_TRUE(away);
      const auto done = co_await std::move(*away);
      EXPECT_TRUE(done);
    }
    step();
  }

 private:
  void step() {
    if (++report_->inside != 1) ++report_->collisions;
    ++steps_;  // No lock: ThreadSanitizer would tell.
    --report_->inside;
  }
  const std::shared_ptr<Report> report_;
  const std::shared_ptr<WorkerPool> elsewhere_;
  int steps_ = 0;
};

TEST(ReentrantHandlers, AreNeverInsideTheActorTwiceAtOnce) {
  const auto pool = std::make_shared<WorkerPool>(PoolOptions{.workers = 2, .capacity = 1000});
  ActorSystem system{{.workers = 4}};
  const auto report = std::make_shared<Careful::Report>();
  const auto careful = system.spawn<Careful>({}, report, pool);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(careful.send(Work{}));
  careful.stop_when_drained();
  await_end(system, careful);
  EXPECT_EQ(report->collisions, 0);
}

struct Text {
  using Reply = std::string;
  std::string text;
  std::shared_ptr<Gate> gate;
};
class Reader : public Actor<Reader, Text> {
 public:
  Lazy<std::string> on(const Text& text) {
    co_await text.gate->async_pass();
    const std::string inner = co_await twice(text);
    co_return inner;
  }

 private:
  static Lazy<std::string> twice(const Text& text) {
    co_await yield();
    co_return text.text + text.text;
  }
};

TEST_F(HandlerCoroutines, HaveTheirMessageByReferenceAsLongAsTheyRun) {
  const auto reader = system.spawn<Reader>();
  const std::string text = "a text that is too long to lie in the string itself";
  std::expected<std::string, AskError> answer;
  std::jthread asker([&] { answer = reader.ask(Text{text, gate}, long_enough); });
  gate->await_somebody();
  gate->open();
  asker.join();
  EXPECT_EQ(answer, text + text);
}

}  // namespace
}  // namespace handoff::tests
