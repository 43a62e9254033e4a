// Files that are damaged, or no stores, or of a newer version: refused with a message that says what to do, and left as they are, byte for byte.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "tasks/core.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t page_size = 4096;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

// Everything in a folder but -shm files, which are nothing without who has them open.
std::map<std::string, std::string> all_files(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const std::string name = each.path().filename().string();
    if (!name.ends_with("-shm")) all[name] = read_file(each.path().string());
  }
  return all;
}

class DamagedFiles : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string path = folder.file("tasks.db");
  std::vector<TaskId> ids;

  // A store with some tasks, which is closed.
  void make_store(int tasks = 500, const std::string& payload = "null") {
    const Tasks made = tasks::open("sqlite:" + path, {.fast = true}).value();
    for (int i = 0; i < tasks; ++i) {
      ids.push_back(made.enqueue({.queue = "q", .kind = "k", .payload = payload}).value().id);
    }
  }
  void damage(const std::function<void(std::string&)>& how) const {
    std::string bytes = read_file(path);
    how(bytes);
    write_file(path, bytes);
  }
  static void spoil_page(std::string& bytes, std::size_t number) {
    ASSERT_LE(number * page_size, bytes.size());
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>((number - 1) * page_size), page_size,
                '\xff');
  }
  std::size_t root_of(const char* table) const {
    sqlite::Database database(path, sqlite::Database::Mode::read_write);
    sqlite::Query query(database, "select rootpage from sqlite_schema where name = ?",
                        std::string_view(table));
    EXPECT_TRUE(query.next());
    return static_cast<std::size_t>(query.number(0));
  }

  // What open() says; that it has changed nothing is checked too.
  std::string refusal(std::uint64_t checked_whole = std::uint64_t{64} << 20) const {
    const auto before = all_files(folder.file(""));
    std::string message = "it was opened";
    try {
      TasksAccess::open({.path = path, .checked_whole = checked_whole});
    } catch (const sqlite::Failure& failure) {
      EXPECT_EQ(failure.error.code, TaskError::Code::unavailable);
      message = failure.error.message;
    }
    EXPECT_TRUE(all_files(folder.file("")) == before) << "something was written";
    return message;
  }
  auto tells_of_damage() const {
    return AllOf(HasSubstr(path), HasSubstr("damaged"), HasSubstr("nothing was changed"),
                 HasSubstr(".recover"));
  }
};

TEST_F(DamagedFiles, WithPagesOverwrittenAreRefused) {
  make_store();
  const std::string good = read_file(path);
  const auto pages = good.size() / page_size;
  for (std::size_t page = 2; page <= pages; page += 1 + pages / 12) {
    write_file(path, good);
    damage([&](std::string& bytes) { spoil_page(bytes, page); });
    EXPECT_THAT(refusal(), tells_of_damage()) << "page " << page;
  }
  write_file(path, good);
  EXPECT_TRUE(tasks::open("sqlite:" + path));
}

TEST_F(DamagedFiles, ThatWereCutOffAreRefused) {
  make_store();
  const std::string good = read_file(path);
  for (const std::size_t size : {good.size() - 1, good.size() / 2, 3 * page_size, page_size,
                                 std::size_t{1000}, std::size_t{100}, std::size_t{20}}) {
    write_file(path, good.substr(0, size));
    EXPECT_THAT(refusal(), tells_of_damage()) << size << " bytes are left";
  }
}

TEST_F(DamagedFiles, WithADamagedHeaderAreRefused) {
  make_store();
  const std::string good = read_file(path);
  for (const int at : {0, 16, 19, 21, 28, 44, 56, 100}) {
    write_file(path, good);
    damage([&](std::string& bytes) { std::fill_n(bytes.begin() + at, 4, '\xee'); });
    EXPECT_THAT(refusal(), AllOf(HasSubstr(path), HasSubstr(".recover"))) << "byte " << at;
  }
}

