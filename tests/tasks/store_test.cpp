// What every store does with tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <string_view>

#ifndef HANDOFF_STORE_KINDS  // tests/remote has others.
#define HANDOFF_STORE_KINDS "memory", "file"
#include "tasks/stores.hpp"
#endif

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::ElementsAre;
using Kind = Outcome::Kind;

NewTask task(std::string payload = "null") {
  return {.queue = "q", .kind = "k", .payload = std::move(payload)};
}

std::vector<std::string> payloads(const std::vector<Claimed>& all) {
  std::vector<std::string> texts;
  for (const Claimed& each : all) texts.push_back(each.payload);
  return texts;
}

class Stores : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, Stores, ::testing::Values(HANDOFF_STORE_KINDS),
                         [](const auto& each) { return each.param; });

// -- The way of a task ----------------------------------------------------------------------------

TEST_P(Stores, GiveWhatWasPutInInItsOrder) {
  const auto first = add(task("1"));
  add(task("2"));
  add(task("3"));
  EXPECT_EQ(first.state, TaskState::ready);
  EXPECT_EQ(changes.ready.at("q"), 1);
  const auto claimed = claim(2);
  EXPECT_THAT(payloads(claimed), ElementsAre("1", "2"));
  EXPECT_EQ(claimed[0].id, first.id);
  EXPECT_EQ(claimed[0].attempt, 1);
  EXPECT_EQ(claimed[0].max_attempts, 20);
  EXPECT_EQ(get(first.id).state, TaskState::running);
  EXPECT_EQ(finish(claimed[0], Kind::done, R"({"ok":true})"), Recorded::yes);
  const Task done = get(first.id);
  EXPECT_EQ(done.state, TaskState::done);
  EXPECT_EQ(done.result, R"({"ok":true})");
  EXPECT_EQ(done.finished_at, clock.now());
  EXPECT_THAT(payloads(claim(10)), ElementsAre("3"));
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(Stores, KeepLargePayloads) {
  const std::string large = '"' + std::string(100'000, 'x') + '"';
  const auto id = add(task(large)).id;
  EXPECT_EQ(get(id).payload, large);
  EXPECT_EQ(claim()[0].payload, large);
}

TEST_P(Stores, KnowHowManyThereAreInEachState) {
  add(task());
  add(task());
  NewTask later = task();
  later.delay = 1h;
  add(later);
  finish(claim()[0]);
  const QueueLook now = look();
  EXPECT_EQ(now.count(TaskState::ready), 1);
  EXPECT_EQ(now.count(TaskState::scheduled), 1);
  EXPECT_EQ(now.count(TaskState::done), 1);
  EXPECT_EQ(now.count(TaskState::running), 0);
  EXPECT_EQ(now.unfinished(), 2);
  EXPECT_EQ(now.bytes, 8);
}

// -- Outcomes -------------------------------------------------------------------------------------

TEST_P(Stores, TryAFailedTaskAgainUntilItsAttemptsAreUsedUp) {
  NewTask twice = task();
  twice.max_attempts = 2;
  const auto id = add(twice).id;
  EXPECT_EQ(finish(claim()[0], Kind::failed, "no luck", 10s), Recorded::yes);
  EXPECT_EQ(get(id).state, TaskState::scheduled);
  EXPECT_EQ(get(id).run_at, clock.now() + 10s);
  clock.advance(9s);
  keep_time();
  EXPECT_TRUE(claim().empty());
  clock.advance(1s);
  keep_time();
  const auto again = claim();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].attempt, 2);
  finish(again[0], Kind::failed, "still no luck");
  const Task dead = get(id);
  EXPECT_EQ(dead.state, TaskState::dead);
  EXPECT_EQ(dead.reason, "still no luck");
  ASSERT_EQ(dead.errors.size(), 2u);
  EXPECT_EQ(dead.errors[0].message, "no luck");
  EXPECT_EQ(dead.errors[1].attempt, 2);
}

