// Stores for tests, with a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/testing.hpp"
#include "tasks/stores/sqlite/sqlite_store.hpp"

namespace handoff::tests {

using handoff::testing::ManualTaskClock;

// A folder of its own, gone with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "handoff-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Each test with each kind of store.
class StoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  StoreTest() { reopen(); }

  void reopen() {
    store.reset();
    store = std::make_unique<tasks::sqlite::SqliteStore>(
        tasks::sqlite::SqliteOptions{.path = GetParam() == "memory" ? "" : folder.file("tasks.db"),
                                     .is_fast = true,
                                     .clock = &clock});
  }

  template <typename Work>
  auto with(Work work) {
    using Result = decltype(work(std::declval<tasks::Transaction&>()));
    if constexpr (std::is_void_v<Result>) {
      changes = store->transact(work);
    } else {
      std::optional<Result> result;
      changes = store->transact([&](tasks::Transaction& each) { result = work(each); });
      return std::move(*result);
    }
  }

  static std::vector<tasks::NewTask> numbered(int count) {
    std::vector<tasks::NewTask> all;
    for (int i = 0; i < count; ++i) {
      all.push_back({.queue = "q", .kind = "k", .payload = std::to_string(i)});
    }
    return all;
  }
  std::expected<std::vector<tasks::Enqueued>, tasks::TaskError> insert(
      const std::vector<tasks::NewTask>& all) {
    return with([&](tasks::Transaction& each) { return each.insert(all); });
  }
  tasks::Enqueued add(const tasks::NewTask& task) { return insert({task}).value().front(); }
  tasks::ClaimResult claim_with_limits(int most = 1, const std::string& queue = "q") {
    return with([&](tasks::Transaction& each) {
      return each.claim({.queue = queue, .most = most, .lease_for = {}, .worker = "w"});
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
  // All that is due.
  void keep_time() {
    with([&](tasks::Transaction& each) {
      each.fire(1000);
      each.promote(1000);
      each.reclaim(1000);
      each.expire(1000);
      each.prune(1000);
    });
  }

  const Folder folder;
  ManualTaskClock clock;
  std::unique_ptr<tasks::sqlite::SqliteStore> store;
  tasks::Changes changes;  // Of the last transaction.
};

}  // namespace handoff::tests
