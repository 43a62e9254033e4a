// What tests/tasks says of every store, over a server whose clock the test moves.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handoff/tasks/testing.hpp"
#include "remote/served.hpp"
#include "tasks/core.hpp"
#include "tasks/remote/remote_store.hpp"

namespace handoff::tests {

using handoff::testing::ManualTaskClock;

// As tests/tasks/stores.hpp has it for files.
class StoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    // They look at what a transaction tells those who wait in its process, or at what a server tells nobody.
    static const std::map<std::string, std::string> not_for_servers{
        {"GiveWhatWasPutInInItsOrder", "who waits is told by the server, not by the transaction"},
        {"RefuseWhatAQueueHasNoRoomFor", "who waits is told by the server, not by the transaction"},
        {"RunNothingBeforeItsTime", "time is kept by the server"},
        {"RunNoMoreAtATimeThanAQueueMay", "who waits is told by the server"},
        {"GiveNothingOutOfAQueueThatIsPaused", "who waits is told by the server"},
        {"ClaimNoMoreBytesThanAreWanted", "a server decides how large its answers are"},
        {"KeepToARate", "the server waits itself until it may give more"},
        {"PurgeAQueue", "a server refuses to purge what runs; a store has nothing to purge then"},
        {"KeepTheirNumbersWhateverHappens", "it counts in the transaction that changes"},
        {"KnowOfWorkersThatAreThereUntilTheirLeasesSayOtherwise", "a server hears of workers"},
    };
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const auto why = not_for_servers.find(test.substr(0, test.find('/')));
    if (why != not_for_servers.end()) GTEST_SKIP() << why->second;
  }

  template <typename Work>
  auto with(Work work) {
    using Result = decltype(work(std::declval<tasks::Transaction&>()));
    tasks::Store& store = core().store();
    if constexpr (std::is_void_v<Result>) {
      changes = store.transact(work);
    } else {
      std::optional<Result> result;
      changes = store.transact([&](tasks::Transaction& each) { result = work(each); });
      return std::move(*result);
    }
  }

  std::expected<std::vector<tasks::Enqueued>, tasks::TaskError> insert(
      const std::vector<tasks::NewTask>& all) {
    return with([&](tasks::Transaction& each) { return each.insert(all); });
  }
  tasks::Enqueued add(const tasks::NewTask& task) { return insert({task}).value().front(); }
  // By a worker that comes and goes: one that stays would wait for more.
  tasks::ClaimResult claim_with_limits(int most = 1, const std::string& queue = "q") {
    return with([&](tasks::Transaction& each) {
      const auto row = each.add_worker(
          {.name = "w", .queues = {{.name = queue, .concurrency = 1}}, .kinds = {}});
      auto result = each.claim(
          {.queue = queue, .most = most, .lease_for = {}, .worker = "w", .worker_row = row});
      each.remove_worker(row);
      return result;
    });
  }
  std::vector<tasks::Claimed> claim(int most = 1, const std::string& queue = "q") {
    return claim_with_limits(most, queue).tasks;
  }
  tasks::Recorded finish(const tasks::Claimed& task,
                         tasks::Outcome::Kind kind = tasks::Outcome::Kind::done,
                         std::string text = "null", std::optional<tasks::Millis> later = {}) {
    return with([&](tasks::Transaction& each) {
      const tasks::Outcome outcome{
          .id = task.id, .lease = task.lease, .kind = kind, .text = text, .later = later};
      return each.finish(std::span(&outcome, 1)).front();
    });
  }
  tasks::Task get(const tasks::TaskId& id) {
    return with([&](tasks::Transaction& each) { return each.get(id).value(); });
  }
  tasks::QueueLook look(const std::string& queue = "q") {
    return with([&](tasks::Transaction& each) { return each.look(queue); });
  }
  void configure(const tasks::QueueSettings& settings, const std::string& queue = "q") {
    with([&](tasks::Transaction& each) { each.configure(queue, settings); });
  }
  // There.
  void keep_time() {
    tasks::TasksAccess::core(served.store()).batcher().run([](tasks::Transaction& each) {
      each.fire(1000);
      each.promote(1000);
      each.reclaim(1000);
      each.expire(1000);
      each.prune(1000);
    });
  }
  tasks::TasksCore& core() { return tasks::TasksAccess::core(opened); }

  ManualTaskClock clock;
  Served served{handoff::testing::open_tasks(clock)};
  const tasks::Tasks opened = served.open({.clock = &clock});
  tasks::Changes changes;  // Of the last transaction.
};

}  // namespace handoff::tests

#define HANDOFF_STORE_KINDS "server"
#include "tasks/store_test.cpp"