TEST_P(Stores, WaitLongerAfterEachFailureByThePolicyOfTheQueue) {
  QueueSettings settings;
  settings.retry = {ExponentialBackoff{.base = 10s, .factor = 2, .max = 1h, .jitter = 0}};
  configure(settings);
  const auto id = add(task()).id;
  for (const auto wait : {10s, 20s, 40s}) {
    finish(claim()[0], Kind::failed, "no");
    EXPECT_EQ(get(id).run_at, clock.now() + wait);
    clock.advance(wait);
    keep_time();
  }
}

TEST_P(Stores, LetATaskFailForGood) {
  const auto id = add(task()).id;
  finish(claim()[0], Kind::failed_for_good, "no such user");
  EXPECT_EQ(get(id).state, TaskState::dead);
}

TEST_P(Stores, TakeNoAttemptForADeferralOrAReturn) {
  const auto id = add(task()).id;
  finish(claim()[0], Kind::deferred, "", 5s);
  EXPECT_EQ(get(id).attempt, 0);
  EXPECT_EQ(get(id).state, TaskState::scheduled);
  clock.advance(5s);
  keep_time();
  finish(claim()[0], Kind::released);
  EXPECT_EQ(get(id).attempt, 0);
  EXPECT_EQ(get(id).state, TaskState::ready);
  EXPECT_EQ(claim()[0].attempt, 1);
}

TEST_P(Stores, DoNotRunACancelledTaskAgainBeforeItsWorkerHasStopped) {
  const auto id = add(task()).id;
  const auto claimed = claim()[0];
  const auto retry = [&] { return with([&](Transaction& each) { return each.replay(id); }); };
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel(id, "")); });
  EXPECT_EQ(retry().error().code, TaskError::Code::conflict);
  EXPECT_EQ(finish(claimed, Kind::failed, "I was stopped"), Recorded::cancelled);
  ASSERT_TRUE(retry());
  EXPECT_EQ(claim()[0].id, id);
}

TEST_P(Stores, RunACancelledTaskAgainOnceItsLeaseHasEnded) {
  const auto id = add(task()).id;
  const auto claimed = claim()[0];
  const auto retry = [&] { return with([&](Transaction& each) { return each.replay(id); }); };
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel(id, "")); });
  clock.advance(claimed.lease_for - 1ms);
  EXPECT_EQ(retry().error().code, TaskError::Code::conflict);
  clock.advance(1ms);
  ASSERT_TRUE(retry());
  EXPECT_EQ(finish(claimed), Recorded::stale);
}

TEST_P(Stores, RunATaskAgainThatWasCancelledBeforeItRan) {
  const auto id = add(task()).id;
  finish(claim()[0], Kind::released);
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel(id, "")); });
  EXPECT_TRUE(with([&](Transaction& each) { return each.replay(id); }));
}

TEST_P(Stores, ClaimNoMoreBytesThanAreWanted) {
  for (const auto* each : {"\"1234\"", "\"5678\"", "\"9\""}) add(task(each));
  const auto within = [&](std::size_t bytes) {
    return with([&](Transaction& each) {
      return each.claim(
          {.queue = "q", .most = 10, .lease_for = {}, .worker = "w", .most_bytes = bytes});
    });
  };
  const auto first = within(13);
  EXPECT_THAT(payloads(first.tasks), ElementsAre("\"1234\"", "\"5678\""));
  EXPECT_TRUE(first.is_cut);
  const auto second = within(1);
  EXPECT_THAT(payloads(second.tasks), ElementsAre("\"9\"")) << "one always fits";
  EXPECT_FALSE(second.is_cut);
}

TEST_P(Stores, RefuseAnOutcomeWithoutTheLease) {
  const auto id = add(task()).id;
  auto claimed = claim()[0];
  Claimed other = claimed;
  ++other.lease.token;
  EXPECT_EQ(finish(other), Recorded::stale);
  EXPECT_EQ(get(id).state, TaskState::running);
  Claimed nobody = claimed;
  nobody.id = TaskId::make(clock.now());
  EXPECT_EQ(finish(nobody), Recorded::stale);
  EXPECT_EQ(finish(claimed), Recorded::yes);
  EXPECT_EQ(finish(claimed), Recorded::again);
  EXPECT_EQ(look().count(TaskState::done), 1);
}

