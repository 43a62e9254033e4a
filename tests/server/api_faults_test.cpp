// Bad days of the API: too many who wait, too much to answer, a store that fails, a server that ends.
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "server/api_fixture.hpp"
#include "server/exposition.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::eventually;

// Keeps the store busy with one transaction until it is opened.
class Gate {
 public:
  explicit Gate(const tasks::Tasks& tasks) {
    tasks::TasksAccess::core(tasks).batcher().run_later(
        [this](tasks::Transaction&) {
          is_at_it_.set();
          static_cast<void>(is_open_.wait());
        },
        [this](const std::exception_ptr&) { has_ended_.set(); });
    static_cast<void>(is_at_it_.wait());
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { open(); }
  void open() {
    is_open_.set();
    static_cast<void>(has_ended_.wait());
  }

 private:
  Event is_at_it_;
  Event is_open_;
  Event has_ended_;
};

class ApiFaults : public ApiTest {
 protected:
  tasks::TasksCore& core() const { return tasks::TasksAccess::core(tasks); }
  std::uint64_t calls() const { return core().batcher().totals().calls; }
};

// -- Cancelled, and run again ---------------------------------------------------------------------

TEST_F(ApiFaults, ACancelledTaskIsNotRunAgainWhileItsWorkerMayBeAtIt) {
  const std::string id = add();
  const Reply first = claim("q", R"(,"lease_for":"1h")");
  ASSERT_EQ(post("/v1/tasks/" + id + "/cancel", "").status, 200);
  const Reply refused = post("/v1/tasks/" + id + "/retry", "");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.at("error.code"), "conflict");
  EXPECT_EQ(say(first, "extend").at("error.code"), "cancelled");
  EXPECT_EQ(post("/v1/tasks/" + id + "/retry", "").status, 409) << "it was told, but may go on";
  EXPECT_EQ(
      post("/v1/tasks/bulk", R"({"filter":{"state":"cancelled"},"action":"retry"})").at("count"),
      "0");

  EXPECT_EQ(say(first, "release").at("error.code"), "cancelled") << "so it has stopped";
  EXPECT_EQ(post("/v1/tasks/" + id + "/retry", "").at("state"), "ready");
  const Reply second = claim();
  EXPECT_EQ(second.at("tasks.0.id"), id);
  EXPECT_EQ(say(first, "done").at("error.code"), "stale_lease");
  EXPECT_EQ(say(second, "done").status, 200);
}

// -- Rates ----------------------------------------------------------------------------------------

// If each of them watched the clock, each would look for each permit: 820 times.
TEST_F(ApiFaults, OnePermitOfARateDoesNotWakeAllWhoWait) {
  constexpr int waiting = 40;
  ASSERT_EQ(put("/v1/queues/q", R"({"rate":"50/s","burst":1})").status, 200);
  std::vector<std::unique_ptr<raw::Client>> all;
  const auto before = calls();
  for (int i = 0; i < waiting; ++i) {
    all.push_back(std::make_unique<raw::Client>(port()));
    all.back()->send(raw::request(
        "POST", "/v1/claim", fmt::format(R"({{"queues":["q"],"wait":"60s","worker":"w{}"}})", i)));
  }
  eventually([&] { return calls() >= before + 2 * waiting; });
  const auto began = calls();
  ASSERT_TRUE(tasks.enqueue(
      std::vector<tasks::NewTask>(waiting, tasks::NewTask{.queue = "q", .kind = "k"})));
  eventually(
      [&] { return std::ranges::all_of(all, [](const auto& each) { return each->has_input(); }); });
  // Each is rung once for the tasks. For each permit one wakes, and one watches after it.
  EXPECT_LE(calls() - began, 1 + 6 * waiting);
}

