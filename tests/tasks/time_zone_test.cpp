#include "tasks/time_zone.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <random>

#include "tasks/libc_zone.hpp"

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using testing::HasSubstr;

seconds offset(std::string_view zone, sys_seconds time) {
  return TimeZone::find(zone).value().at(time).offset;
}

TEST(TimeZone, KnowsSummerAndWinter) {
  EXPECT_EQ(offset("Europe/Berlin", sys_days(2026y / 1 / 1)), 1h);
  EXPECT_EQ(offset("Europe/Berlin", sys_days(2026y / 7 / 1)), 2h);
  EXPECT_EQ(offset("Australia/Lord_Howe", sys_days(2026y / 1 / 1)), 11h);
  EXPECT_EQ(offset("Australia/Lord_Howe", sys_days(2026y / 7 / 1)), 10h + 30min);
}

TEST(TimeZone, KnowsTheYearsAfterThoseInItsFile) {
  EXPECT_EQ(offset("Europe/Berlin", sys_days(2150y / 7 / 1)), 2h);
  EXPECT_EQ(offset("Europe/Dublin", sys_days(2150y / 7 / 1)),
            1h);  // Where winter is the exception.
  EXPECT_EQ(offset("Asia/Tokyo", sys_days(2150y / 7 / 1)), 9h);
}

TEST(TimeZone, ChangesAtTheSecond) {
  const auto zone = TimeZone::find("Europe/Berlin").value();
  const sys_seconds spring = sys_days(2026y / 3 / 29) + 1h;
  EXPECT_EQ(zone.at(spring - 1s).offset, 1h);
  EXPECT_EQ(zone.at(spring - 1s).end, spring);
  EXPECT_EQ(zone.at(spring).offset, 2h);
  EXPECT_EQ(zone.at(spring).begin, spring);
}

TEST(TimeZone, UtcNeedsNoFile) {
  const auto span = TimeZone::find("UTC").value().at(sys_seconds());
  EXPECT_EQ(span.offset, 0s);
  EXPECT_EQ(span.begin, beginning_of_time);
  EXPECT_EQ(span.end, end_of_time);
}

TEST(TimeZone, IsSuggestedIfMisspelt) {
  EXPECT_EQ(TimeZone::find("Europe/Berln").error(),
            "must be a known time zone, got \"Europe/Berln\"; did you mean \"Europe/Berlin\"?");
  EXPECT_THAT(TimeZone::find("berlin").error(), HasSubstr("did you mean \"Europe/Berlin\"?"));
  EXPECT_THAT(TimeZone::find("europe/paris").error(), HasSubstr("did you mean \"Europe/Paris\"?"));
  EXPECT_EQ(TimeZone::find("Middle/Earth").error(),
            "must be a known time zone, got \"Middle/Earth\"");
}

