// The code of docs/guide/{tasks,retries,full-queues,schedules,deploying}.md, and of the pages that show it again.
// tests/docs/snippets keeps them equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/thread.hpp"
#include "tasks/stores.hpp"

namespace {

namespace tasks = handoff::tasks;
using namespace std::chrono_literals;
using handoff::tests::Folder;

struct FakeMails {
  std::atomic<int> sent = 0;
  void send(const std::string&, const std::string&) { ++sent; }
};

// -- tasks.md -------------------------------------------------------------------------------------

struct WelcomeEmail {
  std::string to;
  std::string name;
};
BOOST_DESCRIBE_STRUCT(WelcomeEmail, (), (to, name))

void tell(const std::string& message) { FAIL() << message; }

class TasksGuide : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string where = "sqlite:" + folder.file("shop.db");
  FakeMails smtp;
};

TEST_F(TasksGuide, TheFirstTask) {
  auto store = tasks::open(where);  // "sqlite:shop.db"; made if it is not there
  if (!store) return tell(store.error().message);

  auto mail = store->enqueue(WelcomeEmail{"new@example.org", "Ann"}, {.queue = "email"});
  if (!mail) return tell(mail.error().message);  // queue "email" holds 100000 of 100000 tasks

  tasks::Worker worker{*store, {.queues = {{"email", 20}}}};  // 20 at a time
  worker.handle<WelcomeEmail>([&](const WelcomeEmail& welcome, tasks::Context&) {
    smtp.send(welcome.to, "Welcome, " + welcome.name);
  });

  std::stop_source stop;
  handoff::Thread thread([&] { worker.run(stop.get_token()); });

  auto task = store->wait(mail->id, 30s);  // Until it is done, dead or cancelled.
  EXPECT_EQ(task->state, tasks::TaskState::done);

  stop.request_stop();  // Finishes what runs, and gives back what is not finished in time.
  thread.join();
  EXPECT_EQ(smtp.sent, 1);
}

// README.md has these lines.
TEST_F(TasksGuide, TheReadme) {
  auto store = tasks::open(where);

  auto mail = store->enqueue(WelcomeEmail{"new@example.org", "Ann"}, {.queue = "email"});
  if (!mail) return tell(mail.error().message);  // queue "email" holds 100000 of 100000 tasks

  tasks::Worker worker{*store, {.queues = {{"email", 20}}}};  // 20 at a time
  worker.handle<WelcomeEmail>([&](const WelcomeEmail& welcome, tasks::Context&) {
    smtp.send(welcome.to, "Welcome, " + welcome.name);
  });

  worker.run_until_idle();
  EXPECT_EQ(smtp.sent, 1);
}

