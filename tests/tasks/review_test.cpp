// What went wrong once: each of these is a way in which a store has lost, repeated or held up a task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "handoff/testing/eventually.hpp"
#include "tasks/core.hpp"
#include "tasks/power_cut_vfs.hpp"
#include "tasks/stores.hpp"
#include "tasks/stores/sqlite/transaction.hpp"
#include "tasks/workflow.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Outcome::Kind;

NewTask task(std::string payload = "null") {
  return {.queue = "q", .kind = "k", .payload = std::move(payload)};
}

class Reviewed : public StoreTest {
 protected:
  NewTask named() {
    NewTask made = task();
    made.id = TaskId::make(clock.now());
    return made;
  }
  std::expected<TaskState, TaskError> replay(const TaskId& id) {
    return with([&](Transaction& each) { return each.replay(id); });
  }
  void cancel(const TaskId& id) {
    with([&](Transaction& each) { ASSERT_TRUE(each.cancel(id, "")); });
  }
  std::optional<Task> find(const TaskId& id) {
    return with([&](Transaction& each) { return each.get(id); });
  }
  Chore prune(int most = 1000) {
    return with([&](Transaction& each) { return each.prune(most); });
  }
  // As the keeper does.
  void prune_all() {
    while (prune().has_more) {
    }
  }
  bool is_file() const { return GetParam() == "file"; }
  std::string path() const { return folder.file("tasks.db"); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Reviewed, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

// -- Not started in time --------------------------------------------------------------------------

TEST_P(Reviewed, TwoThatAreLateMayDependOnEachOther) {
  NewTask first = named();
  first.expires_in = 1s;
  NewTask second = named();
  second.after = {*first.id};
  second.expires_in = 2s;
  ASSERT_TRUE(insert({first, second}));
  clock.advance(3s);
  keep_time();
  EXPECT_EQ(get(*first.id).state, TaskState::cancelled);
  EXPECT_EQ(get(*second.id).state, TaskState::cancelled);
  EXPECT_EQ(look().unfinished(), 0);
}

TEST_P(Reviewed, OneThatWasStartedInTimeIsNotLate) {
  NewTask brief = task();
  brief.expires_in = 10s;
  for (const Kind kind : {Kind::deferred, Kind::released}) {
    const auto id = add(brief).id;
    finish(claim()[0], kind, "", 20s);
    clock.advance(30s);
    keep_time();
    const auto again = claim();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].id, id);
    finish(again[0]);
  }
  const auto crashed = add(brief).id;
  ASSERT_EQ(claim().size(), 1u);
  clock.advance(1min);
  keep_time();
  EXPECT_EQ(get(crashed).state, TaskState::ready);
}

TEST_P(Reviewed, ThoseBehindLateOnesAreClaimedAtOnce) {
  NewTask brief = task("\"late\"");
  brief.expires_in = 1s;
  for (int i = 0; i < 10; ++i) add(brief);
  for (int i = 0; i < 3; ++i) add(task());
  clock.advance(1s);
  const auto claimed = claim_with_limits(3);
  EXPECT_EQ(claimed.tasks.size(), 3u);
  EXPECT_TRUE(claimed.has_more);
  EXPECT_EQ(look().count(TaskState::cancelled), 10);
  const auto none = claim_with_limits(3);
  EXPECT_TRUE(none.tasks.empty());
  EXPECT_FALSE(none.has_more);
}

TEST_P(Reviewed, AClaimThatMeetsOnlyLateOnesSaysThatThereMayBeMore) {
  NewTask brief = task();
  brief.expires_in = 1s;
  ASSERT_TRUE(insert(std::vector<NewTask>(100, brief)));
  add(task());
  clock.advance(1s);
  std::vector<Claimed> found;
  int claims = 0;
  for (bool has_more = true; has_more && found.empty(); ++claims) {
    auto result = claim_with_limits(1);
    has_more = result.has_more;
    found = std::move(result.tasks);
  }
  EXPECT_EQ(found.size(), 1u);
  EXPECT_GT(claims, 1) << "a transaction does not go on for ever";
}

// -- Those that wait ------------------------------------------------------------------------------

TEST_P(Reviewed, NobodyWaitsForATaskThatIsNotStoredSinceItsKeyIsTaken) {
  NewTask first = task();
  first.unique_key = "key";
  add(first);
  NewTask same = named();
  same.unique_key = "key";
  NewTask waits = task();
  waits.after = {*same.id};
  const auto refused = insert({same, waits});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::not_found);
  EXPECT_EQ(refused.error().field, "[1].after[0]");
}

