#include "handoff/tasks/duration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Duration, IsReadInEachUnit) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("1d"), 24h);
  EXPECT_EQ(parse_duration("0ms"), 0ms);
}

TEST(Duration, IsInSecondsWithoutAUnit) {
  EXPECT_EQ(parse_duration("30"), 30s);
  EXPECT_EQ(parse_duration("0.25"), 250ms);
  EXPECT_EQ(duration_from_seconds(30), 30s);
  EXPECT_EQ(duration_from_seconds(0.1), 100ms);
  EXPECT_EQ(duration_from_seconds(0), 0s);
}

TEST(Duration, MayHaveAFractionOfWholeMilliseconds) {
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("0.001s"), 1ms);
  EXPECT_EQ(parse_duration("1.50000000000000000000s"), 1500ms);
  EXPECT_EQ(parse_duration("0.00001d"), 864ms);
  EXPECT_EQ(parse_duration("0.00025m"), 15ms);
  EXPECT_EQ(parse_duration("0.0000125d"), 1080ms);
  EXPECT_EQ(parse_duration("0.0009765625d"), 84375ms);
  for (const auto* text :
       {"0.5ms", "0.00097656250001d", "0.0001s", "0.000001m", "1.00000000000000000000000001s"})
    EXPECT_THAT(parse_duration(text).error(), HasSubstr("whole number of milliseconds")) << text;
}

TEST(Duration, IsNeverNegative) {
  EXPECT_THAT(parse_duration("-5s").error(), HasSubstr("must not be negative, got \"-5s\""));
  EXPECT_THAT(duration_from_seconds(-0.5).error(), HasSubstr("must not be negative, got -0.5"));
}

TEST(Duration, IsNeverTooLong) {
  EXPECT_EQ(parse_duration("3650d"), longest_duration);
  for (const auto* text : {"3651d", "3650.1d", "99999999999999999999999999999999999999ms",
                           "9223372036854775807", "9223372036854775808d"})
    EXPECT_THAT(parse_duration(text).error(), HasSubstr("must be at most 3650d")) << text;
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity()})
    EXPECT_THAT(duration_from_seconds(seconds).error(), HasSubstr("must be at most 3650d"));
}

TEST(Duration, IsRefusedWithWhatIsAllowed) {
  for (const auto* text :
       {"",    " ",   "s",   "ms",   "5 s",  " 5s",  "5s ", "5x",   "5S",         "1h30m",  "1.",
        "1.s", ".5s", "+5s", "1e3s", "0x10", "five", "-",   "--5s", "5\xc2\xb5s", "1_000s", "1,5s"})
    EXPECT_THAT(parse_duration(text).error(), HasSubstr("a unit (ms, s, m, h or d)")) << text;
  EXPECT_THAT(duration_from_seconds(std::nan("")).error(), HasSubstr("a unit (ms, s, m, h or d)"));
}

TEST(Duration, OfAStrangerIsQuotedWithCare) {
  EXPECT_THAT(parse_duration(std::string_view("5\0s\n\"", 5)).error(),
              HasSubstr(R"(got "5\x00s\x0a\x22")"));
  EXPECT_LT(parse_duration(std::string(1'000'000, 'x')).error().size(), 300u);
}

TEST(Duration, IsWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(to_text(250ms), "250ms");
  EXPECT_EQ(to_text(90s), "90s");
  EXPECT_EQ(to_text(2min), "2m");
  EXPECT_EQ(to_text(36h), "36h");
  EXPECT_EQ(to_text(48h), "2d");
  EXPECT_EQ(to_text(0ms), "0s");
  EXPECT_EQ(to_text(-5s), "-5s");
}

RC_GTEST_PROP(Duration, TextGivesItBack, ()) {
  const auto unit = *rc::gen::element<std::int64_t>(1, 10, 1000, 60'000, 3'600'000, 86'400'000);
  const auto count = *rc::gen::inRange<std::int64_t>(0, longest_duration.count() / unit + 1);
  const milliseconds duration(count * unit);
  RC_ASSERT(parse_duration(to_text(duration)).value() == duration);
  RC_ASSERT(duration_from_seconds(static_cast<double>(duration.count()) / 1000).value() ==
            duration);
}

RC_GTEST_PROP(Duration, AnyTextIsReadOrRefused, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789.-smhd \xff")));
  if (const auto duration = parse_duration(text))
    RC_ASSERT(*duration >= 0ms && *duration <= longest_duration);
  else
    RC_ASSERT(duration.error().starts_with("must "));
}

}  // namespace
}  // namespace handoff::tasks
