// Commits write to the WAL, and a thread copies it into the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "handoff/log.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/await_sleep.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace tasks;
using testing::eventually;

constexpr std::uintmax_t page_size = 4096;

class Checkpointing : public ::testing::Test {
 protected:
  Checkpointing() {
    before_ = set_log([this](std::string_view line) {
      const std::lock_guard turn(lock_);
      log_.emplace_back(line);
    });
  }
  ~Checkpointing() override { set_log(before_); }

  std::unique_ptr<sqlite::SqliteStore> open(const sqlite::CheckpointOptions& checkpoints) {
    return std::make_unique<sqlite::SqliteStore>(sqlite::SqliteOptions{
        .path = path, .is_fast = true, .clock = &clock, .checkpoints = checkpoints});
  }

  // About so many pages, in commits of some.
  static void write(Store& store, int pages) {
    const NewTask task{.queue = "q", .kind = "k", .payload = '"' + std::string(2000, 'x') + '"'};
    const std::vector<NewTask> some(10, task);
    for (int written = 0; written < pages; written += 10) {
      store.transact([&](Transaction& each) { ASSERT_TRUE(each.insert(some)); });
    }
  }

  std::uintmax_t wal_pages() const { return std::filesystem::file_size(path + "-wal") / page_size; }
  std::vector<std::string> log() {
    const std::lock_guard turn(lock_);
    return log_;
  }

  const Folder folder;
  const std::string path = folder.file("tasks.db");
  ManualTaskClock clock;

 private:
  LogSink before_;
  std::mutex lock_;
  std::vector<std::string> log_;
};

TEST_F(Checkpointing, CommitsDoNotCopyAnything) {
  const auto store = open({.step = 1'000'000, .long_wal = 1'000'000, .too_long_wal = 1'000'000});
  const auto before = std::filesystem::file_size(path);
  write(*store, 3000);
  EXPECT_EQ(std::filesystem::file_size(path), before);
  EXPECT_GT(wal_pages(), 1500u);  // SQLite would have copied it after 1000.
}

TEST_F(Checkpointing, TheWalStaysShortUnderAStreamOfCommits) {
  const auto store = open({.step = 20, .long_wal = 100, .too_long_wal = 10'000});
  for (int written = 0; written < 6000; written += 300) {
    const auto before = std::filesystem::file_size(path);
    write(*store, 300);
    // On a busy machine the thread may not have had a core yet.
    eventually([&] {
      if (std::filesystem::file_size(path) > before) return true;
      // Those that came while it was still at work have not rung: the next one does.
      await_sleep();
      write(*store, 10);
      return false;
    });
  }
  EXPECT_LT(wal_pages(), 3000u);
  EXPECT_TRUE(log().empty());
}

TEST_F(Checkpointing, WhatWasCommittedIsInTheFileOnceItIsClosed) {
  auto store = open({.step = 100, .long_wal = 1000, .too_long_wal = 10'000});
  write(*store, 500);
  store.reset();
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  store = open({});
  QueueLook look;
  store->read([&](Transaction& each) { look = each.look("q"); });
  EXPECT_EQ(look.count(TaskState::ready), 500);
}

TEST_F(Checkpointing, ALongReaderIsComplainedOfOnceAndTheWalIsCutAfterIt) {
  const auto store = open({.step = 20, .long_wal = 100, .too_long_wal = 200});
  write(*store, 10);
  store->read([&](Transaction& reader) {
    const auto seen = reader.look("q").count(TaskState::ready);
    write(*store, 1000);
    eventually([&] {
      write(*store, 30);
      return !log().empty();
    });
    write(*store, 1000);
    EXPECT_EQ(reader.look("q").count(TaskState::ready), seen);
  });
  const auto lines = log();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("reading from it for long"));
  eventually([&] {
    write(*store, 30);
    return wal_pages() < 200;
  });
}

TEST_F(Checkpointing, TwoStoresOfOneFileDoNotFight) {
  const sqlite::CheckpointOptions often{.step = 10, .long_wal = 50, .too_long_wal = 10'000};
  const auto one = open(often);
  const auto other = open(often);
  std::jthread writes([&] { write(*other, 1500); });
  write(*one, 1500);
  writes.join();
  QueueLook look;
  one->read([&](Transaction& each) { look = each.look("q"); });
  EXPECT_EQ(look.count(TaskState::ready), 3000);
  EXPECT_TRUE(log().empty());
}

}  // namespace
}  // namespace handoff::tests
