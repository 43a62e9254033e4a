// What the dashboard asks for: the server, totals, the last minutes, pages of queues, streams of one task.
#include "server/api/stats_board.hpp"
#include "server/api_fixture.hpp"
#include "server/events/track.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::eventually;

class ApiDashboard : public ApiTest {
 protected:
  std::vector<std::string> names(std::string_view target) {
    const Reply page = get(target);
    EXPECT_EQ(page.status, 200) << page.answer.body;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < page.size("queues"); ++i) {
      all.push_back(page.at(fmt::format("queues.{}.name", i)));
    }
    return all;
  }
  // The sum of a column of a history.
  static int sum(const Reply& reply, const std::string& column) {
    const std::string text = reply.at(column);
    int all = 0;
    for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != text.npos;) {
      std::size_t length = 0;
      all += std::stoi(text.substr(at), &length);
      at += length;
    }
    return all;
  }
  // The last one of a column.
  static int last(const Reply& reply, const std::string& column) {
    const std::string text = reply.at(column);
    return std::stoi(text.substr(text.find_last_of("[,") + 1));
  }
  void die(std::string_view queue, std::string_view error) {
    add(queue);
    EXPECT_EQ(say(claim(queue), "fail", fmt::format(R"(,"error":"{}","dead":true)", error)).status,
              200);
  }
};

TEST_F(ApiDashboard, TellsWhatTheServerIsAndWhoAsks) {
  const Reply open = get("/v1/server");
  EXPECT_EQ(open.at("role"), "admin");
  EXPECT_EQ(open.at("auth"), "false");
  EXPECT_EQ(open.at("demo"), "false");
  EXPECT_EQ(open.at("store"), "memory");
  EXPECT_NE(open.at("version"), "");
  EXPECT_LE(open.at("started_at"), open.at("now"));
  auto& core = tasks::TasksAccess::core(tasks);
  const auto token = server::make_token(core, "shop", server::Role::produce, {}).value();
  eventually([&] { return get("/v1/server").status == 401; });
  const Reply shop = get("/v1/server", "Authorization: Bearer " + token + "\r\n");
  EXPECT_EQ(shop.at("role"), "produce");
  EXPECT_EQ(shop.at("auth"), "true");
}

TEST_F(ApiDashboard, AddsUpAllQueues) {
  ASSERT_EQ(put("/v1/queues/a", R"({"capacity":2})").status, 200);
  ASSERT_EQ(put("/v1/queues/b", R"({"capacity":5})").status, 200);
  add("a");
  add("a");
  EXPECT_EQ(post("/v1/tasks", R"({"queue":"a","kind":"k"})").status, 503);
  add("b");
  EXPECT_EQ(say(claim("b"), "done").status, 200);
  die("b", "no");
  eventually(
      [&] { return get("/v1/totals").at("counts.dead") == "1"; });  // Looked at once a second.
  const Reply totals = get("/v1/totals");
  EXPECT_EQ(totals.at("queues"), "2");
  EXPECT_EQ(totals.at("capacity"), "7");
  EXPECT_EQ(totals.at("unfinished"), "2");
  EXPECT_EQ(totals.at("counts.ready"), "2");
  EXPECT_EQ(totals.at("counts.done"), "1");
  for (const auto* each : {"rates.in", "rates.done", "rates.failed", "rates.rejected"}) {
    EXPECT_NE(totals.at(each), "0") << each;
  }
  for (const auto* each : {"oldest_ready_age", "wait_time.p99", "run_time.p50"}) {
    EXPECT_NE(totals.at(each), "(none)") << each;
  }
}

TEST_F(ApiDashboard, KnowsTheLastMinutes) {
  add("a");
  die("b", "no");
  // A second counts once it is over.
  Reply totals;
  eventually([&] {
    totals = get("/v1/totals");
    return sum(totals, "history.in") == 2 && sum(totals, "history.failed") == 1;
  });
  EXPECT_EQ(totals.at("history.step"), "1s");
  EXPECT_GE(totals.at("history.from"), get("/v1/server").at("started_at"));
  eventually([&] { return sum(get("/v1/queues/b/history"), "history.states.dead") > 0; });
  const Reply one = get("/v1/queues/b/history?span=1m");
  EXPECT_EQ(one.at("queue"), "b");
  EXPECT_EQ(sum(one, "history.in"), 1);
  EXPECT_EQ(last(one, "history.depth"), 0);
  EXPECT_NE(one.at("history.wait_ms_p99").find_first_of("123456789"), std::string::npos);
  EXPECT_EQ(get("/v1/totals?history=0s").at("history.in"), "[]");
  EXPECT_EQ(get("/v1/totals?history=16m").at("error.field"), "history");
  EXPECT_EQ(get("/v1/queues/unknown/history").at("history.in"), "[]");
}