// Permits come so fast that who is rung to watch often gets one instead.
TEST_F(ApiFaults, WhoIsRungToWatchAndGetsAPermitRingsTheNext) {
  ASSERT_EQ(put("/v1/queues/q", R"({"rate":"1000/s","burst":1})").status, 200);
  for (int round = 0; round < 5; ++round) {
    constexpr int waiting = 40;
    const auto before = calls();
    std::vector<std::unique_ptr<raw::Client>> all;
    for (int i = 0; i < waiting; ++i) {
      all.push_back(std::make_unique<raw::Client>(port()));
      all.back()->send(
          raw::request("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s","worker":"w"})"));
    }
    eventually([&] { return calls() >= before + 2 * waiting; });
    ASSERT_TRUE(tasks.enqueue(
        std::vector<tasks::NewTask>(waiting, tasks::NewTask{.queue = "q", .kind = "k"})));
    eventually([&] {
      return std::ranges::all_of(all, [](const auto& each) { return each->has_input(); });
    });
  }
}

// Who watches may go; then somebody else has to.
TEST_F(ApiFaults, APermitIsSeenAlsoIfWhoeverWatchedIsGone) {
  ASSERT_EQ(put("/v1/queues/q", R"({"rate":"2/s","burst":1})").status, 200);
  add();
  ASSERT_EQ(claim().status, 200);  // The permit.
  const std::string id = add();
  const auto wait = [&](raw::Client& client, std::string_view time) {
    const auto before = calls();
    client.send(
        raw::request("POST", "/v1/claim", fmt::format(R"({{"queues":["q"],"wait":"{}"}})", time)));
    // Or it has got an answer already: a slow machine, again.
    eventually([&] { return calls() >= before + 2 || client.has_input(); });
  };
  raw::Client first(port());
  raw::Client second(port());
  wait(first, "100ms");
  wait(second, "60s");
  if (first.read_answer().status == 200) return;  // A slow machine: the next permit was first.
  EXPECT_EQ(reply_of(second.read_answer()).at("tasks.0.id"), id);
}

// -- Large answers --------------------------------------------------------------------------------

TEST_F(ApiFaults, AClaimLeavesOutInputsThatWouldMakeItsAnswerTooLarge) {
  std::string steps;
  for (int i = 0; i < 12; ++i) {
    steps += fmt::format(R"({{"name":"s{}","task":{{"queue":"first","kind":"k"}}}},)", i);
  }
  const Reply started = post(
      "/v1/workflows",
      fmt::format(
          R"({{"steps":[{}{{"name":"last","after":[{}],"task":{{"queue":"last","kind":"k"}}}}]}})",
          steps, R"("s0","s1","s2","s3","s4","s5","s6","s7","s8","s9","s10","s11")"));
  ASSERT_EQ(started.status, 202) << started.answer.body;
  const std::string large = '"' + std::string(1'000'000, 'x') + '"';
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(say(claim("first"), "done", R"(,"result":)" + large).status, 200);
  }
  const Reply last = claim("last");
  ASSERT_EQ(last.status, 200);
  EXPECT_LT(last.answer.body.size(), 9u << 20);
  EXPECT_EQ(last.at("tasks.0.inputs.s11").size(), 1'000'000u) << "the nearest are there";
  EXPECT_EQ(last.at("tasks.0.inputs.s0"), "(none)");
  EXPECT_EQ(last.at("tasks.0.inputs_left_out"), R"(["s0","s1","s2","s3"])");
  const Reply look = get("/v1/workflows/" + started.at("id"));
  EXPECT_LT(look.answer.body.size(), 9u << 20);
  EXPECT_EQ(look.at("steps.0.result").size(), 1'000'000u);
  EXPECT_EQ(look.at("steps.11.result_left_out"), "true");
}

TEST_F(ApiFaults, AClaimTakesNoMoreThanItCanAnswer) {
  const std::string large = R"(,"payload":")" + std::string(1'000'000, 'x') + '"';
  for (int i = 0; i < 12; ++i) add();
  for (int i = 0; i < 12; ++i) add("q", large);
  const Reply some = claim("q", R"(,"max":100)");
  EXPECT_EQ(some.size("tasks"), 12u + 8u);
  EXPECT_LT(some.answer.body.size(), 9u << 20);
  EXPECT_EQ(get("/v1/queues/q").at("counts.running"), "20");
  EXPECT_EQ(claim("q", R"(,"max":100)").size("tasks"), 4u);
}