TEST_P(Reviewed, NorForOneWhoseKeyTheSameBatchHasTaken) {
  NewTask first = named();
  first.unique_key = "key";
  NewTask same = named();
  same.unique_key = "key";
  NewTask waits = task();
  waits.after = {*same.id};
  EXPECT_EQ(insert({first, same, waits}).error().code, TaskError::Code::not_found);
  EXPECT_EQ(look().unfinished(), 0);
}

TEST_P(Reviewed, NobodyWaitsForADeadOneThatIsSaidAgain) {
  const NewTask first = named();
  add(first);
  finish(claim()[0], Kind::failed_for_good, "no");
  NewTask waits = task();
  waits.after = {*first.id};
  EXPECT_EQ(insert({first, waits}).error().code, TaskError::Code::conflict);
}

TEST_P(Reviewed, ATaskIsADuplicateWhateverHasBecomeOfThoseBeforeIt) {
  const auto before = add(task()).id;
  NewTask waits = named();
  waits.after = {before};
  add(waits);
  finish(claim()[0], Kind::failed_for_good, "no");
  const auto again = insert({waits});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->front().is_duplicate);
}

TEST_P(Reviewed, StepsOfAWorkflowAreDifferentTasks) {
  NewTask unique = task();
  unique.unique_key = "key";
  const auto key = prepare(Workflow{"w"}.step("a", unique).step("b", unique), clock.now()).error();
  EXPECT_EQ(key.field, "steps.b.unique_key");
  EXPECT_THAT(key.message, HasSubstr("\"a\""));
  const NewTask chosen = named();
  EXPECT_EQ(prepare(Workflow{"w"}.step("a", chosen).step("b", chosen), clock.now()).error().field,
            "steps.b.id");
  NewTask elsewhere = unique;
  elsewhere.queue = "other";
  EXPECT_TRUE(prepare(Workflow{"w"}.step("a", unique).step("b", elsewhere), clock.now()));

  NewWorkflow made_by_hand{.id = TaskId::make(clock.now()), .name = "w", .steps = {}};
  made_by_hand.steps.push_back({.name = "a", .after = {}, .task = unique});
  made_by_hand.steps.push_back({.name = "b", .after = {}, .task = unique});
  EXPECT_THROW(with([&](Transaction& each) { static_cast<void>(each.start(made_by_hand)); }),
               sqlite::Failure);
  EXPECT_EQ(look().unfinished(), 0);
}

// -- Unique keys ----------------------------------------------------------------------------------

TEST_P(Reviewed, AKeyIsKeptLongerThanItsTask) {
  QueueSettings forgetful;
  forgetful.keep_done = 1min;
  configure(forgetful);
  NewTask unique = task();
  unique.unique_key = "key";
  unique.unique_for = 1h;
  const auto id = add(unique).id;
  finish(claim()[0]);
  clock.advance(30min);
  keep_time();
  ASSERT_FALSE(find(id));
  const auto stranger = add(task()).id;  // Which may get the row of the one that is gone.
  const auto again = add(unique);
  EXPECT_TRUE(again.is_duplicate);
  EXPECT_EQ(again.id, id);
  EXPECT_NE(again.id, stranger);
  EXPECT_EQ(again.state, TaskState::done);
  clock.advance(30min);
  EXPECT_FALSE(add(unique).is_duplicate);
}

TEST_P(Reviewed, AKeyThatIsOverIsForgotten) {
  NewTask unique = task();
  unique.unique_for = 1h;
  for (const char* key : {"a", "b", "c"}) {
    unique.unique_key = key;
    add(unique);
    finish(claim()[0]);
  }
  with([](Transaction& each) { each.purge("q", TaskState::done, 100); });
  const auto has_some = [&] { return with([](Transaction& each) { return each.has_finished(); }); };
  EXPECT_TRUE(has_some());
  EXPECT_EQ(prune().done, 0);
  clock.advance(1h);
  EXPECT_EQ(prune().done, 3);
  EXPECT_FALSE(has_some());
}

