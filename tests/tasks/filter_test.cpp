// Which tasks a filter means: whichever way they are found, they are the same.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using tasks::Claimed;
using tasks::NewTask;
using tasks::Outcome;
using tasks::Task;
using tasks::TaskFilter;
using tasks::TaskId;
using tasks::TaskState;
using tasks::Transaction;

class Filters : public StoreTest {
 protected:
  // Some in each state, in two queues, of two kinds, in two groups, dead for two reasons.
  void fill() {
    tasks::QueueSettings settings;
    settings.group_concurrency = 1;  // So that some are held.
    for (const std::string queue : {"a", "b"}) {
      configure(settings, queue);
      for (int i = 0; i < 40; ++i) {
        NewTask task{.queue = queue, .kind = i % 2 == 0 ? "even" : "odd", .payload = "{}"};
        if (i % 5 == 0) task.group = i % 10 == 0 ? "g" : "h";
        if (i % 8 == 7) task.delay = 1h;
        add(task);
      }
      for (const Claimed& each : claim(12, queue)) {
        const bool is_done = each.kind == "even";
        const auto kind = is_done ? Outcome::Kind::done : Outcome::Kind::failed_for_good;
        finish(each, kind, is_done ? "1" : queue == "a" ? "why not" : "no");
      }
      ASSERT_FALSE(claim(3, queue).empty());
      const auto ready = with([&](Transaction& each) {
        return each.list({.queue = queue, .state = TaskState::ready, .limit = 2});
      });
      for (const Task& each : ready.tasks) {
        with([&](Transaction& some) { ASSERT_TRUE(some.cancel(each.id, "no")); });
      }
      NewTask waits{.queue = queue, .kind = "odd", .payload = "{}"};
      waits.after = {ready.tasks.empty() ? TaskId() : running_one(queue)};
      add(waits);
    }
  }
  TaskId running_one(const std::string& queue) {
    const auto page = with([&](Transaction& each) {
      return each.list({.queue = queue, .state = TaskState::running, .limit = 1});
    });
    return page.tasks.at(0).id;
  }
  static bool is_meant(const TaskFilter& filter, const Task& task) {
    return (filter.queue.empty() || filter.queue == task.queue) &&
           (filter.kind.empty() || filter.kind == task.kind) &&
           (!filter.state || filter.state == task.state) &&
           (filter.group.empty() || filter.group == task.group) &&
           (filter.error.empty() || filter.error == task.reason);
  }
  std::vector<Task> all() {
    return with([&](Transaction& each) { return each.list({.limit = 1000}); }).tasks;
  }
  // Newest first, three at a time.
  std::vector<TaskId> listed(TaskFilter filter) {
    std::vector<TaskId> ids;
    filter.limit = 3;
    for (;;) {
      const auto page = with([&](Transaction& each) { return each.list(filter); });
      for (const Task& each : page.tasks) ids.push_back(each.id);
      if (!page.next) return ids;
      filter.before = page.next;
    }
  }
  // Oldest first.
  std::vector<TaskId> found(TaskFilter filter) {
    std::vector<TaskId> ids;
    filter.limit = 3;
    std::int64_t after = 0;
    for (;;) {
      const auto some = with([&](Transaction& each) { return each.find(filter, after); });
      for (const auto& [row, id] : some) ids.push_back(id);
      if (std::ssize(some) < filter.limit) return ids;
      after = some.back().first;
    }
  }
};

TEST_P(Filters, MeanTheSameHoweverTheyAreAsked) {
  fill();
  const std::vector<Task> tasks = all();
  int meant = 0;
  for (const std::string queue : {"", "a", "b", "unknown"}) {
    for (const std::string kind : {"", "odd"}) {
      for (const std::string group : {"", "g"}) {
        for (const std::string error : {"", "no", "why not"}) {
          for (int state = -1; state < static_cast<int>(tasks::task_states); ++state) {
            TaskFilter filter{.queue = queue, .kind = kind, .group = group, .error = error};
            if (state >= 0) filter.state = static_cast<TaskState>(state);
            std::vector<TaskId> expected;
            for (const Task& each : tasks) {
              if (is_meant(filter, each)) expected.push_back(each.id);
            }
            meant += static_cast<int>(expected.size());
            ASSERT_EQ(listed(filter), expected) << queue << kind << group << error << state;
            std::ranges::reverse(expected);
            ASSERT_EQ(found(filter), expected) << queue << kind << group << error << state;
            ASSERT_EQ(with([&](Transaction& each) { return each.count(filter); }),
                      std::ssize(expected))
                << queue << kind << group << error << state;
          }
        }
      }
    }
  }
  EXPECT_GT(meant, 500);
  for (std::size_t i = 0; i < tasks::task_states; ++i) {
    EXPECT_TRUE(std::ranges::any_of(tasks, [&](const Task& each) {
      return each.state == static_cast<TaskState>(i);
    })) << i;
  }
}

TEST_P(Filters, LeaveOutWhatIsNotWanted) {
  NewTask large{.queue = "q", .kind = "k", .payload = '"' + std::string(5000, 'x') + '"'};
  add(large);
  finish(claim().front(), Outcome::Kind::done, "\"result\"");
  const auto page =
      with([&](Transaction& each) { return each.list({.limit = 1, .has_payloads = false}); });
  EXPECT_EQ(page.tasks.front().payload, "");
  EXPECT_FALSE(page.tasks.front().result);
  EXPECT_EQ(get(page.tasks.front().id).payload.size(), 5002u);
}

TEST_P(Filters, TellHowDeepQueuesAreWithEachChange) {
  add({.queue = "q", .kind = "k", .payload = "{}"});
  ASSERT_EQ(changes.depths.size(), 1u);
  const tasks::QueueDepth depth = changes.depths.front();
  EXPECT_EQ(depth.queue, "q");
  EXPECT_EQ(depth.counts, look().counts);
  EXPECT_TRUE(changes.depths.empty());  // Who only looks changes nothing.
  finish(claim().front());
  ASSERT_EQ(changes.depths.size(), 1u);
  EXPECT_EQ(changes.depths.front().counts[static_cast<std::size_t>(TaskState::done)], 1);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, Filters, ::testing::Values("memory", "file"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace handoff::tests