TEST_F(ApiDashboard, PagesQueues) {
  for (const auto* each : {"a", "b", "c"}) add(each);
  add("b");
  const Reply first = get("/v1/queues?limit=2");
  EXPECT_EQ(first.size("queues"), 2u);
  EXPECT_EQ(first.at("next_cursor"), "b");
  EXPECT_THAT(names("/v1/queues?limit=2&cursor=b"), ElementsAre("c"));
  EXPECT_EQ(get("/v1/queues?limit=2&cursor=b").at("next_cursor"), "(none)");
  EXPECT_THAT(names("/v1/queues?order=depth"), ElementsAre("b", "a", "c"));
  EXPECT_THAT(names("/v1/queues?order=depth&limit=1&cursor=1"), ElementsAre("a"));
  EXPECT_EQ(say(claim("a"), "done").status, 200);
  EXPECT_EQ(names("/v1/queues?order=oldest").back(), "a");
  EXPECT_THAT(names("/v1/queues?search=c"), ElementsAre("c"));
  EXPECT_EQ(get("/v1/queues?order=size").at("error.field"), "order");
}

TEST_F(ApiDashboard, ListsTasksWithoutWhatIsInThem) {
  const std::string id = add("q", R"(,"payload":{"secret":1})");
  EXPECT_EQ(say(claim(), "done", R"(,"result":{"secret":2})").status, 200);
  const Reply light = get("/v1/tasks?payload=false");
  EXPECT_EQ(light.at("tasks.0.id"), id);
  EXPECT_THAT(light.answer.body, Not(HasSubstr("secret")));
  EXPECT_EQ(get("/v1/tasks").at("tasks.0.result.secret"), "2");
  add("q");
  EXPECT_EQ(get("/v1/tasks?id=" + id).size("tasks"), 1u);
  EXPECT_EQ(get("/v1/tasks?id=00000000-0000-7000-8000-000000000000").size("tasks"), 0u);
  EXPECT_EQ(get("/v1/tasks?id=17").at("error.field"), "id");
  EXPECT_EQ(get("/v1/tasks?payload=no").at("error.field"), "payload");
}

TEST_F(ApiDashboard, ReplaysOneKindOfDeath) {
  die("q", "no such mailbox");
  die("q", "no such mailbox");
  die("q", "out of paper");
  const Reply groups = get("/v1/dead");
  EXPECT_EQ(groups.at("dead.0.reason"), "no such mailbox");
  EXPECT_EQ(get("/v1/tasks?state=dead&error=out%20of%20paper").size("tasks"), 1u);
  const auto filter = R"({"filter":{"state":"dead","error":"no such mailbox"},"action":"retry")";
  EXPECT_EQ(post("/v1/tasks/bulk", fmt::format("{},\"dry_run\":true}}", filter)).at("count"), "2");
  EXPECT_EQ(post("/v1/tasks/bulk", fmt::format("{}}}", filter)).at("count"), "2");
  EXPECT_EQ(get("/v1/queues/q").at("counts.dead"), "1");
  EXPECT_EQ(get("/v1/dead").at("dead.0.reason"), "out of paper");
}

class ApiStreams : public ApiDashboard {
 protected:
  struct Reader : raw::Client {
    Reader(std::uint16_t port, std::string_view target) : raw::Client(port) {
      send(raw::request("GET", target));
      EXPECT_EQ(read_head().status, 200);
    }
  };
  static std::string read_until(raw::Client& client, std::string_view mark) {
    std::string text;
    while (text.find(mark) == text.npos) text += client.read_chunk().value_or("(end)");
    return text;
  }
};

TEST_F(ApiStreams, TellOfOneTask) {
  const std::string id = add();
  const std::string other = add();
  Reader reader(port(), "/v1/events?task=" + id);
  EXPECT_EQ(post("/v1/tasks/" + other + "/cancel", "").status, 200);
  EXPECT_EQ(post("/v1/tasks/" + id + "/cancel", "").status, 200);
  const std::string text = read_until(reader, id);
  EXPECT_THAT(text, Not(HasSubstr(other)));
  EXPECT_THAT(text, Not(HasSubstr("event: stats")));
}

TEST_F(ApiStreams, TellOfOneWorkflow) {
  const Reply started = post("/v1/workflows", R"({"name":"w","steps":[
    {"name":"a","task":{"queue":"q","kind":"k"}},
    {"name":"b","after":["a"],"task":{"queue":"q","kind":"k"}}]})");
  Reader reader(port(), "/v1/events?workflow=" + started.at("id"));
  const std::string other = add("other");
  EXPECT_EQ(say(claim(), "done").status, 200);
  const std::string text = read_until(reader, started.at("tasks.b"));
  EXPECT_THAT(text, HasSubstr(started.at("tasks.a")));
  EXPECT_THAT(text, Not(HasSubstr(other)));
  EXPECT_EQ(get("/v1/events?workflow=00000000-0000-7000-8000-000000000000").status, 404);
}