TEST(TimeZone, IsNeverAFileElsewhere) {
  for (const auto* name :
       {"", "/etc/passwd", "../../../etc/passwd", "Europe/../UTC", "Europe/./Berlin",
        "Europe//Berlin", "Europe/", ".", "..", "Europe\\Berlin", "Europe/Berlin\n", "tzdata.zi",
        "Europe/B\xc3\xa9rlin"})
    EXPECT_THAT(TimeZone::find(name).error(), HasSubstr("must be the name of a time zone")) << name;
  EXPECT_FALSE(TimeZone::find(std::string_view("UTC\0", 4)));
  EXPECT_FALSE(TimeZone::find(std::string(100'000, 'x')));
}

TEST(TimeZone, IsNoFolderAndNoOtherFileEither) {
  for (const auto* name : {"Europe", "leapseconds", "right/Europe/Berlin", "posix/Europe/Berlin"})
    EXPECT_THAT(TimeZone::find(name).error(), HasSubstr("must be a known time zone")) << name;
}

TEST(TimeZone, AgreesWithTheCLibraryEverywhere) {
  const auto names = time_zone_names();
  ASSERT_GT(names.size(), 300u);
  std::mt19937_64 random(42);
  std::uniform_int_distribution<std::int64_t> from_1970_to_2300(0, 10'413'792'000);
  for (const auto& name : names) {
    const auto zone = TimeZone::find(name);
    ASSERT_TRUE(zone) << zone.error();
    const LibcZone libc(name);
    for (int i = 0; i < 50; ++i) {
      const sys_seconds time{seconds(from_1970_to_2300(random))};
      const auto span = zone->at(time);
      ASSERT_EQ(span.offset, libc.offset(time)) << name << ' ' << time.time_since_epoch().count();
      ASSERT_LE(span.begin, time);
      ASSERT_GT(span.end, time);
      if (span.end != end_of_time) {
        ASSERT_EQ(libc.offset(span.end), zone->at(span.end).offset) << name;
        ASSERT_EQ(libc.offset(span.end - 1s), span.offset) << name;
      }
    }
  }
}

std::string bytes_of(const std::string& name) {
  std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(TimeZone, IsRefusedIfItsFileEndsEarly) {
  const auto bytes = bytes_of("Europe/Berlin");
  ASSERT_TRUE(TimeZone::read(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(TimeZone::read(std::string_view(bytes).substr(0, size))) << size;
}

TEST(TimeZone, IsRefusedIfItCountsLeapSeconds) {
  const auto bytes = bytes_of("right/Europe/Berlin");
  if (bytes.empty()) GTEST_SKIP() << "the system has none that does";
  EXPECT_THAT(TimeZone::read(bytes).error(), HasSubstr("leap seconds"));
}

RC_GTEST_PROP(TimeZone, FromADamagedFileIsReadOrRefused, ()) {
  static const auto good = bytes_of("Europe/Berlin");
  auto bytes = good;
  const auto changes = *rc::gen::inRange(1, 10);
  for (int i = 0; i < changes; ++i) {
    // Most of it in the headers, where it matters.
    const auto at = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 44),
                                    rc::gen::inRange<std::size_t>(0, bytes.size()));
    bytes[at] = *rc::gen::arbitrary<char>();
  }
  if (const auto zone = TimeZone::read(bytes)) {
    const sys_seconds time{
        seconds(*rc::gen::inRange<std::int64_t>(-1'000'000'000'00, 1'000'000'000'00))};
    const auto span = zone->at(time);
    RC_ASSERT(span.begin <= time);
    RC_ASSERT(span.end > time);
  } else {
    RC_ASSERT(!zone.error().empty());
  }
}

TEST(PosixZone, IsReadInAllItsForms) {
  for (const auto* rule :
       {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1", "EET-2EEST,M4.5.5/0,M10.5.4/24",
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "XXX3EDT4,0/0,J365/23", "ABC-1:30:15"})
    EXPECT_TRUE(PosixZone::parse(rule)) << rule;
  for (const auto* rule :
       {"", "U", "A1", "UTC", "UTC25", "UTCx", "UTC0 ", "CET-1CEST", "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J365", "CET-1CEST,0,366", "CET-1CEST,M3.5.0/168,M10.5.0", "<+1>-1", "<+01-1",
        "CET-1CEST,M3.5.0,M10.5.0,"})
    EXPECT_FALSE(PosixZone::parse(rule)) << rule;
}

TEST(PosixZone, MayHaveDaylightSavingAllYear) {
  const auto zone = PosixZone::parse("XXX3EDT4,0/0,J365/23").value();
  for (auto day = sys_days(2026y / 1 / 1); day < sys_days(2029y / 1 / 1);
       day += std::chrono::days(1))
    for (const auto hour : {0h, 3h, 4h, 23h}) ASSERT_EQ(zone.at(day + hour).offset, -4h);
}

TEST(PosixZone, CountsDaysWithAndWithout29February) {
  const auto with = PosixZone::parse("AAA0BBB,59/0,100/0")
                        .value();  // Counted from 0: 29 February, in a leap year.
  const auto without =
      PosixZone::parse("AAA0BBB,J60/0,J100/0").value();  // Counted from 1: 1 March, always.
  EXPECT_EQ(with.at(sys_days(2024y / 2 / 29)).offset, 1h);
  EXPECT_EQ(with.at(sys_days(2023y / 2 / 28)).offset, 0h);
  EXPECT_EQ(with.at(sys_days(2023y / 3 / 1)).offset, 1h);
  EXPECT_EQ(without.at(sys_days(2024y / 2 / 29)).offset, 0h);
  EXPECT_EQ(without.at(sys_days(2024y / 3 / 1)).offset, 1h);
  EXPECT_EQ(without.at(sys_days(2023y / 3 / 1)).offset, 1h);
}

RC_GTEST_PROP(PosixZone, AnyTextIsReadOrRefused, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("CET<>+-0123456789:,.MJ/")));
  (void)PosixZone::parse(text);
  (void)PosixZone::parse("CET-1CEST" + text);
}

}  // namespace
}  // namespace handoff::tasks