TEST_P(Reviewed, ATaskThatIsRetriedTakesItsKeyBack) {
  NewTask unique = task();
  unique.unique_key = "key";
  const auto id = add(unique).id;
  finish(claim()[0], Kind::failed_for_good, "no");
  ASSERT_TRUE(replay(id));
  const auto again = add(unique);
  EXPECT_TRUE(again.is_duplicate);
  EXPECT_EQ(again.id, id);
  finish(claim()[0]);
  const auto other = add(unique);
  EXPECT_FALSE(other.is_duplicate);
  const auto refused = replay(id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("unique_key"));
  finish(claim()[0]);
  EXPECT_TRUE(replay(id));
}

TEST_P(Reviewed, OneThatWasGivenUpIsNotRevivedIfItsKeyIsTaken) {
  const auto before = add(task()).id;
  NewTask unique = task();
  unique.unique_key = "key";
  unique.after = {before};
  const auto given_up = add(unique).id;
  finish(claim()[0], Kind::failed_for_good, "no");
  unique.after.clear();
  ASSERT_FALSE(add(unique).is_duplicate);
  ASSERT_TRUE(replay(before));
  EXPECT_EQ(get(given_up).state, TaskState::cancelled);
}

// -- Kept as long as they are wanted --------------------------------------------------------------

class Kept : public Reviewed {
 protected:
  Kept() {
    QueueSettings forgetful;
    forgetful.keep_done = 1min;
    forgetful.keep_dead = 24h;
    configure(forgetful);
  }
  StartedWorkflow start(const Workflow& workflow) {
    return with([&](Transaction& each) {
             return each.start(prepare(workflow, clock.now()).value());
           })
        .value();
  }
  std::vector<std::string> inputs_of(const TaskId& id) {
    std::vector<std::string> all;
    for (const auto& each : with([&](Transaction& one) { return one.inputs_of(id); })) {
      all.push_back(each.result);
    }
    return all;
  }
  std::int64_t left() {
    const auto now = look();
    return now.unfinished() + now.count(TaskState::done) + now.count(TaskState::dead) +
           now.count(TaskState::cancelled);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Kept, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(Kept, WhatADeadTaskNeedsToBeRetried) {
  const auto before = add(task()).id;
  NewTask last = task();
  last.after = {before};
  const auto id = add(last).id;
  finish(claim()[0], Kind::done, "7");
  finish(claim()[0], Kind::failed_for_good, "no");
  clock.advance(1h);
  prune_all();
  ASSERT_TRUE(replay(id));
  EXPECT_THAT(inputs_of(id), ElementsAre("7"));
  clock.advance(1h);
  prune_all();
  EXPECT_THAT(inputs_of(id), ElementsAre("7"));
  finish(claim()[0]);
  clock.advance(1h);
  prune_all();
  EXPECT_EQ(left(), 0);
}

TEST_P(Kept, AllThatAnEndedWorkflowNeedsToBeRetried) {
  const auto started =
      start(Workflow{"w"}.step("a", task()).then("b", task()).then("c", task()).then("d", task()));
  finish(claim()[0], Kind::done, "1");
  finish(claim()[0], Kind::done, "2");
  finish(claim()[0], Kind::failed_for_good, "no");
  clock.advance(1h);
  prune_all();
  with([&](Transaction& each) { each.purge("q", TaskState::done, 100); });
  EXPECT_THAT(inputs_of(started.tasks.at("c")), ElementsAre("1", "2"));
  ASSERT_TRUE(replay(started.tasks.at("c")));
  clock.advance(1h);
  prune_all();
  finish(claim()[0], Kind::done, "3");
  EXPECT_THAT(inputs_of(started.tasks.at("d")), ElementsAre("1", "2", "3"));
  finish(claim()[0]);
  clock.advance(1h);
  prune_all();
  EXPECT_EQ(left(), 0);
  EXPECT_FALSE(with([&](Transaction& each) { return each.workflow(started.id); }));
}

TEST_P(Kept, UntilNobodyCanRetryThemAnyMore) {
  Workflow workflow{"w"};
  workflow.step("a", task()).then("b", task()).then("c", task()).then("d", task());
  workflow.step("beside", task());
  const auto died = start(workflow);
  for (const Claimed& each : claim(2)) finish(each);
  finish(claim()[0], Kind::failed_for_good, "no");
  const auto cancelled = start(workflow);
  finish(claim()[0]);
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel_workflow(cancelled.id, "")); });
  clock.advance(23h);
  prune_all();
  EXPECT_EQ(left(), 10);
  clock.advance(1h);
  prune_all();
  EXPECT_EQ(left(), 0);
  EXPECT_TRUE(with([](Transaction& each) { return each.workflows(10, {}); }).workflows.empty());
}