TEST_F(TasksGuide, OneStepWithYourOwnData) {
  auto store = tasks::open(where).value();
  const std::string file = folder.file("shop.db");
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
  sqlite3_busy_timeout(connection, 5'000);
  const auto run = [&](const char* sql) {
    ASSERT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  };
  run("create table user(name text)");

  run("begin immediate");
  run("insert into user(name) values('Ann')");
  auto mail = store.enqueue_in(connection, WelcomeEmail{"a@b.c", "Ann"}, {.queue = "email"});
  run("commit");  // Both are there, or neither.
  sqlite3_close(connection);
  EXPECT_EQ(store.get(mail->id)->state, tasks::TaskState::ready);
}

struct Report {
  int month = 0;
};
BOOST_DESCRIBE_STRUCT(Report, (), (month))
struct ReportFile {
  std::string path;
};
BOOST_DESCRIBE_STRUCT(ReportFile, (), (path))

TEST_F(TasksGuide, ResultsAndProgress) {
  auto store = tasks::open(where).value();
  tasks::Worker worker{store, {.queues = {{"reports", 1}}}};

  worker.handle<Report>([](const Report& report, tasks::Context& context) -> tasks::Finish {
    for (int day = 1; day <= 30; ++day) {
      if (context.stop().stop_requested()) throw std::runtime_error("interrupted");
      context.progress(day / 30.0, "day " + std::to_string(day));
    }
    return ReportFile{"2026-" + std::to_string(report.month) + ".pdf"};  // Kept with the task.
  });

  auto report = store.enqueue(Report{11}, {.queue = "reports", .timeout = 5min});
  worker.run_until_idle();
  auto file = tasks::from_json<ReportFile>(*store.get(report->id)->result);
  EXPECT_EQ(file->path, "2026-11.pdf");
}

TEST_F(TasksGuide, WhyIsItNotRunning) {
  auto store = tasks::open(where).value();
  auto mail = store.enqueue(WelcomeEmail{"new@example.org", "Ann"}, {.queue = "email"});

  auto why = store.explain(mail->id);
  // no_worker: no worker takes tasks of queue "email"
  EXPECT_EQ(why->code, tasks::Explanation::Code::no_worker);
  EXPECT_EQ(why->message, "no worker takes tasks of queue \"email\"");
}

// -- retries.md -----------------------------------------------------------------------------------

struct Resize {
  std::string photo;
};
BOOST_DESCRIBE_STRUCT(Resize, (), (photo))

struct Api {
  int status = 200;
  int upload(const std::string&) const { return status; }
};

TEST_F(TasksGuide, WaysToFail) {
  auto store = tasks::open(where).value();
  tasks::Worker worker{store, {.queues = {{"image", 4}}}};
  Api api;

  worker.handle<Resize>([&](const Resize& job, tasks::Context&) -> tasks::Finish {
    if (job.photo.empty()) return tasks::Fail{"a photo without a name"};  // Dead now.
    int status = api.upload(job.photo);
    if (status == 429) return tasks::Defer{10s};  // Later; costs no attempt.
    if (status == 410) return tasks::Cancel{"the album is gone"};
    if (status != 200) throw std::runtime_error("upload: " + std::to_string(status));  // Retried.
    return {};
  });

  api.status = 503;
  auto photo = store.enqueue(Resize{"a.jpg"}, {.queue = "image", .max_attempts = 1});
  auto nameless = store.enqueue(Resize{""}, {.queue = "image"});
  worker.run_until_idle();
  EXPECT_EQ(store.get(photo->id)->reason, "upload: 503");
  EXPECT_EQ(store.get(nameless->id)->state, tasks::TaskState::dead);
  api.status = 429;
  auto deferred = store.enqueue(Resize{"b.jpg"}, {.queue = "image"});
  worker.run_until_idle();
  EXPECT_EQ(store.get(deferred->id)->state, tasks::TaskState::scheduled);
  EXPECT_EQ(store.get(deferred->id)->attempt, 0);

  for (const tasks::DeadGroup& each : store.dead("image")) {
    // image Resize "upload: 503": 1
    EXPECT_EQ(each.count, 1);
  }
  api.status = 200;
  auto again = store.retry_all({.queue = "image", .kind = "Resize"});  // What is dead, once more.
  EXPECT_EQ(again, 2);
}

TEST_F(TasksGuide, AQueuesOwnCurve) {
  auto store = tasks::open(where).value();

  tasks::QueueSettings settings;
  settings.max_attempts = 8;
  settings.retry = {tasks::ExponentialBackoff{.base = 1s, .factor = 2, .max = 1h}};
  store.configure("webhooks", settings);

  EXPECT_EQ(store.queue("webhooks").settings.max_attempts, 8);
}

// -- full-queues.md -------------------------------------------------------------------------------

TEST_F(TasksGuide, AFullQueue) {
  auto store = tasks::open(where).value();

  tasks::QueueSettings settings;
  settings.capacity = 10'000;          // Tasks that are not finished,
  settings.capacity_bytes = 64 << 20;  // and the bytes of their payloads.
  settings.when_full = handoff::WhenFull::block;
  settings.block_for = 100ms;  // Waits so long for room; then it is refused.
  store.configure("clicks", settings);

  settings.capacity = 1;
  settings.block_for = 1ms;
  store.configure("clicks", settings);
  ASSERT_TRUE(store.enqueue({.queue = "clicks", .kind = "Click"}));

  auto click = store.enqueue({.queue = "clicks", .kind = "Click"});
  if (!click && click.error().code == tasks::TaskError::Code::full) {
    // Say so to who asked: 503, try again later. "queue "clicks" holds 1 of 1 tasks"
  }
  EXPECT_EQ(click.error().message, "queue \"clicks\" holds 1 of 1 tasks");
}

TEST_F(TasksGuide, Limits) {
  auto store = tasks::open(where).value();

  tasks::QueueSettings settings;
  settings.rate = 50;              // Starts a second, by all workers together,
  settings.burst = 10;             // and so many at once after a pause.
  settings.concurrency = 20;       // At a time, by all workers together.
  settings.group_concurrency = 1;  // At a time of each group.
  store.configure("payments", settings);

  store.enqueue({.queue = "payments", .kind = "Charge", .group = "customer-7"});

  EXPECT_EQ(store.queue("payments").settings.rate, 50);
}

// -- schedules.md ---------------------------------------------------------------------------------

TEST_F(TasksGuide, Schedules) {
  auto store = tasks::open(where).value();
  int shown = 0;
  const auto show = [&](const std::string& name, const std::optional<tasks::Time>& next) {
    shown += name == "nightly-report" && next ? 1 : 0;
  };

  store.enqueue({.queue = "email", .kind = "Reminder", .delay = 24h});

  auto nightly = store.schedule({.name = "nightly-report",
                                 .cron = "0 3 * * *",
                                 .timezone = "Europe/Berlin",
                                 .task = {.queue = "reports", .kind = "Nightly"},
                                 .missed = tasks::Missed::once});
  if (!nightly) return tell(nightly.error().message);

  for (const tasks::ScheduleLook& each : store.schedules()) {
    show(each.schedule.name, each.next_at);  // nightly-report, next 2026-11-18T02:00:00.000Z
  }
  EXPECT_EQ(shown, 1);
}

// -- deploying.md ---------------------------------------------------------------------------------

TEST_F(TasksGuide, Deploying) {
  auto store = tasks::open(where).value();
  store.enqueue(WelcomeEmail{"new@example.org", "Ann"}, {.queue = "email"});
  tasks::Worker worker{store, {.queues = {{"email", 20}}}};
  std::atomic<bool> has_begun = false;
  worker.handle<WelcomeEmail>([&](const WelcomeEmail&, tasks::Context& context) {
    has_begun = true;
    handoff::testing::eventually([&] { return context.stop().stop_requested(); });
    throw std::runtime_error("interrupted");
  });
  std::stop_source stop;
  tasks::WorkerReport report;
  handoff::Thread thread([&] {
    report = worker.run(stop.get_token(), 30s);
    // report.done, report.failed, report.given_back: what it was at when it stopped
  });
  handoff::testing::eventually([&] { return has_begun.load(); });
  stop.request_stop();
  thread.join();
  EXPECT_EQ(report.given_back, 1u);
  EXPECT_EQ(store.queue("email").count(tasks::TaskState::ready), 1);
}

}  // namespace
