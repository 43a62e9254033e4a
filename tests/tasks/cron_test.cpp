#include "handoff/tasks/cron.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Time at(std::string_view text) { return parse_time(text).value(); }

// The next few times after `after`, as text.
std::vector<std::string> due(std::string_view expression, std::string_view zone,
                             std::string_view after, int count = 3) {
  const auto cron = Cron::parse(expression, zone);
  if (!cron) return {cron.error().message};
  std::vector<std::string> times;
  std::optional<Time> time = at(after);
  for (int i = 0; i < count && (time = cron->next(*time)); ++i) {
    auto text = to_text(*time);
    EXPECT_TRUE(text.ends_with(":00.000Z")) << text;
    times.push_back(text.substr(0, 16));
  }
  return times;
}

std::string error(std::string_view expression, std::string_view zone = "UTC") {
  const auto cron = Cron::parse(expression, zone);
  return cron ? "(good)" : cron.error().message;
}

TEST(Cron, IsDueAtAGivenTime) {
  EXPECT_THAT(due("0 3 * * *", "UTC", "2026-01-31T12:00:00Z", 2),
              ElementsAre("2026-02-01T03:00", "2026-02-02T03:00"));
  EXPECT_THAT(due("30 8 1 1 *", "UTC", "2026-01-01T08:30:00Z", 1), ElementsAre("2027-01-01T08:30"));
}

TEST(Cron, IsDueLaterThanTheTimeGiven) {
  EXPECT_THAT(due("0 3 * * *", "UTC", "2026-01-01T02:59:59.999Z", 1),
              ElementsAre("2026-01-01T03:00"));
  EXPECT_THAT(due("0 3 * * *", "UTC", "2026-01-01T03:00:00Z", 1), ElementsAre("2026-01-02T03:00"));
  EXPECT_THAT(due("0 3 * * *", "UTC", "2026-01-01T03:00:00.001Z", 1),
              ElementsAre("2026-01-02T03:00"));
}

TEST(Cron, HasListsRangesAndSteps) {
  EXPECT_THAT(due("5,35 9-10 * * *", "UTC", "2026-01-01T00:00:00Z", 5),
              ElementsAre("2026-01-01T09:05", "2026-01-01T09:35", "2026-01-01T10:05",
                          "2026-01-01T10:35", "2026-01-02T09:05"));
  EXPECT_THAT(due("*/25 0 * * *", "UTC", "2026-01-01T00:00:00Z"),
              ElementsAre("2026-01-01T00:25", "2026-01-01T00:50", "2026-01-02T00:00"));
  EXPECT_THAT(
      due("0 8-14/3 * * *", "UTC", "2026-01-01T00:00:00Z", 4),
      ElementsAre("2026-01-01T08:00", "2026-01-01T11:00", "2026-01-01T14:00", "2026-01-02T08:00"));
  EXPECT_THAT(due("50/5 23 * * *", "UTC", "2026-01-01T00:00:00Z"),
              ElementsAre("2026-01-01T23:50", "2026-01-01T23:55", "2026-01-02T23:50"));
}

TEST(Cron, HasNamesInEitherCase) {
  EXPECT_EQ(due("0 0 * JAN,jul MON-fri", "UTC", "2026-01-30T00:00:00Z"),
            due("0 0 * 1,7 1-5", "UTC", "2026-01-30T00:00:00Z"));
  EXPECT_THAT(due("0 0 * jul Mon", "UTC", "2026-01-30T00:00:00Z", 1),
              ElementsAre("2026-07-06T00:00"));
}

TEST(Cron, HasTwoNumbersForSunday) {
  for (const auto* sunday : {"0", "7", "SUN", "7-7", "sun"})
    EXPECT_THAT(due(fmt::format("0 0 * * {}", sunday), "UTC", "2026-01-01T00:00:00Z", 2),
                ElementsAre("2026-01-04T00:00", "2026-01-11T00:00"));
  EXPECT_THAT(
      due("0 0 * * FRI-SUN", "UTC", "2026-01-01T00:00:00Z", 4),
      ElementsAre("2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"));
  EXPECT_EQ(due("0 0 * * SUN-TUE", "UTC", "2026-01-01T00:00:00Z"),
            due("0 0 * * 0-2", "UTC", "2026-01-01T00:00:00Z"));
}