TEST_F(DamagedFiles, ThatAreNoDatabasesAreRefused) {
  for (const std::string& bytes : {std::string("Dear diary, today I"), std::string(10'000, 'x'),
                                   std::string(page_size, '\0')}) {
    write_file(path, bytes);
    EXPECT_THAT(refusal(), HasSubstr("the file is no SQLite database"));
  }
}

TEST_F(DamagedFiles, AreRefusedWithWhatACrashHasLeftBesideThem) {
  make_store(400);
  const Folder other;
  std::filesystem::copy_file(path, other.file("tasks.db"));
  {
    // A store that is not closed yet: what it has written is beside the file.
    const Tasks tasks = tasks::open("sqlite:" + other.file("tasks.db")).value();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(tasks.enqueue({.queue = "q", .kind = "k"}));
    for (const char* const end : {"", "-wal", "-shm"}) {
      std::filesystem::copy_file(other.file("tasks.db") + end, path + end,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  ASSERT_GT(std::filesystem::file_size(path + "-wal"), 0u);
  const std::string good = read_file(path);
  write_file(path, std::string(good.size(), 'x'));
  EXPECT_THAT(refusal(), HasSubstr(".recover"));
  // Without the file SQLite would throw away what is beside it.
  write_file(path, "");
  EXPECT_THAT(refusal(), HasSubstr("Put the file back beside it"));
  std::filesystem::remove(path);
  EXPECT_THAT(refusal(), HasSubstr("Put the file back beside it"));
  write_file(path, good);
  EXPECT_EQ(tasks::open("sqlite:" + path)->queue("q").count(TaskState::ready), 500);
}

TEST_F(DamagedFiles, OfANewerVersionAreRefused) {
  make_store(3);
  {
    sqlite::Database database(path, sqlite::Database::Mode::read_write);
    database.run("update handoff_meta set value = '99' where name = 'schema_version'");
  }
  EXPECT_THAT(refusal(), AllOf(HasSubstr("written by a newer version (schema 99"),
                               HasSubstr("nothing was changed; use the newer version")));
}

TEST_F(DamagedFiles, ThatAreLargeAreRefusedIfAVitalPartIsDamaged) {
  make_store();
  const std::string good = read_file(path);
  for (const char* const table :
       {"handoff_meta", "handoff_queue", "handoff_settings", "handoff_task"}) {
    write_file(path, good);
    const auto page = root_of(table);
    damage([&](std::string& bytes) { spoil_page(bytes, page); });
    EXPECT_THAT(refusal(0), tells_of_damage()) << table;
  }
}

TEST_F(DamagedFiles, ThatAreLargeAnswerWithTheDamageWhenTheyMeetIt) {
  make_store(1, fmt::format("\"{}\"", std::string(20'000, 'z')));
  make_store(2);
  // The middle of the large payload.
  const std::size_t page = read_file(path).find(std::string(page_size - 4, 'z')) / page_size + 2;
  damage([&](std::string& bytes) { spoil_page(bytes, page); });
  EXPECT_THAT(refusal(), tells_of_damage());
  const Tasks tasks = TasksAccess::open({.path = path, .checked_whole = 0});
  const auto met = tasks.wait(ids[0], 0ms);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, TaskError::Code::unavailable);
  EXPECT_THAT(met.error().message, tells_of_damage());
  EXPECT_EQ(tasks.get(ids[1])->state, TaskState::ready);
  EXPECT_TRUE(tasks.enqueue({.queue = "q", .kind = "k"}));
}

TEST_F(DamagedFiles, AreNotThoseWhereATableOfTheUsersBreaksItsOwnRules) {
  {
    sqlite::Database database(path, sqlite::Database::Mode::read_write);
    database.run(
        "create table bill(cents integer check(cents > 0)); pragma ignore_check_constraints = on; "
        "insert into bill values(-1)");
  }
  EXPECT_TRUE(tasks::open("sqlite:" + path));
}

}  // namespace
}  // namespace handoff::tests
