// A disk that is full: new tasks are refused with a message, nothing is stored by halves, and all goes on once there is room.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/log.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/core.hpp"
#include "tasks/power_cut_vfs.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using testing::eventually;

class SmallDisk {
 public:
  virtual ~SmallDisk() = default;
  virtual sqlite::SqliteOptions options() const = 0;
  virtual void fill() = 0;
  virtual void make_room() = 0;
};

// For everybody: SQLite is told that the disk is full.
class CountedDisk final : public SmallDisk {
 public:
  sqlite::SqliteOptions options() const override {
    return {.path = folder_.file("tasks.db"), .database = {.vfs = disk_.name()}};
  }
  void fill() override { disk_.set_room(disk_.used()); }
  void make_room() override { disk_.set_room(INT64_MAX); }

 private:
  const Folder folder_;
  PowerCutVfs disk_;
};

// Where one may mount: a file system of 2 MB. Only this process sees it.
class RealDisk final : public SmallDisk {
 public:
  RealDisk() {
    if (!mount_at(folder_.file("").c_str())) throw std::runtime_error("cannot mount");
  }
  ~RealDisk() override { ::umount2(folder_.file("").c_str(), MNT_DETACH); }
  RealDisk(const RealDisk&) = delete;
  RealDisk& operator=(const RealDisk&) = delete;

  static bool mount_at(const char* folder) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", folder, "tmpfs", 0, "size=2m") == 0;
  }
  // Tried in a process that is gone afterwards.
  static bool is_possible() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(mount_at("/tmp") ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    return status == 0;
  }

  sqlite::SqliteOptions options() const override { return {.path = folder_.file("tasks.db")}; }
  void fill() override {
    const int file = ::open(filler_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(512, 'x');
    while (::write(file, block.data(), block.size()) > 0) {
    }
    ::close(file);
  }
  void make_room() override { std::filesystem::remove(filler_); }

 private:
  const Folder folder_;
  const std::string filler_ = folder_.file("filler");
};

std::vector<std::string> kinds_of_disks() {
  if (RealDisk::is_possible()) return {"counted", "tmpfs"};
  return {"counted"};
}

class FullDisks : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<SmallDisk> disk = make_disk();
  std::optional<Tasks> opened = TasksAccess::open(disk->options());
  const Tasks& tasks() const { return *opened; }

  static std::unique_ptr<SmallDisk> make_disk() {
    if (GetParam() == "tmpfs") return std::make_unique<RealDisk>();
    return std::make_unique<CountedDisk>();
  }
  std::expected<Enqueued, TaskError> enqueue() const {
    return tasks().enqueue({.queue = "q", .kind = "k"});
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, FullDisks, ::testing::ValuesIn(kinds_of_disks()),
                         [](const auto& each) { return each.param; });

TEST_P(FullDisks, RefuseTasksAndTakeThemAgainOnceThereIsRoom) {
  const auto first = enqueue().value().id;
  disk->fill();
  const auto refused = enqueue();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("the disk is full; free some space"));
  EXPECT_THAT(refused.error().message, HasSubstr("tasks.db"));
  const std::vector<NewTask> batch(300, {.queue = "q", .kind = "k"});
  EXPECT_EQ(tasks().enqueue(batch).error().code, TaskError::Code::unavailable);

  // What was there can be read, and no more than that is there.
  EXPECT_EQ(tasks().get(first)->state, TaskState::ready);
  EXPECT_EQ(tasks().list({.limit = 1000})->tasks.size(), 1u);
  EXPECT_EQ(tasks().queue("q").count(TaskState::ready), 1);

  disk->make_room();
  EXPECT_TRUE(enqueue());
  EXPECT_TRUE(tasks().enqueue(batch));
  EXPECT_EQ(tasks().queue("q").count(TaskState::ready), 302);
  EXPECT_EQ(tasks().list({.limit = 1000})->tasks.size(), 302u);
}

TEST_P(FullDisks, AreWaitedForByWorkers) {
  std::atomic<int> complaints = 0;
  auto before = handoff::set_log([&](std::string_view line) {
    if (line.find("the disk is full") != std::string_view::npos) ++complaints;
  });
  auto watch = tasks().watch({});
  Event began;
  Event may_end;
  std::atomic<int> runs = 0;
  {
    Worker worker{tasks(), {.queues = {{"q", 1}}}};
    worker.handle("k", [&](const Json&, Context&) -> Finish {
      ++runs;
      began.set();
      static_cast<void>(may_end.wait());
      return {};
    });
    const auto id = enqueue().value().id;
    std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
    ASSERT_TRUE(began.wait());
    disk->fill();
    may_end.set();
    eventually([&] { return complaints > 0; }, 60s);
    EXPECT_EQ(tasks().get(id)->state, TaskState::running);
    disk->make_room();
    EXPECT_EQ(tasks().wait(id, 60s)->state, TaskState::done);
    const auto next = enqueue().value().id;
    EXPECT_EQ(tasks().wait(next, 60s)->state, TaskState::done);
  }
  int ends = 0;
  while (const auto event = watch.poll()) ends += event->state == TaskState::done ? 1 : 0;
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(ends, 2);
  handoff::set_log(before);
}

TEST_P(FullDisks, RefuseANewStore) {
  opened.reset();
  disk = nullptr;
  disk = make_disk();
  disk->fill();
  try {
    const Tasks refused = TasksAccess::open(disk->options());
    FAIL() << "it was opened on a full disk";
  } catch (const sqlite::Failure& failure) {
    EXPECT_EQ(failure.error.code, TaskError::Code::unavailable);
    EXPECT_THAT(failure.error.message, HasSubstr("the disk is full"));
  }
  disk->make_room();
  opened = TasksAccess::open(disk->options());
  EXPECT_TRUE(enqueue());
}

}  // namespace
}  // namespace handoff::tests