// -- Who works ------------------------------------------------------------------------------------

struct HasClock {
  testing::ManualClock clock;
};

// Who is remembered for how long goes by this clock; leases do not.
class ApiWorkers : public HasClock, public ApiTest {
 protected:
  bool seen_after_it_came() {
    const Reply workers = get("/v1/workers");
    return workers.at("workers.0.seen_at") >= workers.at("workers.0.started_at");
  }
};

TEST_F(ApiWorkers, ThatHaveATaskInHandStayListed) {
  const std::string id = add();
  const Reply claimed =
      post("/v1/claim", R"({"queues":["q","r"],"worker":"busy","lease_for":"1h"})");
  ASSERT_EQ(claimed.status, 200);
  for (int i = 0; i < 4; ++i) {
    clock.advance(3min);
    api.look_after_workers();
    const Reply workers = get("/v1/workers");
    EXPECT_EQ(workers.at("workers.0.name"), "busy");
    EXPECT_EQ(workers.at("workers.0.queues.1.name"), "r") << "it was forgotten, and found again";
  }
  const std::string next = add();
  EXPECT_NE(get("/v1/tasks/" + next + "/explain").at("code"), "no_worker");

  EXPECT_EQ(say(claimed, "done").status, 200);
  clock.advance(3min);
  api.look_after_workers();
  EXPECT_EQ(get("/v1/workers").size("workers"), 0u);
  EXPECT_EQ(get("/v1/tasks/" + next + "/explain").at("code"), "no_worker");
}

TEST_F(ApiWorkers, SayWhenTheyWereLastHeardOf) {
  claim("q", R"(,"worker":"w")");
  EXPECT_TRUE(seen_after_it_came());
  clock.advance(1min);  // Of which the time on the wall, by which it came, knows nothing.
  EXPECT_FALSE(seen_after_it_came());
  claim("q", R"(,"worker":"w")");
  EXPECT_TRUE(seen_after_it_came());
}

// To hold a lease is no sign of life: it may have been killed a minute ago.
TEST_F(ApiWorkers, AreHeardOfWhenTheySaySomethingAboutATaskInHand) {
  add();
  const Reply claimed = post("/v1/claim", R"({"queues":["q"],"worker":"w","lease_for":"1h"})");
  const auto silence = [&] {
    clock.advance(1min);
    api.look_after_workers();
    return !seen_after_it_came();
  };
  EXPECT_TRUE(silence());
  EXPECT_EQ(say(claimed, "extend").status, 200);
  EXPECT_TRUE(seen_after_it_came());
  EXPECT_TRUE(silence());
  EXPECT_EQ(say(claimed, "log", R"(,"line":"still here")").status, 200);
  EXPECT_TRUE(seen_after_it_came());
  EXPECT_TRUE(silence());
  EXPECT_EQ(post("/v1/outcomes", fmt::format(R"([{{"id":"{}","lease":"{}","extend":{{}}}}])",
                                             claimed.at("tasks.0.id"), claimed.at("tasks.0.lease")))
                .at("results.0.ok"),
            "true");
  EXPECT_TRUE(seen_after_it_came());
}

// -- The end --------------------------------------------------------------------------------------