TEST_P(Stores, GiveATaskToAnotherOnceItsLeaseHasEnded) {
  const auto id = add(task()).id;
  const auto lost = claim()[0];
  clock.advance(29s);
  keep_time();
  EXPECT_TRUE(claim().empty());
  clock.advance(1s);
  keep_time();
  const auto taken = claim();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].attempt, 1);
  EXPECT_EQ(taken[0].crashes, 1);
  EXPECT_EQ(finish(lost), Recorded::stale);
  EXPECT_EQ(finish(taken[0]), Recorded::yes);
  EXPECT_EQ(get(id).state, TaskState::done);
}

TEST_P(Stores, ExtendALease) {
  add(task());
  const auto claimed = claim()[0];
  for (int i = 0; i < 5; ++i) {
    clock.advance(20s);
    const Extension extension{
        .id = claimed.id, .lease = claimed.lease, .progress = 0.5, .note = "half"};
    EXPECT_EQ(
        with([&](Transaction& each) { return each.extend(std::span(&extension, 1)).front(); }),
        Recorded::yes);
    keep_time();
  }
  EXPECT_EQ(get(claimed.id).progress, 0.5);
  EXPECT_EQ(get(claimed.id).note, "half");
  EXPECT_EQ(finish(claimed), Recorded::yes);
}

TEST_P(Stores, DoNotMoveLeasesWithTheTimeOfDay) {
  add(task());
  const auto claimed = claim()[0];
  clock.set(clock.now() + 240h);
  keep_time();
  EXPECT_EQ(get(claimed.id).state, TaskState::running);
  clock.set(clock.now() - 480h);
  clock.advance(30s);
  keep_time();
  EXPECT_EQ(get(claimed.id).state, TaskState::ready);
}

TEST_P(Stores, QuarantineATaskThatKillsItsWorkers) {
  const auto id = add(task()).id;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(claim().size(), 1u) << i;
    clock.advance(30s);
    keep_time();
  }
  EXPECT_EQ(get(id).state, TaskState::dead);
  EXPECT_THAT(get(id).reason, ::testing::HasSubstr("3 times"));
  EXPECT_TRUE(claim().empty());
}

// -- Room -----------------------------------------------------------------------------------------

