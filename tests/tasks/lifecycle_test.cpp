// The table of states: what docs/task-lifecycle.md says, and what follows from it.
#include "tasks/lifecycle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace handoff::tests {
namespace {

using namespace tasks;

std::string row_of(const Transition& each) {
  std::ostringstream text;
  text << "| " << to_string(each.from) << " | " << to_string(each.what) << " | "
       << to_string(each.to) << " |";
  return text.str();
}

TEST(Lifecycle, IsWhatTheDocumentationShows) {
  std::set<std::string> in_code;
  for (const Transition& each : all_transitions()) in_code.insert(row_of(each));
  std::set<std::string> in_docs;
  std::ifstream file(HANDOFF_LIFECYCLE);
  ASSERT_TRUE(file);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| ") || line.starts_with("| from") || line.starts_with("| ---"))
      continue;
    // The first three columns.
    std::size_t end = 0;
    for (int i = 0; i < 3; ++i) end = line.find(" |", end + 1);
    in_docs.insert(line.substr(0, end + 2));
  }
  EXPECT_EQ(in_docs, in_code);
}

TEST(Lifecycle, HasOneOutcomeForEachEvent) {
  for (const Transition& each : all_transitions()) {
    EXPECT_EQ(after(each.from, each.what), each.to);
    int same = 0;
    for (const Transition& other : all_transitions()) {
      same += other.from == each.from && other.what == each.what ? 1 : 0;
    }
    EXPECT_EQ(same, 1) << row_of(each);
  }
  EXPECT_EQ(after(TaskState::done, Happening::claimed), std::nullopt);
  EXPECT_FALSE(is_legal(TaskState::done, TaskState::running));
}

TEST(Lifecycle, LeavesAFinishedStateByAReplayOnly) {
  for (const Transition& each : all_transitions()) {
    EXPECT_TRUE(!is_finished(each.from) || each.what == Happening::replayed ||
                each.what == Happening::revived)
        << row_of(each);
    EXPECT_TRUE(is_legal(each.from, each.to)) << row_of(each);
  }
}

TEST(Lifecycle, NamesItsStates) {
  for (std::size_t i = 0; i < task_states; ++i) {
    const auto state = static_cast<TaskState>(i);
    EXPECT_EQ(parse_state(to_string(state)), state);
  }
  EXPECT_EQ(parse_state("sleeping"), std::nullopt);
}

}  // namespace
}  // namespace handoff::tests