TEST_F(ApiFaults, WhatTakesManyCommitsEndsBetweenTwoOfThemWhenTheServerDoes) {
  constexpr int count = 5000;
  std::vector<tasks::NewTask> many(count, tasks::NewTask{.queue = "q", .kind = "k"});
  ASSERT_TRUE(tasks.enqueue(many));
  std::atomic<int> commits = 0;
  // In the place of the server's own: it asks for the end after the second commit.
  core().observe([&](const tasks::Changes& changes) {
    if (!changes.states.empty() && ++commits == 2) api.begin_to_shut_down();
  });
  const Reply stopped =
      post("/v1/tasks/bulk", R"({"filter":{"queue":"q","state":"ready"},"action":"cancel"})");
  EXPECT_EQ(stopped.status, 200);
  EXPECT_EQ(stopped.at("complete"), "false");
  const int changed = std::stoi(stopped.at("count"));
  EXPECT_GT(changed, 0);
  EXPECT_LT(changed, count);
  EXPECT_EQ(tasks.queue("q").count(tasks::TaskState::cancelled), changed);
  const Reply purged = post("/v1/queues/q/purge", R"({"state":"ready"})");
  EXPECT_EQ(purged.at("complete"), "false");
  EXPECT_GT(tasks.queue("q").count(tasks::TaskState::ready), 0);
}

TEST(ApiUnderLoad, WhatGoesThroughManyTasksHoldsUpNobodyElse) {
  const tasks::Tasks tasks = tasks::open("memory:").value();
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  server::Api api{tasks, {.threads = 1, .long_threads = 1}, log};
  server::HttpServer http{{}, api};
  http.start();
  ASSERT_TRUE(tasks.enqueue({.queue = "q", .kind = "k"}));
  Event go;
  Event is_at_it;
  // In the place of the server's own: the change is held between its commit and its answer.
  tasks::TasksAccess::core(tasks).observe([&](const tasks::Changes& changes) {
    if (changes.states.empty()) return;
    is_at_it.set();
    static_cast<void>(go.wait());
  });
  raw::Client bulk(http.port());
  bulk.send(raw::request("POST", "/v1/tasks/bulk",
                         R"({"filter":{"queue":"q","state":"ready"},"action":"cancel"})"));
  ASSERT_TRUE(is_at_it.wait());
  EXPECT_EQ(raw::get(http.port(), "/readyz").status, 200);
  EXPECT_FALSE(bulk.has_input());
  go.set();
  EXPECT_EQ(bulk.read_answer().status, 200);
  http.stop(within(10s));
}

// -- A store that fails ---------------------------------------------------------------------------

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "handoff-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// What is wrong with it is for the log: where the file is, and what SQLite says, is nobody else's business.
TEST(ApiWithoutItsStore, SaysSoWithoutInternalsAndTellsTheLog) {
  const TemporaryFolder folder;
  const std::string file = folder.file("tasks.db");
  ::testing::internal::CaptureStderr();
  {
    const tasks::Tasks tasks = tasks::open("sqlite:" + file).value();
    server::Log log{{.format = server::LogFormat::json, .least = server::LogSeverity::error}};
    server::Api api{tasks, {}, log};
    server::HttpServer http{{}, api};
    http.start();
    {
      sqlite3* other = nullptr;
      ASSERT_EQ(sqlite3_open(file.c_str(), &other), SQLITE_OK);
      ASSERT_EQ(sqlite3_exec(other, "drop table handoff_log; drop table handoff_task", nullptr,
                             nullptr, nullptr),
                SQLITE_OK);
      sqlite3_close(other);
    }
    const std::vector<raw::Answer> answers{
        raw::post(http.port(), "/v1/tasks", R"({"queue":"q","kind":"k"})"),
        raw::get(http.port(), "/v1/tasks"), raw::get(http.port(), "/v1/dead"),
        raw::get(http.port(), "/v1/tasks/01a1e8d0-9b61-7000-9072-e55e3f0443e8")};
    for (const raw::Answer& each : answers) {
      EXPECT_GE(each.status, 500) << each.body;
      EXPECT_THAT(each.body, HasSubstr("the log of the server has more"));
      EXPECT_THAT(each.body, Not(HasSubstr("tasks.db")));
      EXPECT_THAT(each.body, Not(HasSubstr("handoff_task")));
    }
    http.stop(within(10s));
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("a request failed"));
  EXPECT_THAT(said, HasSubstr("\"path\":\"/v1/tasks\""));
  EXPECT_THAT(said, HasSubstr("handoff_task"));
}

