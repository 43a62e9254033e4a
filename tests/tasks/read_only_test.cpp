// A file or a folder that must not be written. Root may write everywhere: a process tries it that is nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using std::filesystem::perms;

constexpr auto readable = perms::owner_read | perms::group_read | perms::others_read;
constexpr auto enterable = readable | perms::owner_exec | perms::group_exec | perms::others_exec;

// What one is told who may do no more than others may.
std::string what_nobody_is_told(const std::string& path) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(1);
    const auto opened = tasks::open("sqlite:" + path);
    const std::string told =
        opened ? "it was opened"
               : std::string(to_string(opened.error().code)) + ": " + opened.error().message;
    ::_exit(::write(pipe[1], told.data(), told.size()) == std::ssize(told) ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string told;
  std::array<char, 1024> bytes;
  for (ssize_t count = 0; (count = ::read(pipe[0], bytes.data(), bytes.size())) > 0;) {
    told.append(bytes.data(), static_cast<std::size_t>(count));
  }
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return told;
}

class ReadOnly : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string here = folder.file("");
  const std::string path = folder.file("tasks.db");

  void make_store() const {
    const auto made = tasks::open("sqlite:" + path);
    ASSERT_TRUE(made);
    ASSERT_TRUE(made->enqueue({.queue = "q", .kind = "k"}));
  }
  ~ReadOnly() override { std::filesystem::permissions(here, perms::owner_all); }
};

TEST_F(ReadOnly, FilesAreRefused) {
  make_store();
  std::filesystem::permissions(path, readable);
  std::filesystem::permissions(here, perms::all);
  EXPECT_THAT(what_nobody_is_told(path),
              AllOf(StartsWith("unavailable: cannot open " + path),
                    HasSubstr("cannot be written; check who may write there")));
}

TEST_F(ReadOnly, FoldersAreRefusedAlsoIfTheFileIsNot) {
  make_store();
  std::filesystem::permissions(path, perms::all);
  std::filesystem::permissions(here, enterable);
  EXPECT_THAT(what_nobody_is_told(path),
              AllOf(StartsWith("unavailable: "), HasSubstr(path),
                    HasSubstr("cannot be written, and SQLite keeps files beside its own")));
}

TEST_F(ReadOnly, FoldersAreRefusedForANewFile) {
  std::filesystem::permissions(here, enterable);
  EXPECT_THAT(what_nobody_is_told(path), AllOf(StartsWith("unavailable: cannot open " + path),
                                               HasSubstr("cannot be written")));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ReadOnly, PathsThatLeadNowhereAreNamed) {
  const auto error = tasks::open("sqlite:" + folder.file("none/tasks.db")).error();
  EXPECT_EQ(error.code, tasks::TaskError::Code::unavailable);
  EXPECT_THAT(error.message, HasSubstr("there is no folder " + folder.file("none")));
}

}  // namespace
}  // namespace handoff::tests