TEST_P(Kept, NotForAStepThatWasPurged) {
  start(Workflow{"w"}.step("a", task()).then("b", task()));
  finish(claim()[0]);
  with([](Transaction& each) { each.purge("q", TaskState::ready, 100); });
  clock.advance(1h);
  prune_all();
  EXPECT_EQ(left(), 0);
}

TEST_P(Reviewed, PruningSaysThatThereIsMoreIfItWasCutShort) {
  QueueSettings forgetful;
  forgetful.keep_dead = 1min;
  configure(forgetful);
  for (int i = 0; i < 5; ++i) cancel(add(task()).id);
  clock.advance(1h);
  EXPECT_TRUE(prune(3).has_more);
  EXPECT_FALSE(prune(3).has_more);
  EXPECT_EQ(look().count(TaskState::cancelled), 0);
}

// -- Limits ---------------------------------------------------------------------------------------

TEST_P(Reviewed, WhoGetsNothingWritesNothing) {
  QueueSettings slow;
  slow.rate = 1;
  slow.group_concurrency = 1;
  configure(slow);
  NewTask grouped = task();
  grouped.group = "g";
  add(grouped);
  add(grouped);
  const auto first = claim();
  ASSERT_EQ(first.size(), 1u);
  if (!is_file()) return;
  sqlite::Database other(path(), sqlite::Database::Mode::read_write);
  const auto version = [&] {
    sqlite::Query query(other, "pragma data_version");
    query.next();
    return query.number(0);
  };
  const auto before = version();
  clock.advance(10ms);
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(version(), before);
  clock.advance(1s);  // The rate allows one; its group does not.
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(version(), before);
  finish(first.front());
  EXPECT_EQ(claim().size(), 1u);
  EXPECT_NE(version(), before);
}

TEST_P(Reviewed, AClaimThatIsGivenBackDoesNotCount) {
  QueueSettings slow;
  slow.rate = 0.001;
  configure(slow);
  add(task());
  finish(claim().at(0), Kind::released);
  const auto again = claim();
  ASSERT_EQ(again.size(), 1u);
  finish(again[0], Kind::deferred, "", 1s);
  clock.advance(1s);
  keep_time();
  EXPECT_TRUE(claim().empty());
}

TEST_P(Reviewed, ALowerLimitOfGroupsHoldsWhatIsReady) {
  for (int i = 0; i < 5; ++i) {
    NewTask each = task(std::to_string(i));
    each.group = "a";
    each.priority = i == 4 ? 1 : 0;
    add(each);
  }
  const auto running = claim();  // The one of the highest priority.
  QueueSettings settings;
  settings.group_concurrency = 2;
  configure(settings);
  const auto one = claim(10);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].payload, "0");
  settings.group_concurrency = 1;
  configure(settings);
  finish(running[0]);
  EXPECT_TRUE(claim(10).empty());
  finish(one[0]);
  EXPECT_EQ(claim(10).size(), 1u);
  configure({});
  EXPECT_EQ(claim(10).size(), 2u);
}

TEST_P(Reviewed, TheOldestIsNotTheFirst) {
  const auto since = clock.now();
  add(task());
  clock.advance(1min);
  NewTask urgent = task();
  urgent.priority = 5;
  add(urgent);
  EXPECT_EQ(look().oldest_ready, since);
  ASSERT_EQ(claim(2).size(), 2u);
  EXPECT_EQ(look().oldest_ready, std::nullopt);
}

// -- Schedules ------------------------------------------------------------------------------------