TEST(Cron, IsDueOnEitherDayIfBothAreRestricted) {
  EXPECT_THAT(
      due("0 0 13 * FRI", "UTC", "2026-01-01T00:00:00Z", 4),
      ElementsAre("2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"));
  EXPECT_THAT(due("0 0 13 * *", "UTC", "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-13T00:00", "2026-02-13T00:00"));
  EXPECT_THAT(due("0 0 */2 * MON", "UTC",
                  "2026-01-01T00:00:00Z"),  // Mondays with an odd date, as in every cron.
              ElementsAre("2026-01-05T00:00", "2026-01-19T00:00", "2026-02-09T00:00"));
}

TEST(Cron, HasShorthands) {
  const auto* after = "2026-01-01T12:30:00Z";
  EXPECT_THAT(due("@hourly", "UTC", after, 1), ElementsAre("2026-01-01T13:00"));
  EXPECT_THAT(due("@daily", "UTC", after, 1), ElementsAre("2026-01-02T00:00"));
  EXPECT_THAT(due("@midnight", "UTC", after, 1), ElementsAre("2026-01-02T00:00"));
  EXPECT_THAT(due("@weekly", "UTC", after, 1), ElementsAre("2026-01-04T00:00"));
  EXPECT_THAT(due("@Monthly", "UTC", after, 1), ElementsAre("2026-02-01T00:00"));
  EXPECT_THAT(due(" @yearly\t", "UTC", after, 1), ElementsAre("2027-01-01T00:00"));
  EXPECT_THAT(due("@annually", "UTC", after, 1), ElementsAre("2027-01-01T00:00"));
}

TEST(Cron, IsDueInTheTimeOfItsZone) {
  EXPECT_THAT(due("0 3 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", 1),
              ElementsAre("2026-01-01T02:00"));
  EXPECT_THAT(due("0 3 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", 1),
              ElementsAre("2026-07-01T01:00"));
  EXPECT_THAT(due("0 0 * * MON", "Pacific/Kiritimati", "2026-01-01T00:00:00Z", 1),
              ElementsAre("2026-01-04T10:00"));
}

