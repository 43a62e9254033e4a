// Tasks that come again and again: each occurrence once.
#include "handoff/tasks/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handoff/testing/eventually.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Time at(const char* time) { return parse_time(time).value(); }

// The clock begins at 12:00:00.
class Schedules : public StoreTest {
 protected:
  ScheduleLook put(const Schedule& schedule) {
    return with([&](Transaction& each) { return each.put_schedule(schedule); }).value();
  }
  static Schedule hourly(Missed missed = Missed::once) {
    return {.name = "s",
            .cron = "30 * * * *",
            .timezone = "UTC",
            .task = {.queue = "q", .kind = "k"},
            .missed = missed};
  }
  ScheduleLook look_at(const char* name = "s") {
    return with([&](Transaction& each) { return each.schedule(name).value(); });
  }
  std::vector<Time> made() {
    std::vector<Time> times;
    for (const Claimed& each : claim(10'000)) times.push_back(get(each.id).run_at);
    return times;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Schedules, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(Schedules, MakeATaskWhenTheyAreDue) {
  const auto look = put(hourly());
  EXPECT_EQ(look.next_at, at("2026-11-17T12:30:00Z"));
  EXPECT_EQ(changes.due_in, 30min);
  clock.advance(30min - 1ms);
  keep_time();
  EXPECT_THAT(made(), ElementsAre());
  clock.advance(1ms);
  EXPECT_EQ(with([](Transaction& each) { return each.next_due(); }), 0ms);
  keep_time();
  keep_time();  // Not a second time.
  EXPECT_EQ(with([](Transaction& each) { return each.next_due(); }), 1h);
  EXPECT_THAT(made(), ElementsAre(at("2026-11-17T12:30:00Z")));
  EXPECT_EQ(look_at().next_at, at("2026-11-17T13:30:00Z"));
  EXPECT_EQ(look_at().last_at, at("2026-11-17T12:30:00Z"));
  EXPECT_TRUE(look_at().last_task);
}

TEST_P(Schedules, AreNotChangedByBeingSaidAgain) {
  put(hourly());
  clock.advance(29min);
  const auto again = put(hourly());
  EXPECT_EQ(again.next_at, at("2026-11-17T12:30:00Z"));
  clock.advance(2min);
  put(hourly());  // As it is due: nothing is lost.
  keep_time();
  EXPECT_EQ(made().size(), 1u);
  Schedule other = hourly();
  other.cron = "@every 10m";
  EXPECT_EQ(put(other).next_at, clock.now() + 10min);
}

TEST_P(Schedules, CountFromWhenTheyWereMade) {
  Schedule often = hourly();
  often.cron = "@every 7m";
  put(often);
  clock.advance(21min);
  keep_time();
  EXPECT_EQ(look_at().next_at, at("2026-11-17T12:28:00Z"));
}

TEST_P(Schedules, MakeOneTaskForAllThatWereMissed) {
  put(hourly(Missed::once));
  clock.advance(5h);
  keep_time();
  EXPECT_THAT(made(), ElementsAre(at("2026-11-17T16:30:00Z")));
}

TEST_P(Schedules, MakeATaskForEachThatWasMissed) {
  put(hourly(Missed::all));
  clock.advance(2h + 45min);
  keep_time();
  EXPECT_THAT(made(), ElementsAre(at("2026-11-17T12:30:00Z"), at("2026-11-17T13:30:00Z"),
                                  at("2026-11-17T14:30:00Z")));
}

TEST_P(Schedules, SkipWhatWasMissed) {
  put(hourly(Missed::skip));
  clock.advance(2h + 45min);
  keep_time();
  EXPECT_THAT(made(), ElementsAre());
  EXPECT_EQ(look_at().next_at, at("2026-11-17T15:30:00Z"));
  clock.advance(45min + 30s);  // Late, but not by much.
  keep_time();
  EXPECT_THAT(made(), ElementsAre(at("2026-11-17T15:30:00Z")));
}

// Ten years of every second would be 300 million.
TEST_P(Schedules, CatchUpWithYearsAtOnce) {
  for (const Missed missed : {Missed::skip, Missed::once, Missed::all}) {
    Schedule often = hourly(missed);
    often.name = to_string(missed);
    often.cron = "@every 1s";
    put(often);
  }
  clock.advance(std::chrono::hours(24 * 3650));
  keep_time();
  EXPECT_EQ(made().size(), 60u + 61 + 1060);  // The last minute is not missed.
}

TEST_P(Schedules, FindTheLatestOfThoseThatAreYearsApart) {
  Schedule yearly = hourly(Missed::all);
  yearly.cron = "@yearly";
  put(yearly);
  clock.advance(std::chrono::hours(24 * 366 * 2));
  keep_time();
  EXPECT_THAT(made(), ElementsAre(at("2027-01-01T00:00:00Z"), at("2028-01-01T00:00:00Z")));
}

TEST_P(Schedules, WaitForRoomIfTheirQueueIsFull) {
  QueueSettings small;
  small.capacity = 1;
  configure(small);
  const auto other = add({.queue = "q", .kind = "k"}).id;
  put(hourly());
  clock.advance(30min);
  keep_time();
  EXPECT_THAT(look_at().last_error, HasSubstr("holds 1 of 1"));
  EXPECT_EQ(with([](Transaction& each) { return each.next_due(); }), 5s);  // No busy loop.
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel(other, "")); });
  clock.advance(5s);
  keep_time();
  EXPECT_THAT(made(), ElementsAre(at("2026-11-17T12:30:00Z")));
  EXPECT_EQ(look_at().last_error, "");
}

TEST_P(Schedules, DoNotOverlapIfTheirTaskIsUnique) {
  Schedule unique = hourly();
  unique.task.unique_key = "one";
  put(unique);
  clock.advance(30min);
  keep_time();
  clock.advance(1h);
  keep_time();
  EXPECT_EQ(made().size(), 1u);
}

TEST_P(Schedules, ArePausedAndRemoved) {
  put(hourly(Missed::skip));
  with([](Transaction& each) { ASSERT_TRUE(each.pause_schedule("s", true)); });
  clock.advance(2h);
  keep_time();
  EXPECT_THAT(made(), ElementsAre());
  EXPECT_EQ(with([](Transaction& each) { return each.next_due(); }), std::nullopt);
  with([](Transaction& each) { ASSERT_TRUE(each.pause_schedule("s", false)); });
  clock.advance(30min);
  keep_time();
  EXPECT_EQ(made().size(), 1u);
  EXPECT_TRUE(with([](Transaction& each) { return each.remove_schedule("s"); }));
  EXPECT_FALSE(with([](Transaction& each) { return each.remove_schedule("s"); }));
  EXPECT_FALSE(with([](Transaction& each) { return each.pause_schedule("s", true); }));
}

TEST_P(Schedules, AreNotFooledByAClockThatIsSetBack) {
  put(hourly());
  clock.advance(30min);
  keep_time();
  clock.set(at("2026-11-17T12:00:00Z"));
  clock.advance(30min);
  keep_time();
  EXPECT_EQ(made().size(), 1u);
}

TEST_P(Schedules, KeepWhatTheirTasksAreLike) {
  Schedule full = hourly();
  full.task = {.queue = "q",
               .kind = "k",
               .payload = R"({"a":[1,"\u00e9"]})",
               .priority = -3,
               .max_attempts = 4,
               .timeout = 5s,
               .unique_key = "u",
               .unique_for = 6s,
               .expires_in = 7s,
               .group = "g",
               .trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  put(full);
  reopen();
  if (GetParam() == "memory") return;  // Gone with the store.
  const NewTask kept = look_at().schedule.task;
  EXPECT_EQ(kept.payload, full.task.payload);
  EXPECT_EQ(kept.priority, -3);
  EXPECT_EQ(kept.max_attempts, 4);
  EXPECT_EQ(kept.timeout, 5s);
  EXPECT_EQ(kept.unique_key, "u");
  EXPECT_EQ(kept.unique_for, 6s);
  EXPECT_EQ(kept.expires_in, 7s);
  EXPECT_EQ(kept.group, "g");
  EXPECT_EQ(kept.trace, full.task.trace);
}

TEST_P(Schedules, HoldUpNothingElseIfThereMayBeNoMoreQueues) {
  std::vector<NewTask> many = numbered(10'000);
  for (NewTask& each : many) each.queue = "q" + each.payload;
  many.front().delay = 10min;
  const auto inserted = insert(many).value();
  Schedule one_more = hourly();
  one_more.task.queue = "one-more";
  put(one_more);
  clock.advance(31min);
  keep_time();
  EXPECT_THAT(look_at().last_error, HasSubstr("10000 are as many as there may be"));
  EXPECT_FALSE(look_at().last_task);
  EXPECT_EQ(get(inserted.front().id).state, TaskState::ready);
  EXPECT_TRUE(insert({{.queue = "handoff.ours", .kind = "k"}}));
}

// -- Through Tasks --------------------------------------------------------------------------------

TEST(DurableSchedules, AreKeptByTheStoreItself) {
  const Tasks tasks = tasks::open("memory:").value();
  ASSERT_TRUE(
      tasks.schedule({.name = "often", .cron = "@every 1s", .task = {.queue = "q", .kind = "k"}}));
  handoff::testing::eventually([&] { return tasks.queue("q").unfinished() >= 2; });
  EXPECT_EQ(tasks.schedules().size(), 1u);
  ASSERT_TRUE(tasks.pause_schedule("often"));
  EXPECT_TRUE(tasks.schedule("often")->is_paused);
  ASSERT_TRUE(tasks.resume_schedule("often"));
  ASSERT_TRUE(tasks.unschedule("often"));
  EXPECT_EQ(tasks.unschedule("often").error().code, TaskError::Code::not_found);
}

// The 30th of February.
TEST(DurableSchedules, AreDueSomeDay) {
  const Tasks tasks = open("memory:").value();
  const auto refused = tasks.schedule(
      {.name = "s", .cron = "0 3 30 2 *", .timezone = "UTC", .task = {.queue = "q", .kind = "k"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::bad_request);
  EXPECT_EQ(refused.error().field, "cron");
  EXPECT_EQ(refused.error().message, "cron must be due some day, got \"0 3 30 2 *\"");
  EXPECT_TRUE(tasks.schedules().empty());
}

TEST(DurableSchedules, NameWhatIsWrong) {
  const Tasks tasks = tasks::open("memory:").value();
  const Schedule good{.name = "s", .cron = "@daily", .task = {.queue = "q", .kind = "k"}};
  const auto field_of = [&](auto change) {
    Schedule bad = good;
    change(bad);
    return tasks.schedule(bad).error().field;
  };
  EXPECT_EQ(field_of([](Schedule& each) { each.name = ""; }), "name");
  EXPECT_EQ(field_of([](Schedule& each) { each.cron = "* * *"; }), "cron");
  EXPECT_EQ(field_of([](Schedule& each) { each.timezone = "Mars/Olympus"; }), "timezone");
  EXPECT_EQ(field_of([](Schedule& each) { each.task.kind = ""; }), "task.kind");
  EXPECT_EQ(field_of([](Schedule& each) { each.task.delay = 1s; }), "task.run_at");
  EXPECT_EQ(
      field_of([](Schedule& each) { each.task.id = TaskId::make(at("2026-11-17T12:00:00Z")); }),
      "task.id");
}

}  // namespace
}  // namespace handoff::tests