TEST_F(ApiStreams, HaveTotalsAndTheLastSeconds) {
  add();
  Reader reader(port(), "/v1/events");
  const std::string all = read_until(reader, "event: stats");
  EXPECT_THAT(all, HasSubstr(R"("totals":{"queues":1,)"));
  EXPECT_THAT(all, HasSubstr(R"("recent":{"from":)"));
  EXPECT_THAT(all, HasSubstr(R"("queues":[{"name":"q")"));
  Reader sums(port(), "/v1/events?stats=totals");
  EXPECT_THAT(read_until(sums, "event: stats"), Not(HasSubstr(R"("name":)")));
  EXPECT_EQ(get("/v1/events?stats=all").at("error.field"), "stats");
}

server::StatsBoard board_of(std::uint64_t version, int queues, std::uint64_t of_each) {
  server::StatsBoard board{.version = version, .at = {}, .totals = {}, .rows = {}};
  for (int i = 0; i < queues; ++i) {
    const std::string name = fmt::format("{:04}", i);
    board.rows.push_back({.queue = name, .text = name, .version = of_each});
  }
  return board;
}

std::size_t told(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
}

TEST(StatsReader, TellsWhatHasChangedAndNoMoreThanAHundredAtATime) {
  server::StatsReader reader;
  EXPECT_EQ(told(reader.next(board_of(1, 250, 1))), 100u);
  EXPECT_EQ(told(reader.next(board_of(2, 250, 1))), 100u);
  EXPECT_EQ(told(reader.next(board_of(3, 250, 1))), 50u);
  EXPECT_EQ(told(reader.next(board_of(4, 250, 1))), 0u);
  auto board = board_of(5, 250, 1);
  board.rows[17].version = 5;
  EXPECT_EQ(reader.next(board), "0017");
}

TEST(StatsReader, LetsAllHaveTheirTurnIfAllChangeAlways) {
  server::StatsReader reader;
  std::string seen;
  for (std::uint64_t i = 1; i <= 3; ++i) seen += reader.next(board_of(i, 250, i)) + ",";
  EXPECT_THAT(seen, HasSubstr("0249"));
  EXPECT_THAT(reader.next(board_of(4, 250, 4)), HasSubstr("0000"));
}

TEST(StatsReader, MissesNothingThatChangesBehindItsBack) {
  server::StatsReader reader;
  reader.next(board_of(1, 150, 1));  // The first hundred.
  auto board = board_of(2, 150, 1);
  board.rows[3].version = 2;  // One of those, once more.
  EXPECT_EQ(told(reader.next(board)), 50u);
  EXPECT_EQ(reader.next(board), "0003");
}

TEST(Track, FillsTheSecondsInWhichNothingCame) {
  server::Track track(10);
  track.current().in = 5;
  track.set_counts({0, 0, 7, 0, 0, 0, 0});
  track.turn(13);
  track.current().in = 1;
  const auto part = track.last(100);
  EXPECT_EQ(part.first, 10);
  ASSERT_EQ(part.moments.size(), 3u);  // The thirteenth is not over.
  EXPECT_EQ(part.moments[0].in, 5u);
  EXPECT_EQ(part.moments[2].in, 0u);
  EXPECT_EQ(part.moments[2].depth(), 7u);
  EXPECT_EQ(track.last(2).first, 11);
}

TEST(Track, ForgetsWhatIsOlderThanFifteenMinutes) {
  server::Track track(0);
  track.current().in = 5;
  track.turn(5000);
  const auto part = track.last(10'000);
  EXPECT_EQ(part.moments.size(), 899u);
  EXPECT_EQ(part.first, 4101);
  for (const auto& each : part.moments) EXPECT_EQ(each.in, 0u);
}

TEST(Meters, KeepTheTracksOfAFewQueues) {
  server::Meters meters;
  tasks::Changes changes;
  for (int i = 0; i < 100; ++i) {
    changes.depths.push_back({.queue = fmt::format("q{}", i), .counts = {0, 0, 1, 0, 0, 0, 0}});
  }
  meters.add(changes);
  for (int i = 0; i < 100; ++i)
    meters.history(fmt::format("q{}", i), 1min);  // Any can be asked for.
  EXPECT_EQ(meters.history("unknown", 1min).moments.size(), 0u);
}

}  // namespace
}  // namespace handoff::tests