TEST_P(Stores, RefuseWhatAQueueHasNoRoomFor) {
  QueueSettings settings;
  settings.capacity = 2;
  configure(settings);
  add(task());
  add(task());
  const auto refused = insert({task()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::full);
  EXPECT_EQ(refused.error().message, "queue \"q\" holds 2 of 2 tasks");
  const auto running = claim()[0];
  EXPECT_FALSE(insert({task()})) << "what runs is not finished";
  finish(running, Kind::failed, "no", 0ms);  // There is always room for a retry.
  EXPECT_EQ(look().unfinished(), 2);
  keep_time();
  finish(claim()[0]);
  EXPECT_EQ(changes.room.at("q"), 1);
  EXPECT_TRUE(insert({task()}));
}

TEST_P(Stores, RefuseMoreBytesThanAQueueMayHave) {
  QueueSettings settings;
  settings.capacity_bytes = 10;
  configure(settings);
  add(task("12345678"));
  EXPECT_EQ(insert({task("123")}).error().message, "queue \"q\" holds 8 of 10 bytes");
  add(task("12"));
}

TEST_P(Stores, TakeABatchAsAWholeOrNotAtAll) {
  QueueSettings settings;
  settings.capacity = 3;
  configure(settings);
  const auto refused = insert({task(), task(), task(), task()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::too_large);
  EXPECT_EQ(refused.error().field, "[3].queue");
  EXPECT_EQ(look().unfinished(), 0);
  EXPECT_TRUE(insert({task(), task(), task()}));
  EXPECT_EQ(insert({task()}).error().code, TaskError::Code::full);
}

TEST_P(Stores, CountTheSameTwiceInABatchOnce) {
  QueueSettings settings;
  settings.capacity = 1;
  configure(settings);
  NewTask only = task();
  only.unique_key = "user-42";
  EXPECT_TRUE(insert({only, only}));
  EXPECT_TRUE(insert({only, only})) << "it is there already";
  EXPECT_EQ(look().unfinished(), 1);
}

// -- The same, twice ------------------------------------------------------------------------------

TEST_P(Stores, MakeNoSecondTaskOfTheSameId) {
  NewTask chosen = task();
  chosen.id = TaskId::make(clock.now());
  EXPECT_FALSE(add(chosen).is_duplicate);
  const auto again = add(chosen);
  EXPECT_TRUE(again.is_duplicate);
  EXPECT_EQ(again.id, *chosen.id);
  EXPECT_EQ(look().unfinished(), 1);
  finish(claim()[0]);
  EXPECT_TRUE(add(chosen).is_duplicate);
}

TEST_P(Stores, MakeNoSecondTaskOfAKeyThatIsNotFinished) {
  NewTask unique = task();
  unique.unique_key = "user-42";
  const auto first = add(unique);
  EXPECT_EQ(add(unique).id, first.id);
  NewTask elsewhere = unique;
  elsewhere.queue = "other";
  EXPECT_FALSE(add(elsewhere).is_duplicate);
  finish(claim()[0]);
  EXPECT_FALSE(add(unique).is_duplicate);
}

TEST_P(Stores, KeepAKeyForAWhileIfAsked) {
  NewTask unique = task();
  unique.unique_key = "user-42";
  unique.unique_for = 1h;
  add(unique);
  finish(claim()[0]);
  EXPECT_TRUE(add(unique).is_duplicate);
  clock.advance(59min);
  EXPECT_TRUE(add(unique).is_duplicate);
  clock.advance(1min);
  EXPECT_FALSE(add(unique).is_duplicate);
}

TEST_P(Stores, KnowADuplicateThoughTheQueueIsFull) {
  QueueSettings settings;
  settings.capacity = 1;
  configure(settings);
  NewTask chosen = task();
  chosen.id = TaskId::make(clock.now());
  add(chosen);
  EXPECT_TRUE(add(chosen).is_duplicate);
}

// -- Time -----------------------------------------------------------------------------------------

TEST_P(Stores, RunNothingBeforeItsTime) {
  NewTask later = task("later");
  later.delay = 1min;
  EXPECT_EQ(add(later).state, TaskState::scheduled);
  EXPECT_EQ(changes.due_in, 1min);
  add(task("now"));
  EXPECT_THAT(payloads(claim(5)), ElementsAre("now"));
  EXPECT_EQ(with([&](Transaction& each) { return each.next_due(); }), 30s);  // The lease.
  clock.advance(1min);
  keep_time();
  EXPECT_EQ(get(with([&](Transaction& each) { return each.list({}).tasks.back().id; })).state,
            TaskState::ready);
}

TEST_P(Stores, CancelWhatWasNotStartedInTime) {
  NewTask brief = task();
  brief.expires_in = 10s;
  const auto id = add(brief).id;
  const auto other = add(brief).id;
  ASSERT_EQ(claim().size(), 1u);  // In time.
  clock.advance(10s);
  keep_time();
  EXPECT_EQ(get(id).state, TaskState::running);
  EXPECT_EQ(get(other).state, TaskState::cancelled);
  EXPECT_EQ(get(other).reason, "it was not started in time");
}

TEST_P(Stores, ForgetFinishedTasksAfterAWhile) {
  QueueSettings settings;
  settings.keep_done = 1h;
  settings.keep_dead = 2h;
  configure(settings);
  add(task());
  add(task());
  finish(claim()[0]);
  finish(claim()[0], Kind::failed_for_good, "no");
  clock.advance(1h);
  keep_time();
  EXPECT_EQ(look().count(TaskState::done), 0);
  EXPECT_EQ(look().count(TaskState::dead), 1);
  clock.advance(1h);
  keep_time();
  EXPECT_EQ(look().count(TaskState::dead), 0);
}

TEST_P(Stores, ForgetTheOldestOfTooManyFinishedTasks) {
  QueueSettings settings;
  settings.keep_count = 2;
  configure(settings);
  for (int i = 0; i < 5; ++i) {
    add(task());
    finish(claim()[0]);
    clock.advance(1s);
  }
  keep_time();
  EXPECT_EQ(look().count(TaskState::done), 2);
}

// -- Order ----------------------------------------------------------------------------------------

TEST_P(Stores, TakeHigherPrioritiesFirst) {
  for (const int priority : {0, 5, -5, 5}) {
    NewTask each = task(std::to_string(priority));
    each.priority = priority;
    add(each);
  }
  EXPECT_THAT(payloads(claim(4)), ElementsAre("5", "5", "0", "-5"));
}

TEST_P(Stores, LetNoPriorityStarve) {
  NewTask low = task("\"low\"");
  low.priority = -100;
  add(low);
  for (int i = 0; i < 9; ++i) {
    NewTask high = task("\"high\"");
    high.priority = 100;
    add(high);
    EXPECT_THAT(payloads(claim()), ElementsAre("\"high\""));
    clock.advance(1min);
  }
  clock.advance(1min);
  NewTask high = task("\"high\"");
  high.priority = 100;
  add(high);
  EXPECT_THAT(payloads(claim()), ElementsAre("\"low\""));
}

TEST_P(Stores, AreFairAmongGroups) {
  std::vector<NewTask> all(2000, task());
  for (NewTask& each : all) each.group = "large";
  ASSERT_TRUE(insert(all));
  for (int i = 0; i < 99; ++i) {
    NewTask one = task();
    one.group = "small-" + std::to_string(i);
    add(one);
  }
  std::map<std::string, int> seen;
  for (int i = 0; i < 20; ++i) {
    for (const Claimed& each : claim(10)) ++seen[each.group];
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST_P(Stores, AreFairToGroupsThatComeLate) {
  for (int i = 0; i < 50; ++i) {
    NewTask one = task();
    one.group = "early";
    add(one);
  }
  ASSERT_EQ(claim(20).size(), 20u);
  NewTask late = task("\"late\"");
  late.group = "late";
  add(late);
  const auto next = claim(2);
  EXPECT_TRUE(next[0].payload == "\"late\"" || next[1].payload == "\"late\"");
}

// -- Limits ---------------------------------------------------------------------------------------

TEST_P(Stores, RunNoMoreAtATimeThanAQueueMay) {
  QueueSettings settings;
  settings.concurrency = 2;
  configure(settings);
  for (int i = 0; i < 5; ++i) add(task());
  const auto two = claim(5);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_TRUE(claim(5).empty());
  finish(two[0]);
  EXPECT_EQ(changes.ready.at("q"), 1) << "somebody must be told that there is room";
  EXPECT_EQ(claim(5).size(), 1u);
}

TEST_P(Stores, RunNoMoreOfAGroupAtATimeThanItMay) {
  QueueSettings settings;
  settings.group_concurrency = 1;
  configure(settings);
  for (const std::string group : {"a", "a", "a", "b", ""}) {
    NewTask each = task('"' + group + '"');
    each.group = group;
    add(each);
  }
  const auto first = claim(10);
  EXPECT_THAT(payloads(first), ::testing::UnorderedElementsAre("\"a\"", "\"b\"", "\"\""));
  EXPECT_TRUE(claim(10).empty());
  for (const Claimed& each : first) finish(each);
  const auto second = claim(10);
  ASSERT_THAT(payloads(second), ElementsAre("\"a\""));
  finish(second[0], Kind::failed, "no", 1h);  // Who is late does not hold the group up.
  EXPECT_THAT(payloads(claim(10)), ElementsAre("\"a\""));
}

TEST_P(Stores, LetAllOfAGroupInOnceItHasNoLimit) {
  QueueSettings settings;
  settings.group_concurrency = 1;
  configure(settings);
  for (int i = 0; i < 5; ++i) {
    NewTask each = task();
    each.group = "a";
    add(each);
  }
  EXPECT_EQ(claim(10).size(), 1u);
  configure({});
  EXPECT_EQ(claim(10).size(), 4u);
}

TEST_P(Stores, KeepToARate) {
  QueueSettings settings;
  settings.rate = 10;
  settings.burst = 3;
  configure(settings);
  for (int i = 0; i < 20; ++i) add(task());
  EXPECT_EQ(claim(10).size(), 3u);
  const auto none = claim_with_limits(10);
  EXPECT_TRUE(none.tasks.empty());
  EXPECT_EQ(none.again_in, 100ms);
  clock.advance(100ms);
  EXPECT_EQ(claim(10).size(), 1u);
  clock.advance(10s);
  EXPECT_EQ(claim(10).size(), 3u);
}

TEST_P(Stores, GiveNothingOutOfAQueueThatIsPaused) {
  add(task());
  with([&](Transaction& each) { each.pause("q", true); });
  EXPECT_TRUE(claim().empty());
  EXPECT_TRUE(insert({task()}));
  with([&](Transaction& each) { each.pause("q", false); });
  EXPECT_EQ(changes.ready.at("q"), 2);
  EXPECT_EQ(claim(5).size(), 2u);
}

// -- One after the other --------------------------------------------------------------------------

TEST_P(Stores, RunATaskAfterThoseItWaitsFor) {
  const auto first = add(task("1")).id;
  const auto second = add(task("2")).id;
  NewTask last = task("3");
  last.after = {first, second, first};
  EXPECT_EQ(add(last).state, TaskState::waiting);
  const auto two = claim(5);
  ASSERT_EQ(two.size(), 2u);
  finish(two[0]);
  EXPECT_TRUE(claim().empty());
  finish(two[1]);
  const auto third = claim();
  ASSERT_EQ(third.size(), 1u);
  EXPECT_TRUE(third[0].has_inputs);
  EXPECT_THAT(get(third[0].id).after, ElementsAre(first, second));
}

TEST_P(Stores, CancelAllThatWaitForOneThatDied) {
  const auto first = add(task()).id;
  std::vector<TaskId> chain{first};
  for (int i = 0; i < 100; ++i) {
    NewTask next = task();
    next.after = {chain.back()};
    chain.push_back(add(next).id);
  }
  const auto alone = add(task()).id;
  finish(claim()[0], Kind::failed_for_good, "no");
  for (std::size_t i = 1; i < chain.size(); ++i) {
    ASSERT_EQ(get(chain[i]).state, TaskState::cancelled);
    ASSERT_THAT(get(chain[i]).reason, ::testing::HasSubstr(chain[i - 1].to_string()));
  }
  EXPECT_EQ(get(alone).state, TaskState::ready);
  EXPECT_EQ(look().count(TaskState::waiting), 0);
}

TEST_P(Stores, RefuseToWaitForWhatIsNotThereOrWillNotBeDone) {
  NewTask lost = task();
  lost.after = {TaskId::make(clock.now())};
  EXPECT_EQ(insert({lost}).error().code, TaskError::Code::not_found);
  EXPECT_EQ(insert({lost}).error().field, "[0].after[0]");
  const auto dead = add(task()).id;
  finish(claim()[0], Kind::failed_for_good, "no");
  lost.after = {dead};
  EXPECT_EQ(insert({task(), lost}).error().field, "[1].after[0]");
  EXPECT_EQ(look().unfinished(), 0);
}

TEST_P(Stores, TakeAWorkflowInOneBatch) {
  NewTask first = task("1");
  first.id = TaskId::make(clock.now());
  NewTask second = task("2");
  second.after = {*first.id};
  ASSERT_TRUE(insert({first, second}));
  finish(claim()[0]);
  EXPECT_THAT(payloads(claim()), ElementsAre("2"));
}

// -- Cancelled, and run again ---------------------------------------------------------------------

TEST_P(Stores, CancelATaskInWhateverStateItIs) {
  const auto ready = add(task()).id;
  NewTask later = task();
  later.delay = 1h;
  const auto scheduled = add(later).id;
  const auto cancel = [&](const TaskId& id) {
    return with([&](Transaction& each) { return each.cancel(id, "enough"); });
  };
  EXPECT_EQ(cancel(ready), TaskState::ready);
  EXPECT_EQ(cancel(scheduled), TaskState::scheduled);
  EXPECT_EQ(get(ready).reason, "enough");
  EXPECT_TRUE(claim().empty());
  add(task());
  const auto running = claim()[0];
  EXPECT_EQ(cancel(running.id), TaskState::running);
  EXPECT_EQ(finish(running), Recorded::cancelled);
  const Extension extension{.id = running.id, .lease = running.lease};
  EXPECT_EQ(with([&](Transaction& each) { return each.extend(std::span(&extension, 1)).front(); }),
            Recorded::cancelled);
  EXPECT_EQ(cancel(running.id).error().code, TaskError::Code::conflict);
  EXPECT_EQ(cancel(TaskId::make(clock.now())).error().code, TaskError::Code::not_found);
  EXPECT_EQ(look().unfinished(), 0);
}

TEST_P(Stores, RunAFinishedTaskAgain) {
  NewTask once = task("7");
  once.max_attempts = 1;
  once.group = "g";
  const auto id = add(once).id;
  finish(claim()[0], Kind::failed, "no");
  EXPECT_EQ(get(id).state, TaskState::dead);
  EXPECT_EQ(with([&](Transaction& each) { return each.replay(id); }), TaskState::dead);
  const auto again = claim();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].attempt, 1);
  EXPECT_EQ(with([&](Transaction& each) { return each.replay(id); }).error().code,
            TaskError::Code::conflict);
  finish(again[0]);
  EXPECT_EQ(look().count(TaskState::done), 1);
  EXPECT_EQ(look().count(TaskState::dead), 0);
}

TEST_P(Stores, PurgeAQueue) {
  for (int i = 0; i < 10; ++i) add(task());
  ASSERT_EQ(claim().size(), 1u);
  const Chore chore =
      with([&](Transaction& each) { return each.purge("q", TaskState::ready, 100); });
  EXPECT_EQ(chore.done, 9);
  EXPECT_EQ(look().unfinished(), 1);
  EXPECT_EQ(with([&](Transaction& each) { return each.purge("q", TaskState::running, 100); }).done,
            0);
}

TEST_P(Stores, ListTasksPageByPage) {
  for (int i = 0; i < 5; ++i) add(task(std::to_string(i)));
  TaskFilter filter{.queue = "q", .limit = 2};
  std::vector<std::string> seen;
  for (;;) {
    const auto page = with([&](Transaction& each) { return each.list(filter); });
    for (const Task& each : page.tasks) seen.push_back(each.payload);
    if (!page.next) break;
    filter.before = page.next;
  }
  EXPECT_THAT(seen, ElementsAre("4", "3", "2", "1", "0"));
  filter = {.kind = "other"};
  EXPECT_TRUE(with([&](Transaction& each) { return each.list(filter); }).tasks.empty());
}

// -- Workers --------------------------------------------------------------------------------------

TEST_P(Stores, KnowOfWorkersThatAreThereUntilTheirLeasesSayOtherwise) {
  const auto seen = [&](std::string_view name) {
    const auto all = with([&](Transaction& each) { return each.workers(); });
    const auto found = std::ranges::find(all, name, &WorkerLook::name);
    return found == all.end() ? Time() : found->seen_at;
  };
  const Time began = clock.now();
  with([&](Transaction& each) {
    each.add_worker({.name = "here", .queues = {}, .kinds = {}});
    each.add_worker({.name = "elsewhere", .queues = {}, .kinds = {}});
  });
  add(task("1"));
  add(task("2"));
  const auto claim_for = [&](const std::string& worker, bool is_for_others) {
    with([&](Transaction& each) {
      const ClaimRequest request{.queue = "q",
                                 .most = 1,
                                 .lease_for = 1min,
                                 .worker = worker,
                                 .is_for_others = is_for_others};
      ASSERT_EQ(each.claim(request).tasks.size(), 1u);
    });
  };
  claim_for("here", false);
  claim_for("elsewhere", true);
  clock.advance(50s);
  EXPECT_EQ(seen("here"), clock.now());
  EXPECT_EQ(seen("elsewhere"), clock.now());
  clock.advance(20s);  // Nobody has extended its lease.
  EXPECT_EQ(seen("here"), clock.now());
  EXPECT_EQ(seen("elsewhere"), began);
}

// -- Numbers --------------------------------------------------------------------------------------

// Whatever happens, what is counted is what is there.
TEST_P(Stores, KeepTheirNumbersWhateverHappens) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::minstd_rand random(seed);
    QueueSettings settings;
    settings.group_concurrency = static_cast<int>(random() % 3);
    settings.concurrency = random() % 2 == 0 ? 0 : 3;
    settings.capacity = 30;
    settings.retry = {FixedBackoff{.delay = 1s}};
    configure(settings);
    std::vector<Claimed> running;
    std::vector<TaskId> known;
    for (int step = 0; step < 150; ++step) {
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: {
          NewTask each = task("12345");
          if (random() % 2 == 0) each.group = std::string(1, static_cast<char>('a' + random() % 3));
          if (random() % 4 == 0) each.delay = Millis(random() % 3000);
          if (random() % 4 == 0 && !known.empty()) {
            const auto& id = known[random() % known.size()];
            each.after = {id};
          }
          each.max_attempts = 2;
          if (const auto added = insert({each})) known.push_back(added->front().id);
          break;
        }
        case 3:
          for (Claimed& each : claim(static_cast<int>(1 + random() % 3)))
            running.push_back(std::move(each));
          break;
        case 4:
        case 5:
          if (!running.empty()) {
            constexpr Kind kinds[] = {
                Kind::done,     Kind::done,     Kind::failed,   Kind::failed_for_good,
                Kind::deferred, Kind::released, Kind::cancelled};
            const auto at = random() % running.size();
            finish(running[at], kinds[random() % std::size(kinds)], "null");
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
          }
          break;
        case 6:
          if (!known.empty()) {
            const TaskId id = known[random() % known.size()];
            with([&](Transaction& each) {
              if (random() % 2 == 0) {
                static_cast<void>(each.cancel(id, ""));
              } else {
                static_cast<void>(each.replay(id));
              }
            });
          }
          break;
        case 7:
          clock.advance(Millis(random() % 20'000));
          keep_time();
          break;
      }
      std::array<std::int64_t, task_states> counted{};
      TaskFilter all{.queue = "q", .limit = 1000};
      for (;;) {
        const auto page = with([&](Transaction& each) { return each.list(all); });
        for (const Task& each : page.tasks) ++counted[static_cast<std::size_t>(each.state)];
        if (!page.next) break;
        all.before = page.next;
      }
      const QueueLook now = look();
      ASSERT_EQ(now.counts, counted) << "seed " << seed << ", step " << step;
      ASSERT_EQ(now.bytes, 5 * now.unfinished()) << "seed " << seed << ", step " << step;
    }
    // And none is forgotten: with patience all come to an end.
    configure({});
    for (int round = 0; round < 1000 && look().unfinished() > 0; ++round) {
      clock.advance(1min);
      keep_time();
      for (const Claimed& each : claim(100)) finish(each);
    }
    ASSERT_EQ(look().unfinished(), 0) << "seed " << seed;
    // What is looked through after each step does not grow from seed to seed.
    with([&](Transaction& each) {
      for (const auto state : {TaskState::done, TaskState::dead, TaskState::cancelled}) {
        EXPECT_FALSE(each.purge("q", state, 10'000).has_more);
      }
    });
  }
}

}  // namespace
}  // namespace handoff::tests