class ReviewedSchedules : public Reviewed {
 protected:
  ScheduleLook put(const std::string& cron, Missed missed = Missed::once) {
    const Schedule schedule{
        .name = "s", .cron = cron, .timezone = "UTC", .task = task(), .missed = missed};
    return with([&](Transaction& each) { return each.put_schedule(schedule); }).value();
  }
  ScheduleLook look_at() {
    return with([](Transaction& each) { return each.schedule("s").value(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ReviewedSchedules, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(ReviewedSchedules, MakeAllThatAreHardlyLate) {
  put("@every 10s");
  clock.advance(35s);
  keep_time();
  const auto three = claim(100);
  EXPECT_EQ(three.size(), 3u);
  for (const Claimed& each : three) finish(each);
  clock.advance(10min);
  keep_time();
  EXPECT_EQ(claim(100).size(), 1u + 6u);  // One for those that were missed.
}

TEST_P(ReviewedSchedules, FindBackFromAClockThatWasFarAhead) {
  for (const Missed missed : {Missed::skip, Missed::once}) {
    put("30 * * * *", missed);
    const auto right = clock.now();
    clock.set(right + std::chrono::hours(24 * 365));
    keep_time();
    claim(100);
    clock.set(right);
    EXPECT_EQ(with([](Transaction& each) { return each.next_due(); }), 0ms);
    keep_time();
    EXPECT_EQ(look_at().next_at, right + 30min);
    EXPECT_LE(with([](Transaction& each) { return each.next_due(); }), 30min);
    with([](Transaction& each) { each.remove_schedule("s"); });
  }
}

TEST_P(ReviewedSchedules, FindBackWhenTheyAreSaidAgain) {
  const auto right = clock.now();
  clock.set(right + std::chrono::hours(24 * 365));
  put("@every 1h");
  clock.set(right);
  EXPECT_EQ(put("@every 1h").next_at, right + 1h);
}

TEST_P(ReviewedSchedules, LoseNothingWhileATimeZoneCannotBeRead) {
  if (!is_file()) return;  // Nobody else can spoil it.
  const auto due = put("30 * * * *").next_at;
  sqlite::Database other(path(), sqlite::Database::Mode::read_write);
  other.run("update handoff_schedule set timezone = 'Not/There'");
  clock.advance(30min);
  keep_time();
  EXPECT_EQ(look_at().next_at, due);
  EXPECT_THAT(look_at().last_error, HasSubstr("Not/There"));
  EXPECT_EQ(with([](Transaction& each) { return each.next_due(); }), 1min);
  other.run("update handoff_schedule set timezone = 'UTC'");
  clock.advance(1min);
  keep_time();
  const auto made = claim(10);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(get(made[0].id).run_at, due);
}

// -- Files ----------------------------------------------------------------------------------------

TEST_P(Reviewed, NoHalfOfATaskIsLeftInATransactionOfTheUsers) {
  if (!is_file()) return;
  sqlite::Database users(path(), sqlite::Database::Mode::read_write);
  users.run(
      "create table bill(cents integer); create trigger refuse before insert on handoff_unique "
      "begin select raise(abort, 'no'); end");
  NewTask unique = task();
  unique.unique_key = "key";
  users.run("begin immediate; insert into bill values(7)");
  EXPECT_THROW(static_cast<void>(sqlite::insert_in(users.raw(), unique, clock)), sqlite::Failure);
  EXPECT_TRUE(sqlite::insert_in(users.raw(), task(), clock));
  users.run("commit; drop trigger refuse");
  EXPECT_EQ(with([](Transaction& each) { return each.list({.queue = "q"}).tasks.size(); }), 1u);
  EXPECT_EQ(look().unfinished(), 1);
  sqlite::Query bills(users, "select count(*) from bill");
  ASSERT_TRUE(bills.next());
  EXPECT_EQ(bills.number(0), 1);
}

TEST_P(Reviewed, ARowThatIsGoneIsDamage) {
  if (!is_file()) return;
  NewTask later = task();
  later.delay = 1s;
  add(later);
  {
    // An index that names a row which the table does not have.
    sqlite::Database other(path(), sqlite::Database::Mode::read_write);
    other.run(
        "create table kept as select sql from sqlite_schema where name = 'handoff_task_due'; "
        "pragma writable_schema = on; "
        "update sqlite_schema set sql = 'create index handoff_task_due on handoff_task(at) where "
        "state = 9' where name = 'handoff_task_due'; pragma writable_schema = reset");
  }
  {
    sqlite::Database other(path(), sqlite::Database::Mode::read_write);
    other.run(
        "delete from handoff_task where seq > 0; pragma writable_schema = on; update sqlite_schema "
        "set sql = "
        "(select sql from kept) where name = 'handoff_task_due'; pragma writable_schema = reset");
  }
  clock.advance(1s);
  try {
    with([](Transaction& each) { each.promote(10); });
    FAIL() << "it was not seen";
  } catch (const sqlite::Failure& failure) {
    EXPECT_EQ(failure.error.code, TaskError::Code::unavailable);
    EXPECT_THAT(failure.error.message,
                AllOf(HasSubstr(path()), HasSubstr("damaged"), HasSubstr(".recover")));
  }
}

// How many steps of SQLite's machine some work takes, in hundreds.
int cost(const std::string& path, const TaskClock& clock,
         const std::function<void(Transaction&)>& work) {
  sqlite::Database database(path, sqlite::Database::Mode::read_write);
  sqlite::SettingsCache settings;
  sqlite::SqliteTransaction transaction(database, settings, clock, nullptr);
  int count = 0;
  const auto add_one = [](void* counter) { return ++*static_cast<int*>(counter) * 0; };
  sqlite3_progress_handler(database.raw(), 100, add_one, &count);
  work(transaction);
  sqlite3_progress_handler(database.raw(), 0, nullptr, nullptr);
  return count;
}

TEST_P(Reviewed, PurgingDoesNotReadAllTasksOfOtherQueues) {
  if (!is_file()) return;
  ASSERT_TRUE(insert(std::vector<NewTask>(5000, task())));
  NewTask other = task();
  other.queue = "other";
  add(other);
  for (const auto state : {TaskState::scheduled, TaskState::waiting, TaskState::ready,
                           TaskState::done, TaskState::dead, TaskState::cancelled}) {
    EXPECT_LT(cost(path(), clock, [&](Transaction& each) { each.purge("other", state, 100); }), 20)
        << to_string(state);
  }
}

TEST(ReviewedFiles, CheckpointsGoTheSameWayAsEverythingElse) {
  const Folder folder;
  ManualTaskClock clock;
  PowerCutVfs disk;
  const sqlite::SqliteOptions options{.path = folder.file("tasks.db"),
                                      .is_fast = true,
                                      .clock = &clock,
                                      .checkpoints = {.step = 10},
                                      .database = {.vfs = disk.name(), .busy_for = 10s}};
  sqlite::SqliteStore store(options);
  const auto in_file = [&] { return std::filesystem::file_size(options.path); };
  const auto before = in_file();
  const std::vector<NewTask> some(100, task('"' + std::string(2000, 'x') + '"'));
  store.transact([&](Transaction& each) { ASSERT_TRUE(each.insert(some)); });
  handoff::testing::eventually([&] { return in_file() > before; });
  const auto grown = static_cast<std::int64_t>(in_file());
  EXPECT_GE(disk.used(), grown) << "somebody wrote to the file behind the back of the disk";
}

// -- Batches --------------------------------------------------------------------------------------

class ReviewedBatches : public ::testing::Test {
 protected:
  void set(std::chrono::milliseconds block_for) {
    QueueSettings settings;
    settings.capacity = 1;
    settings.when_full = WhenFull::block;
    settings.block_for = block_for;
    ASSERT_TRUE(tasks.configure("full", settings));
  }
  const Tasks tasks = tasks::open("memory:").value();
  const std::vector<NewTask> batch{{.queue = "free", .kind = "k"}, {.queue = "full", .kind = "k"}};
};

TEST_F(ReviewedBatches, WaitAsLongAsTheQueueSaysThatIsFull) {
  set(50ms);
  ASSERT_TRUE(tasks.enqueue({.queue = "full", .kind = "k"}));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(tasks.enqueue(batch).error().code, TaskError::Code::full);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
}

TEST_F(ReviewedBatches, GoOnOnceThatQueueHasRoom) {
  set(10s);
  const auto first = tasks.enqueue({.queue = "full", .kind = "k"}).value().id;
  std::expected<std::vector<Enqueued>, TaskError> added;
  {
    const std::jthread waits([&] { added = tasks.enqueue(batch); });
    ASSERT_TRUE(tasks.cancel(first));
  }
  EXPECT_TRUE(added);
}

// What is looked for first and changed later may have become another's meanwhile.
TEST_F(ReviewedBatches, OfManyAreAllMet) {
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(tasks.enqueue(std::vector<NewTask>(201, {.queue = "q", .kind = "k"})));
  }
  EXPECT_EQ(tasks.cancel_all({.queue = "q", .state = TaskState::ready}), 1206);
  EXPECT_EQ(tasks.retry_all({.queue = "q", .state = TaskState::cancelled}), 1206);
  EXPECT_EQ(tasks.queue("q").count(TaskState::ready), 1206);
}

}  // namespace
}  // namespace handoff::tests