// -- Too many who wait for the store --------------------------------------------------------------

TEST(ApiUnderLoad, NoMoreRequestsWaitForTheStoreThanMay) {
  constexpr std::size_t most = 5;
  constexpr std::size_t clients = 25;
  const TemporaryFolder folder;  // A file can be looked at beside a transaction; memory cannot.
  const tasks::Tasks tasks = tasks::open("sqlite:" + folder.file("tasks.db")).value();
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  server::Api api{tasks, {.waiting_limit = most}, log};
  server::HttpServer http{{}, api};
  http.start();
  Gate gate(tasks);
  std::vector<std::unique_ptr<raw::Client>> all;
  for (std::size_t i = 0; i < clients; ++i) {
    all.push_back(std::make_unique<raw::Client>(http.port()));
    all.back()->send(raw::request("POST", "/v1/tasks", R"({"queue":"q","kind":"k"})"));
  }
  const auto answered = [&] {
    return std::ranges::count_if(all, [](const auto& each) { return each->has_input(); });
  };
  eventually([&] { return answered() == clients - most; });
  const Exposition busy(raw::get(http.port(), "/metrics").body);
  EXPECT_EQ(busy.value("handoff_store_waiting"), most);
  EXPECT_EQ(busy.value("handoff_store_refused_total"), clients - most);
  gate.open();
  std::size_t accepted = 0;
  for (const auto& each : all) {
    const raw::Answer answer = each->read_answer();
    if (answer.status == 202) ++accepted;
    if (answer.status == 202) continue;
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("retry-after"), "1");
    EXPECT_THAT(answer.body, HasSubstr(R"("code":"unavailable")"));
  }
  EXPECT_EQ(accepted, most);
  EXPECT_EQ(raw::post(http.port(), "/v1/tasks", R"({"queue":"q","kind":"k"})").status, 202);
  http.stop(within(10s));
}

// Two who wait for room in a queue of one, while no more than two may wait for the store.
class ApiWithBlocked : public ::testing::Test {
 protected:
  ApiWithBlocked() {
    http.start();
    auto& batcher = tasks::TasksAccess::core(tasks).batcher();
    EXPECT_TRUE(tasks.configure(
        "narrow",
        {.capacity = 1, .when_full = WhenFull::block, .block_for = tasks::Millis(10min)}));
    EXPECT_TRUE(tasks.enqueue({.queue = "narrow", .kind = "k"}));
    const auto before = batcher.totals().calls;
    for (raw::Client& each : blocked) each.send(raw::request("POST", "/v1/tasks", task));
    // Once it was tried, and once more when they were ready to be told.
    eventually([&] { return batcher.totals().calls >= before + 4; });
  }
  ~ApiWithBlocked() override { http.stop(within(10s)); }

  static constexpr auto task = R"({"queue":"narrow","kind":"k"})";
  const tasks::Tasks tasks = tasks::open("memory:").value();
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  server::Api api{tasks, {.waiting_limit = 2}, log};
  server::HttpServer http{{}, api};
  std::array<raw::Client, 2> blocked = {raw::Client(http.port()), raw::Client(http.port())};
};

TEST_F(ApiWithBlocked, TheyDoNotKeepOutThoseWhoMakeRoom) {
  const auto post = [&](std::string_view target, std::string_view body) {
    return reply_of(raw::post(http.port(), target, body));
  };
  eventually([&] { return post("/v1/tasks", R"({"queue":"other","kind":"k"})").status == 202; });
  for (raw::Client& each : blocked) {
    const Reply claimed = post("/v1/claim", R"({"queues":["narrow"]})");
    ASSERT_EQ(claimed.status, 200) << claimed.answer.body;
    EXPECT_EQ(post(fmt::format("/v1/tasks/{}/done", claimed.at("tasks.0.id")),
                   fmt::format(R"({{"lease":"{}"}})", claimed.at("tasks.0.lease")))
                  .status,
              200);
    eventually([&] { return tasks.queue("narrow").count(tasks::TaskState::ready) == 1; });
    static_cast<void>(each);
  }
  for (raw::Client& each : blocked) EXPECT_EQ(each.read_answer().status, 202);
}

