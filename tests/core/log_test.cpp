#include "handoff/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace handoff {
namespace {

TEST(Log, LinesGoToTheSinkThatIsSet) {
  std::vector<std::string> lines;
  set_log([&](std::string_view line) { lines.emplace_back(line); });
  detail::log_line("one line");
  set_log({});
  EXPECT_EQ(lines, std::vector<std::string>{"one line"});
}

TEST(Log, WithoutASinkTheyGoToStandardError) {
  ::testing::internal::CaptureStderr();
  detail::log_line("one line");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "handoff: one line\n");
}

TEST(Log, SettingASinkReturnsTheOneBefore) {
  std::string seen;
  set_log([&](std::string_view line) { seen = line; });
  const LogSink before = set_log({});
  ASSERT_TRUE(before);
  before("still callable");
  EXPECT_EQ(seen, "still callable");
}

}  // namespace
}  // namespace handoff
