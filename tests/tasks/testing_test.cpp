// The test kit of tasks, as users have it: the first test is the example of handoff/tasks/testing.hpp.
#include "handoff/tasks/testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "handoff/event.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/core.hpp"

namespace handoff::tests {

struct WelcomeEmail {
  std::string to;
};
BOOST_DESCRIBE_STRUCT(WelcomeEmail, (), (to))

namespace {

using namespace std::chrono_literals;
using handoff::testing::ManualTaskClock;
using tasks::Context;
using tasks::Finish;
using tasks::Json;
using tasks::NewTask;
using tasks::TaskState;
using ::testing::ElementsAre;

// -- The program under test -----------------------------------------------------------------------

void sign_up(const tasks::Tasks& tasks, const std::string& address) {
  ASSERT_TRUE(tasks.enqueue(WelcomeEmail{address}, {.queue = "email"}));
}

struct Smtp {
  bool is_down = false;
  std::vector<std::string> sent{};
  void send(const std::string& to) {
    if (is_down) throw std::runtime_error("no connection");
    sent.push_back(to);
  }
};

void add_handlers(tasks::Worker& worker, Smtp& smtp) {
  worker.handle<WelcomeEmail>([&](const WelcomeEmail& mail, Context&) { smtp.send(mail.to); });
}

// -- Its test -------------------------------------------------------------------------------------

TEST(SignUp, SendsOneWelcomeMailHoweverOftenTheServerIsDown) {
  Smtp smtp;
  handoff::testing::ManualTaskClock clock;
  const auto tasks = handoff::testing::open_tasks(clock);
  sign_up(tasks, "new@example.org");

  const auto mails = handoff::testing::enqueued<WelcomeEmail>(tasks, {.queue = "email"});
  ASSERT_EQ(mails.size(), 1u);
  EXPECT_EQ(mails[0].to, "new@example.org");

  handoff::tasks::Worker worker{tasks, handoff::testing::inline_worker({"email"})};
  add_handlers(worker, smtp);
  smtp.is_down = true;
  EXPECT_EQ(worker.run_until_idle().failed, 1u);
  smtp.is_down = false;
  EXPECT_EQ(worker.run_until_idle().done, 0u);
  clock.advance(1min);
  EXPECT_EQ(worker.run_until_idle().done, 1u);
  EXPECT_THAT(smtp.sent, ElementsAre("new@example.org"));
}

// -- The kit --------------------------------------------------------------------------------------

class TestKit : public ::testing::Test {
 protected:
  tasks::TaskId enqueue(NewTask task) { return tasks.enqueue(task).value().id; }
  static NewTask plain(std::string payload = "null") {
    return {.queue = "q", .kind = "k", .payload = std::move(payload)};
  }
  TaskState state(const tasks::TaskId& id) { return tasks.get(id)->state; }