TEST_F(ApiWithBlocked, TheyAreToldThatThereWasNoRoomWhenTheServerEnds) {
  api.begin_to_shut_down();
  for (raw::Client& each : blocked) {
    const raw::Answer answer = each.read_answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_THAT(answer.body, HasSubstr(R"("code":"full")"));
    EXPECT_NE(answer.header("retry-after"), "");
  }
  EXPECT_EQ(tasks.queue("narrow").count(tasks::TaskState::ready), 1);
}

// Streams also want to look at the store. If they cannot, they go on without.
TEST(ApiUnderLoad, AnEventStreamIsNotCutBecauseTooManyLook) {
  testing::ManualClock clock;
  const tasks::Tasks tasks = tasks::open("memory:").value();
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  server::Api api{tasks, {.threads = 1, .looks_limit = 1}, log};
  server::HttpServer http{{}, api};
  http.start();
  ASSERT_EQ(raw::get(http.port(), "/v1/queues").status, 200);  // Who may come is known.
  Gate gate(tasks);
  std::vector<std::unique_ptr<raw::Client>> lookers;
  const auto answered = [&] {
    return std::ranges::count_if(lookers, [](const auto& each) { return each->has_input(); });
  };
  const auto look = [&] {
    lookers.push_back(std::make_unique<raw::Client>(http.port()));
    lookers.back()->send(raw::request("GET", "/v1/totals"));
  };
  look();
  eventually([&] {
    return std::ranges::any_of(waits(), [](const WaitInfo& each) {
      return each.thread.starts_with("looks at the store") && each.operation == "lock";
    });
  });
  // One looks. Another one may wait until it has, and all others are too many.
  eventually([&] {
    look();
    return answered() > 0;
  });
  raw::Client stream(http.port());
  stream.send(raw::request("GET", "/v1/events"));
  EXPECT_EQ(stream.read_head().status, 200);
  EXPECT_THAT(stream.read_chunk().value_or(""), HasSubstr("retry"));
  // For the next second, although it could not look in this one.
  eventually([&] {
    return std::ranges::any_of(waits(), [](const WaitInfo& each) {
      return each.operation == "wait" &&
             std::string_view(each.where.file_name()).ends_with("events.cpp");
    });
  });
  gate.open();
  eventually([&] {
    clock.advance(1s);
    return stream.has_input();
  });
  EXPECT_THAT(stream.read_chunk().value_or("(the end)"), HasSubstr("event: stats"));
  http.stop(within(10s));
}

// -- Metrics --------------------------------------------------------------------------------------

TEST_F(ApiFaults, MetricsAreWhatPrometheusReads) {
  for (int i = 0; i < 3; ++i) add();
  EXPECT_EQ(say(claim(), "done").status, 200);
  const Exposition metrics(get("/metrics").answer.body);
  EXPECT_THAT(metrics.problems, IsEmpty());
  for (const auto* each : {"handoff_wait_seconds", "handoff_run_seconds",
                           "handoff_store_commit_seconds", "handoff_store_commit_size"}) {
    EXPECT_EQ(metrics.type(each), "histogram") << each;
  }
  EXPECT_EQ(metrics.value("handoff_wait_seconds_count", R"({queue="q"})"), 1);
  EXPECT_EQ(metrics.value("handoff_run_seconds_count", R"({queue="q"})"), 1);
  EXPECT_GE(metrics.value("handoff_store_commit_size_count").value_or(0), 5);
  EXPECT_EQ(metrics.value("handoff_store_commit_size_sum"),
            metrics.value("handoff_store_calls_total"));
  EXPECT_GT(metrics.value("handoff_store_commit_seconds_sum").value_or(0), 0);
}

}  // namespace
}  // namespace handoff::tests
