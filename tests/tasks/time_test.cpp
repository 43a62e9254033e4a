#include "handoff/tasks/time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::sys_days;
using testing::HasSubstr;

const Time morning = sys_days(2026y / 12 / 1) + 8h + 30min;

TEST(Time, IsReadInUtc) {
  EXPECT_EQ(parse_time("2026-12-01T08:30:00Z"), morning);
  EXPECT_EQ(parse_time("2026-12-01t08:30:00z"), morning);
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z"), Time());
  EXPECT_EQ(parse_time("2024-02-29T23:59:59.999Z"), Time(sys_days(2024y / 3 / 1)) - 1ms);
}

TEST(Time, IsReadWithAnOffset) {
  EXPECT_EQ(parse_time("2026-12-01T09:30:00+01:00"), morning);
  EXPECT_EQ(parse_time("2026-11-30T23:00:00-09:30"), morning);
  EXPECT_EQ(parse_time("2026-12-01T08:30:00-00:00"), morning);
}

TEST(Time, IsReadToTheMillisecond) {
  EXPECT_EQ(parse_time("2026-12-01T08:30:00.5Z"), morning + 500ms);
  EXPECT_EQ(parse_time("2026-12-01T08:30:00.007+00:00"), morning + 7ms);
  EXPECT_EQ(parse_time("2026-12-01T08:30:00.123456789012345678901234567890Z"), morning + 123ms);
}

TEST(Time, IsRefusedUnlessItIsWrittenAsInTheRfc) {
  for (const auto* text : {"",
                           "2026",
                           "2026-12-01",
                           "2026-12-01T08:30:00",
                           "2026-12-01 08:30:00Z",
                           "2026-12-01T08:30Z",
                           "2026-12-1T08:30:00Z",
                           "20261201T083000Z",
                           "2026-12-01T08:30:00.Z",
                           "2026-12-01T08:30:00,5Z",
                           "2026-12-01T08:30:00+1:00",
                           "2026-12-01T08:30:00+0100",
                           "2026-12-01T08:30:00Zx",
                           " 2026-12-01T08:30:00Z",
                           "2026-12-01T08:30:00Z ",
                           "+026-12-01T08:30:00Z",
                           "-2026-12-01T08:30:00Z",
                           "2026-12-01T08:30:-1Z",
                           "now",
                           "1764577800"})
    EXPECT_THAT(parse_time(text).error(), HasSubstr("as in RFC 3339")) << text;
}

TEST(Time, IsRefusedIfThereIsNoSuchTime) {
  EXPECT_THAT(parse_time("2026-13-01T00:00:00Z").error(), HasSubstr("the month is wrong"));
  EXPECT_THAT(parse_time("2026-00-01T00:00:00Z").error(), HasSubstr("the month is wrong"));
  EXPECT_THAT(parse_time("2026-02-29T00:00:00Z").error(), HasSubstr("the day is wrong"));
  EXPECT_THAT(parse_time("2026-02-00T00:00:00Z").error(), HasSubstr("the day is wrong"));
  EXPECT_THAT(parse_time("2026-02-01T24:00:00Z").error(), HasSubstr("the hour is wrong"));
  EXPECT_THAT(parse_time("2026-02-01T00:60:00Z").error(), HasSubstr("the minute is wrong"));
  EXPECT_THAT(parse_time("2016-12-31T23:59:60Z").error(), HasSubstr("the second is wrong"));
  EXPECT_THAT(parse_time("2026-02-01T00:00:00+24:00").error(), HasSubstr("the offset is wrong"));
  EXPECT_THAT(parse_time("2026-02-01T00:00:00+01:60").error(), HasSubstr("the offset is wrong"));
}

TEST(Time, IsRefusedOutsideTheYearsThatCanBeCountedWith) {
  for (const auto* text :
       {"0000-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00+00:01",
        "2200-01-01T00:00:00Z", "9999-12-31T23:59:59Z"})
    EXPECT_THAT(parse_time(text).error(), HasSubstr("1970 to 2199")) << text;
  EXPECT_EQ(parse_time("2199-12-31T23:59:59.999Z"), latest_time);
}

TEST(Time, IsWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(to_text(morning + 7ms), "2026-12-01T08:30:00.007Z");
  EXPECT_EQ(to_text(Time(-1ms)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(to_text(Time::min()), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(to_text(Time::max()), "9999-12-31T23:59:59.999Z");
}

TEST(Time, IsRoundedDown) {
  using std::chrono::system_clock;
  EXPECT_EQ(to_time(system_clock::time_point(1'999'999ns)), Time(1ms));
  EXPECT_EQ(to_time(system_clock::time_point(-1ns)), Time(-1ms));
}

RC_GTEST_PROP(Time, TextGivesItBack, ()) {
  const auto count = *rc::gen::inRange(earliest_time.time_since_epoch().count(),
                                       latest_time.time_since_epoch().count() + 1);
  const Time time{milliseconds(count)};
  RC_ASSERT(parse_time(to_text(time)).value() == time);
}

RC_GTEST_PROP(Time, AnyDamagedTextIsReadOrRefused, ()) {
  std::string text = "2026-12-01T09:30:00.5+01:00";
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::oneOf(rc::gen::elementOf(std::string("0123456789-:TZ.+")),
                               rc::gen::arbitrary<char>());
  }
  text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
  if (const auto time = parse_time(text))
    RC_ASSERT(*time >= earliest_time && *time <= latest_time);
  else
    RC_ASSERT(time.error().starts_with("must be "));
}

}  // namespace
}  // namespace handoff::tasks