// Berlin, 29 March 2026: at 01:00 UTC clocks go from 02:00 to 03:00.
TEST(Cron, IsDueRightAfterTheGapIfItsTimeIsSkipped) {
  EXPECT_THAT(due("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z"),
              ElementsAre("2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"));
  EXPECT_THAT(due("*/10 2 * * *", "Europe/Berlin", "2026-03-28T01:45:00Z"),
              ElementsAre("2026-03-28T01:50", "2026-03-29T01:00", "2026-03-30T00:00"));
  EXPECT_THAT(due("0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
              ElementsAre("2026-03-29T01:00", "2026-03-30T00:00"));
  EXPECT_THAT(due("0 0 * * *", "Africa/Cairo", "2024-04-25T12:00:00Z",
                  2),  // There midnight is what is skipped.
              ElementsAre("2024-04-25T22:00", "2024-04-26T21:00"));
}

// Berlin, 25 October 2026: at 01:00 UTC clocks go from 03:00 back to 02:00.
TEST(Cron, IsDueTheFirstTimeIfItsTimeComesTwice) {
  EXPECT_THAT(due("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
              ElementsAre("2026-10-25T00:30", "2026-10-26T01:30"));
  EXPECT_THAT(due("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1),
              ElementsAre("2026-10-26T01:30"));
  EXPECT_THAT(due("0 1-3 * * *", "Europe/Berlin", "2026-10-24T22:30:00Z"),
              ElementsAre("2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T02:00"));
}

TEST(Cron, IsDueInEveryRealHourIfHoursAreCounted) {
  EXPECT_THAT(due("30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z"),
              ElementsAre("2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"));
  EXPECT_THAT(due("30 * * * *", "Europe/Berlin", "2026-03-28T23:45:00Z"),
              ElementsAre("2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"));
  EXPECT_THAT(
      due("0 */2 * * *", "Europe/Berlin", "2026-10-24T21:30:00Z", 4),
      ElementsAre("2026-10-24T22:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T03:00"));
}

// Lord Howe, 4 October 2026: at 15:30 UTC clocks go from 02:00 to 02:30. And back by half an hour on 5 April.
TEST(Cron, KnowsThatNotAllGapsAreAnHour) {
  EXPECT_THAT(due("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T12:00:00Z"),
              ElementsAre("2026-10-02T15:45", "2026-10-03T15:30", "2026-10-04T15:15"));
  EXPECT_THAT(due("45 1 * * *", "Australia/Lord_Howe", "2026-04-03T12:00:00Z"),
              ElementsAre("2026-04-03T14:45", "2026-04-04T14:45", "2026-04-05T15:15"));
}

// Samoa went from 29 December 2011 to the 31st, at 10:00 UTC on the 30th.
TEST(Cron, IsDueOnceForADayThatWasSkipped) {
  EXPECT_THAT(due("0 12 * * *", "Pacific/Apia", "2011-12-28T23:00:00Z"),
              ElementsAre("2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"));
  EXPECT_THAT(due("0 0 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", 2),
              ElementsAre("2011-12-30T10:00", "2012-12-29T10:00"));
  EXPECT_THAT(due("@hourly", "Pacific/Apia", "2011-12-30T08:30:00Z"),
              ElementsAre("2011-12-30T09:00", "2011-12-30T10:00", "2011-12-30T11:00"));
}

TEST(Cron, IsNeverDueOn30February) {
  EXPECT_THAT(due("0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z"), ElementsAre());
  EXPECT_THAT(due("0 */2 30,31 2 *", "Europe/Berlin", "2026-01-01T00:00:00Z"), ElementsAre());
  EXPECT_THAT(due("0 0 31 4,6,9,11 *", "UTC", "2026-01-01T00:00:00Z"), ElementsAre());
}

TEST(Cron, WaitsForALeapYear) {
  EXPECT_THAT(due("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 2),
              ElementsAre("2028-02-29T00:00", "2032-02-29T00:00"));
  EXPECT_THAT(due("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1), ElementsAre("2104-02-29T00:00"));
}

TEST(Cron, HasAnEndInTheYear2399) {
  const auto cron = Cron::parse("0 0 1 1 *").value();
  EXPECT_EQ(cron.next(std::chrono::sys_days(2398y / 6 / 1)),
            Time(std::chrono::sys_days(2399y / 1 / 1)));
  EXPECT_EQ(cron.next(std::chrono::sys_days(2399y / 6 / 1)), std::nullopt);
  EXPECT_EQ(cron.next(Time::max()), std::nullopt);
  EXPECT_EQ(cron.next(Time::min()), Time(std::chrono::sys_days(1901y / 1 / 1)));
}

TEST(CronEvery, CountsFromItsAnchor) {
  const auto cron = Cron::parse("@every 90s", "Europe/Berlin").value();
  const Time anchor = at("2026-01-01T00:00:10Z");
  EXPECT_EQ(cron.next(anchor - 1h, anchor), anchor + 90s);
  EXPECT_EQ(cron.next(anchor, anchor), anchor + 90s);
  EXPECT_EQ(cron.next(anchor + 90s - 1ms, anchor), anchor + 90s);
  EXPECT_EQ(cron.next(anchor + 90s, anchor), anchor + 180s);
  EXPECT_EQ(cron.next(anchor + 1h + 1s, anchor), anchor + 1h + 90s);
}

TEST(CronEvery, HasADurationOfASecondOrMore) {
  EXPECT_TRUE(Cron::parse("@Every \t 1d"));
  EXPECT_THAT(error("@every 0s"), HasSubstr("must be at least 1s, got \"0s\""));
  EXPECT_THAT(error("@every 500ms"), HasSubstr("must be at least 1s"));
  EXPECT_THAT(error("@every"), HasSubstr("the time after @every must be a number with a unit"));
  EXPECT_THAT(error("@every -5s"), HasSubstr("the time after @every must not be negative"));
  EXPECT_THAT(error("@every 1h 30m"),
              HasSubstr("the time after @every must be a number with a unit"));
  EXPECT_THAT(error("@every 4000d"), HasSubstr("the time after @every must be at most 3650d"));
  EXPECT_THAT(error("@every5s"), HasSubstr("needs five fields"));
}

TEST(CronEvery, IsBoundedLikeTheRest) {
  const auto cron = Cron::parse("@every 3650d").value();
  EXPECT_EQ(cron.next(Time::max(), Time::min()), std::nullopt);
  EXPECT_EQ(cron.next(Time::min(), Time::max()), std::nullopt);
  EXPECT_TRUE(cron.next(Time::min(), Time::min()));
}

TEST(CronErrors, NameTheFieldAndWhatIsAllowed) {
  EXPECT_EQ(error("60 * * * *"), "cron: minute must be 0 to 59, got \"60\"");
  EXPECT_EQ(error("* 24 * * *"), "cron: hour must be 0 to 23, got \"24\"");
  EXPECT_EQ(error("* * 0 * *"), "cron: day of month must be 1 to 31, got \"0\"");
  EXPECT_EQ(error("* * * 13 *"), "cron: month must be 1 to 12 or JAN to DEC, got \"13\"");
  EXPECT_EQ(error("* * * * 8"), "cron: day of week must be 0 to 7 or SUN to SAT, got \"8\"");
  EXPECT_EQ(error("* * * * DO"), "cron: day of week must be 0 to 7 or SUN to SAT, got \"DO\"");
  EXPECT_EQ(error("* * * JNA *"),
            "cron: month must be 1 to 12 or JAN to DEC, got \"JNA\"; did you mean \"JAN\"?");
  EXPECT_EQ(error("MON * * * *"), "cron: minute must be 0 to 59, got \"MON\"");
  EXPECT_EQ(error("1,,2 * * * *"), "cron: minute must be 0 to 59, got \"\"");
  EXPECT_EQ(error("-5 * * * *"), "cron: minute must be 0 to 59, got \"\"");
  EXPECT_EQ(error("99999999999999999999 * * * *"),
            "cron: minute must be 0 to 59, got \"99999999999999999999\"");
}

TEST(CronErrors, SayWhatIsWrongWithRangesAndSteps) {
  EXPECT_EQ(error("* 22-2 * * *"),
            "cron: hour: the range \"22-2\" runs backwards; write \"22-23,0-2\"");
  EXPECT_EQ(error("* 22-0 * * *"),
            "cron: hour: the range \"22-0\" runs backwards; write \"22-23,0\"");
  EXPECT_EQ(error("* * * * FRI-MON"),
            "cron: day of week: the range \"FRI-MON\" runs backwards; write \"5-6,0-1\"");
  EXPECT_EQ(error("*/0 * * * *"), "cron: minute: the step must be 1 to 59, got \"*/0\"");
  EXPECT_EQ(error("*/60 * * * *"), "cron: minute: the step must be 1 to 59, got \"*/60\"");
  EXPECT_EQ(error("*/ * * * *"), "cron: minute: the step must be 1 to 59, got \"*/\"");
  EXPECT_EQ(error("1-5-7 * * * *"), "cron: minute must be 0 to 59, got \"5-7\"");
  EXPECT_EQ(error("*-5 * * * *"), "cron: minute must be 0 to 59, got \"*\"");
}

TEST(CronErrors, SayHowManyFieldsThereAre) {
  for (const auto* text : {"", "   ", "* * * *", "0 0 3 * * *", "@dayly", "@"})
    EXPECT_THAT(error(text),
                HasSubstr("needs five fields (minute, hour, day of month, month, day of week)"))
        << text;
  EXPECT_THAT(error("* * * * * *"), HasSubstr("got 6 in \"* * * * * *\""));
  EXPECT_EQ(error(std::string(513, '*')), "cron must be at most 512 characters, got 513");
}

TEST(CronErrors, TellTheExpressionFromTheZone) {
  EXPECT_EQ(Cron::parse("x").error().field, "cron");
  const auto cron = Cron::parse("@daily", "Europe/Berln");
  ASSERT_FALSE(cron);
  EXPECT_EQ(cron.error().field, "timezone");
  EXPECT_EQ(
      cron.error().message,
      "timezone must be a known time zone, got \"Europe/Berln\"; did you mean \"Europe/Berlin\"?");
  EXPECT_THAT(error("@daily", "../../etc/passwd"),
              HasSubstr("timezone must be the name of a time zone"));
}

TEST(Cron, KeepsWhatItWasMadeOf) {
  const auto cron = Cron::parse(" @daily ", "Europe/Berlin").value();
  const auto copy = cron;
  EXPECT_EQ(copy.expression(), " @daily ");
  EXPECT_EQ(copy.timezone(), "Europe/Berlin");
}

RC_GTEST_PROP(Cron, AnyTextIsReadOrRefused, ()) {
  const auto some_text = rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789*/-,@ monjaevry\t\xff")));
  const auto field =
      rc::gen::oneOf(rc::gen::element<std::string>("*", "1", "0", "*/2", "1-5"), some_text);
  const auto text = *rc::gen::oneOf(
      some_text, rc::gen::map(rc::gen::tuple(field, field, field, field, field), [](const auto& f) {
        return fmt::format("{} {} {} {} {}", std::get<0>(f), std::get<1>(f), std::get<2>(f),
                           std::get<3>(f), std::get<4>(f));
      }));
  const auto cron = Cron::parse(text);
  if (!cron) {
    RC_ASSERT(cron.error().field == "cron");
    RC_ASSERT(cron.error().message.starts_with("cron"));
    return;
  }
  const Time after = at("2026-01-01T00:00:00Z");
  if (const auto next = cron->next(after)) RC_ASSERT(*next > after);
}

}  // namespace
}  // namespace handoff::tasks
