// Many tasks in one transaction are written by statements about several rows: nothing else may differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::Each;

class Many : public StoreTest {
 protected:
  static std::vector<Outcome> done(const std::vector<Claimed>& all) {
    std::vector<Outcome> outcomes;
    for (const Claimed& each : all) {
      outcomes.push_back({.id = each.id, .lease = each.lease, .text = each.payload});
    }
    return outcomes;
  }
  std::vector<Recorded> finish_all(const std::vector<Outcome>& outcomes) {
    return with([&](Transaction& each) { return each.finish(outcomes); });
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Many, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(Many, ComeInTheirOrderAndEachKeepsWhatIsItsOwn) {
  auto all = numbered(60);
  all[3].priority = 5;
  all[7].delay = 1h;
  all[11].trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  all[13].timeout = 5s;
  all[17].max_attempts = 3;
  all[30].payload = '"' + std::string(5000, 'x') + '"';  // Large: not among those of one statement.
  const auto inserted = insert(all).value();
  ASSERT_EQ(inserted.size(), 60u);
  EXPECT_EQ(inserted[7].state, TaskState::scheduled);
  EXPECT_EQ(changes.ready.at("q"), 59);

  const auto claimed = claim(100);
  ASSERT_EQ(claimed.size(), 59u);
  EXPECT_EQ(claimed[0].id, inserted[3].id);
  std::size_t at = 1;
  std::set<TaskId> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 3 || i == 7) continue;
    EXPECT_EQ(claimed[at].id, inserted[i].id) << i;
    EXPECT_EQ(claimed[at].payload, all[i].payload) << i;
    EXPECT_EQ(claimed[at].trace, all[i].trace) << i;
    EXPECT_EQ(claimed[at].timeout, all[i].timeout) << i;
    EXPECT_EQ(claimed[at].max_attempts, i == 17 ? 3 : 20) << i;
    seen.insert(claimed[at++].id);
  }
  EXPECT_EQ(seen.size(), 58u);
}

TEST_P(Many, AreRefusedAsWhole) {
  QueueSettings settings;
  settings.capacity = 50;
  configure(settings);
  const auto refused = insert(numbered(60));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "[50].queue");
  EXPECT_EQ(look().unfinished(), 0);
}

TEST_P(Many, TwinsAmongThemAreFound) {
  auto all = numbered(60);
  all[1].unique_key = all[59].unique_key = "only one";
  const auto inserted = insert(all).value();
  EXPECT_TRUE(inserted[59].is_duplicate);
  EXPECT_EQ(inserted[59].id, inserted[1].id);
  EXPECT_EQ(look().count(TaskState::ready), 59);
}

TEST_P(Many, OfALimitedGroupAreHeldBackAndLetInAgain) {
  QueueSettings settings;
  settings.group_concurrency = 2;
  configure(settings);
  auto all = numbered(50);
  for (NewTask& each : all) each.group = "g";
  ASSERT_TRUE(insert(all));
  for (int i = 0; i < 50; i += 2) {
    const auto two = claim(100);
    ASSERT_EQ(two.size(), 2u) << i;
    EXPECT_EQ(two[0].payload, std::to_string(i));
    EXPECT_EQ(two[0].group, "g");
    EXPECT_THAT(finish_all(done(two)), Each(Recorded::yes));
  }
  EXPECT_EQ(look().count(TaskState::done), 50);
}

TEST_P(Many, OneThatIsTooLateIsNotClaimedWithTheOthers) {
  auto all = numbered(40);
  all[20].expires_in = 10s;
  const auto inserted = insert(all).value();
  clock.advance(11s);
  const auto claimed = claim(40);
  EXPECT_EQ(claimed.size(), 39u);
  EXPECT_EQ(get(inserted[20].id).state, TaskState::cancelled);
  EXPECT_EQ(look().count(TaskState::running), 39);
}

TEST_P(Many, EachHasItsOwnResult) {
  ASSERT_TRUE(insert(numbered(60)));
  const auto claimed = claim(60);
  EXPECT_THAT(finish_all(done(claimed)), Each(Recorded::yes));
  for (const Claimed& each : claimed) {
    const Task task = get(each.id);
    EXPECT_EQ(task.state, TaskState::done);
    EXPECT_EQ(task.result, each.payload);
    EXPECT_EQ(task.finished_at, clock.now());
  }
  EXPECT_EQ(look().count(TaskState::done), 60);
  EXPECT_EQ(look().bytes, 0);
}

TEST_P(Many, WhoHasLostALeaseIsToldSoAmongTheOthers) {
  ASSERT_TRUE(insert(numbered(50)));
  const auto claimed = claim(50);
  auto outcomes = done(claimed);
  with([&](Transaction& each) { return each.cancel(claimed[5].id, "").has_value(); });
  outcomes[40].lease.token += 1;
  const auto recorded = finish_all(outcomes);
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const auto expected = i == 5 ? Recorded::cancelled : i == 40 ? Recorded::stale : Recorded::yes;
    EXPECT_EQ(recorded[i], expected) << i;
  }
  EXPECT_EQ(look().count(TaskState::running), 1);
  EXPECT_EQ(look().count(TaskState::done), 48);
}

TEST_P(Many, WhoSaysItTwiceIsToldSoAmongTheOthers) {
  ASSERT_TRUE(insert(numbered(25)));
  auto outcomes = done(claim(25));
  outcomes[12] = outcomes[11];
  const auto recorded = finish_all(outcomes);
  EXPECT_EQ(recorded[11], Recorded::yes);
  EXPECT_EQ(recorded[12], Recorded::again);
  EXPECT_EQ(look().count(TaskState::done), 24);
}

TEST_P(Many, ThatAreDoneLetThoseRunThatWaitForThem) {
  const auto before = insert(numbered(30)).value();
  NewTask last{.queue = "q", .kind = "k", .payload = "\"last\""};
  for (const Enqueued& each : before) last.after.push_back(each.id);
  EXPECT_EQ(add(last).state, TaskState::waiting);
  EXPECT_THAT(finish_all(done(claim(100))), Each(Recorded::yes));
  const auto claimed = claim(100);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].payload, "\"last\"");
}

}  // namespace
}  // namespace handoff::tests
