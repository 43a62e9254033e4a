#include "handoff/tasks/task_id.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>
#include <unordered_set>

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

const auto some_time = system_clock::time_point(1'800'000'000'123ms);

TEST(TaskId, IsAUuidOfVersion7) {
  const auto text = TaskId::make(system_clock::now()).to_string();
  EXPECT_THAT(text, testing::MatchesRegex(
                        "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

TEST(TaskId, HasTheTimeItWasMadeAt) {
  static auto far_ahead = some_time + 24h * 365;  // Later than those of other tests.
  far_ahead += 24h;                               // And than this one's, if it is run again.
  const auto id = TaskId::make(far_ahead);
  ASSERT_TRUE(id.time());
  EXPECT_EQ(*id.time(), far_ahead);
  EXPECT_EQ(TaskId::parse("6ba7b810-9dad-41d1-80b4-00c04fd430c8").value().time(), std::nullopt);
}

TEST(TaskId, AlwaysGrowsThoughTheClockStandsStill) {
  auto last = TaskId::make(some_time);
  for (int i = 0; i < 20'000; ++i) {  // More than a millisecond has fractions.
    const auto next = TaskId::make(some_time);
    ASSERT_LT(last, next);
    last = next;
  }
}

TEST(TaskId, AlwaysGrowsThoughTheClockGoesBack) {
  auto last = TaskId::make(some_time);
  for (const auto time : {some_time - 1ms, some_time - 24h, system_clock::time_point(),
                          system_clock::time_point::min(), some_time}) {
    const auto next = TaskId::make(time);
    ASSERT_LT(last, next);
    last = next;
  }
}

TEST(TaskId, AlwaysGrowsInAllThreadsTogether) {
  constexpr int threads = 4, each = 20'000;
  std::vector<std::vector<TaskId>> made(threads);
  {
    std::vector<std::jthread> makers;
    for (auto& mine : made)
      makers.emplace_back([&mine] {
        for (int i = 0; i < each; ++i) mine.push_back(TaskId::make(system_clock::now()));
      });
  }
  std::set<TaskId> all;
  for (const auto& mine : made) {
    EXPECT_TRUE(std::ranges::is_sorted(mine));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), std::size_t{threads} * each);
  EXPECT_LT(*all.rbegin(), TaskId::make(system_clock::now()));
}

// What cannot be guessed of the id: all but the time and the fixed bits.
std::uint64_t random_part(const TaskId& id) {
  std::uint64_t bits = 0;
  for (std::size_t i = 8; i < 16; ++i) bits = bits << 8 | id.bytes()[i];
  return bits & ~(std::uint64_t{3} << 62);
}

TEST(TaskId, Has62RandomBits) {
  std::uint64_t ever_set = 0, ever_clear = 0;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto bits = random_part(TaskId::make(some_time));
    ever_set |= bits;
    ever_clear |= ~bits;
    seen.insert(bits);
  }
  const auto all = ~(std::uint64_t{3} << 62);
  EXPECT_EQ(ever_set, all);
  EXPECT_EQ(ever_clear & all, all);
  EXPECT_EQ(seen.size(), 1000u);
}

// The ids that a child makes, forked by `fork`.
template <typename Fork>
std::vector<TaskId> made_by_child(Fork fork) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 40; ++i) {
      const auto id = TaskId::make(some_time);
      if (::write(pipe_ends[1], id.bytes().data(), 16) != 16) ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::vector<TaskId> ids;
  TaskId::Bytes bytes;
  while (::read(pipe_ends[0], bytes.data(), 16) == 16) ids.emplace_back(bytes);
  ::close(pipe_ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return ids;
}

template <typename Fork>
void expect_other_bits_than_the_child(Fork fork) {
  (void)TaskId::make(some_time);  // Random bits are in stock now, for both.
  const auto of_child = made_by_child(fork);
  EXPECT_EQ(of_child.size(), 40u);
  std::set<std::uint64_t> seen;
  for (const auto& id : of_child) seen.insert(random_part(id));
  for (int i = 0; i < 40; ++i) seen.insert(random_part(TaskId::make(some_time)));
  EXPECT_EQ(seen.size(), 80u);
}

TEST(TaskId, OfAForkedChildIsNoneOfItsParents) {
  expect_other_bits_than_the_child([] { return ::fork(); });
}

TEST(TaskId, OfAChildThatWasClonedBehindLibcsBackIsNoneOfItsParents) {
  expect_other_bits_than_the_child(
      [] { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); });
}

TEST(TaskId, IsReadInEitherCaseAndWrittenInLower) {
  const auto id = TaskId::parse("018FE1A2-6c10-7A3B-9C1D-0F2E4D5A6B7C");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->to_string(), "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c");
  EXPECT_EQ(fmt::format("{:>38}", *id), "  018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c");
}

TEST(TaskId, IsReadFromItsCanonicalFormOnly) {
  for (const std::string text :
       {"", "x", "018fe1a26c107a3b9c1d0f2e4d5a6b7c", "{018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c}",
        " 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c", "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c ",
        "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7", "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7g",
        "018fe1a2-6c10-7a3b-9c1d00f2e4d5a6b7c", "018fe1a-26c10-7a3b-9c1d-0f2e4d5a6b7c"}) {
    const auto id = TaskId::parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_THAT(id.error(), testing::HasSubstr("must be a UUID"));
  }
}

TEST(TaskId, IsNilUnlessMade) {
  EXPECT_TRUE(TaskId().is_nil());
  EXPECT_FALSE(TaskId::make(some_time).is_nil());
  EXPECT_EQ(TaskId().to_string(), "00000000-0000-0000-0000-000000000000");
}

TEST(TaskId, ComesBackFromSixteenBytesOnly) {
  const auto id = TaskId::make(some_time);
  const auto bytes = std::as_bytes(std::span(id.bytes()));
  EXPECT_EQ(TaskId::from_bytes(bytes), id);
  EXPECT_EQ(TaskId::from_bytes(bytes.first(15)), std::nullopt);
  EXPECT_EQ(TaskId::from_bytes({}), std::nullopt);
}

TEST(TaskId, CanBeAKeyOfBothKindsOfMaps) {
  std::unordered_set<TaskId> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(TaskId::make(some_time));
  EXPECT_EQ(ids.size(), 1000u);
}

RC_GTEST_PROP(TaskId, TextOfAnyIdGivesItBack, (const TaskId::Bytes& bytes)) {
  const TaskId id(bytes);
  RC_ASSERT(TaskId::parse(id.to_string()).value() == id);
}

RC_GTEST_PROP(TaskId, SortsByItsBytesAndByItsText,
              (const TaskId::Bytes& a, const TaskId::Bytes& b)) {
  RC_ASSERT((TaskId(a) < TaskId(b)) == (TaskId(a).to_string() < TaskId(b).to_string()));
  RC_ASSERT((TaskId(a) < TaskId(b)) == (a < b));
}

RC_GTEST_PROP(TaskId, AnyTextIsReadOrRefused, (const std::string& text)) {
  if (const auto id = TaskId::parse(text)) RC_ASSERT(id->to_string().size() == text.size());
}

}  // namespace
}  // namespace handoff::tasks