  ManualTaskClock clock;
  const tasks::Tasks tasks = handoff::testing::open_tasks(clock);
};

TEST_F(TestKit, MovesTimeAndAllThatIsDueWithIt) {
  NewTask later = plain();
  later.delay = 24h;
  const auto id = enqueue(later);
  NewTask brief = plain();
  brief.delay = 48h;
  brief.expires_in = 1h;
  const auto expires = enqueue(brief);
  clock.advance(24h - 1ms);
  EXPECT_EQ(state(id), TaskState::scheduled);
  EXPECT_EQ(state(expires), TaskState::cancelled);
  clock.advance(1ms);
  EXPECT_EQ(state(id), TaskState::ready);
  EXPECT_THROW(clock.advance(-1ms), std::invalid_argument);
}

TEST_F(TestKit, SetsTheTimeOfDayAlone) {
  NewTask later = plain();
  later.delay = 24h;
  const auto id = enqueue(later);
  const auto before = clock.since_boot();
  clock.set(clock.now() + 25h);
  EXPECT_EQ(state(id), TaskState::ready);
  EXPECT_EQ(clock.since_boot(), before);
}

TEST_F(TestKit, FindsWhatWasEnqueuedInItsOrder) {
  for (int i = 0; i < 1500; ++i) {
    ASSERT_TRUE(tasks.enqueue(WelcomeEmail{std::to_string(i)}, {.queue = i % 2 == 0 ? "a" : "b"}));
  }
  const auto all = handoff::testing::enqueued<WelcomeEmail>(tasks);
  ASSERT_EQ(all.size(), 1500u);
  EXPECT_EQ(all.front().to, "0");
  EXPECT_EQ(all.back().to, "1499");
  const auto some = handoff::testing::enqueued<WelcomeEmail>(tasks, {.queue = "b"});
  ASSERT_EQ(some.size(), 750u);
  EXPECT_EQ(some.front().to, "1");
  enqueue({.queue = "b", .kind = "WelcomeEmail", .payload = "[]"});
  EXPECT_THROW(handoff::testing::enqueued<WelcomeEmail>(tasks), std::runtime_error);
}

TEST_F(TestKit, RunsHandlersOnTheCallingThreadInOrder) {
  std::vector<std::string> seen;
  for (const char* const each : {"1", "2", "3", "4"}) enqueue(plain(each));
  const auto report = handoff::testing::run_inline(tasks, {"q"}, [&](tasks::Worker& worker) {
    worker.handle("k", [&, here = std::this_thread::get_id()](const Json& json, Context&) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      seen.push_back(json.text());
    });
  });
  EXPECT_EQ(report.done, 4u);
  EXPECT_THAT(seen, ElementsAre("1", "2", "3", "4"));
}

TEST_F(TestKit, RunsWhatHandlersEnqueueToo) {
  int runs = 0;
  enqueue(plain());
  handoff::testing::run_inline(tasks, {"q"}, [&](tasks::Worker& worker) {
    worker.handle("k", [&](const Json&, Context&) {
      if (++runs < 5) enqueue(plain());
    });
  });
  EXPECT_EQ(runs, 5);
}

TEST_F(TestKit, RunsCoroutinesInlineToo) {
  enqueue(plain("7"));
  const auto report = handoff::testing::run_inline(tasks, {"q"}, [&](tasks::Worker& worker) {
    worker.handle("k", [](Json json, Context&) -> Lazy<Json> {
      co_await handoff::yield();
      co_return json;
    });
  });
  EXPECT_EQ(report.done, 1u);
}

TEST_F(TestKit, TriesAgainAtOnceWhatIsDueAtOnce) {
  int runs = 0;
  enqueue(plain());
  handoff::testing::run_inline(tasks, {"q"}, [&](tasks::Worker& worker) {
    worker.handle("k", [&](const Json&, Context&) -> Finish {
      if (++runs < 3) return tasks::Retry{0ms};
      return {};
    });
  });
  EXPECT_EQ(runs, 3);
}

// -- A worker on threads of its own, by that clock ------------------------------------------------

class ByThatClock : public TestKit {
 protected:
  // Waits until it is asked to stop.
  void handle_for_long() {
    worker.handle("k", [this](const Json&, Context& context) {
      began.set();
      Event never;
      static_cast<void>(never.wait({.deadline = {}, .stop = context.stop()}));
      throw std::runtime_error("stopped");
    });
  }

  std::uint64_t commits() { return tasks::TasksAccess::core(tasks).batcher().totals().commits; }

  Event began;
  tasks::Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 30s}};
};

TEST_F(ByThatClock, AHandlerTakesTooLongOnceTheTestSaysSo) {
  handle_for_long();
  NewTask task = plain();
  task.timeout = 20s;
  task.max_attempts = 1;
  const auto id = enqueue(task);
  std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
  ASSERT_TRUE(began.wait());
  clock.advance(19s);
  clock.advance(1s);
  EXPECT_EQ(tasks.wait(id, 60s)->reason, "it took longer than 20s: stopped");
}

TEST_F(ByThatClock, ALeaseIsExtendedAsTimePasses) {
  handle_for_long();
  const auto id = enqueue(plain());
  std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
  ASSERT_TRUE(began.wait());
  // Five minutes in steps. Each is over when the worker has extended, which it does every ten seconds.
  for (int i = 0; i < 30; ++i) {
    const auto before = commits();
    clock.advance(10s);
    handoff::testing::eventually([&] { return commits() > before; });
  }
  EXPECT_EQ(state(id), TaskState::running);
  EXPECT_EQ(tasks.get(id)->crashes, 0);
}

}  // namespace
}  // namespace handoff::tests
