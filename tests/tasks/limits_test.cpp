#include "handoff/tasks/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "handoff/tasks/duration.hpp"
#include "tasks/utf8.hpp"

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;

std::string message(const Checked& checked) { return checked ? "" : checked.error().message; }

TEST(Limits, AQueueHasAShortNameOfFewCharacters) {
  EXPECT_TRUE(check_queue("email"));
  EXPECT_TRUE(check_queue("A.b_c-9"));
  EXPECT_TRUE(check_queue(std::string(64, 'q')));
  EXPECT_EQ(message(check_queue("e mail")),
            "queue must be 1 to 64 of A-Z a-z 0-9 . _ -, got \"e mail\"");
  EXPECT_EQ(message(check_queue("")), "queue must be 1 to 64 of A-Z a-z 0-9 . _ -, got \"\"");
  for (const auto& name :
       {std::string(65, 'q'), std::string("a/b"), std::string("caf\xc3\xa9"), std::string(1, '\0')})
    EXPECT_FALSE(check_queue(name)) << name;
}

TEST(Limits, AKindMayHaveSlashes) {
  EXPECT_TRUE(check_kind("mail/welcome.v2"));
  EXPECT_TRUE(check_kind(std::string(128, 'k')));
  EXPECT_FALSE(check_kind(std::string(129, 'k')));
  EXPECT_EQ(message(check_kind("a b")),
            "kind must be 1 to 128 of A-Z a-z 0-9 . _ - /, got \"a b\"");
}

TEST(Limits, TheFieldIsNamedAsTheCallerCallsIt) {
  const auto checked = check_queue("", "[17].queue");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().field, "[17].queue");
  EXPECT_THAT(checked.error().message, testing::StartsWith("[17].queue must be 1 to 64"));
}

TEST(Limits, APriorityIsFromMinus100To100) {
  EXPECT_TRUE(check_priority(-100));
  EXPECT_TRUE(check_priority(100));
  EXPECT_EQ(message(check_priority(101)), "priority must be -100 to 100, got 101");
  EXPECT_FALSE(check_priority(INT64_MIN));
}

TEST(Limits, AttemptsAreFrom1To1000) {
  EXPECT_TRUE(check_max_attempts(1));
  EXPECT_TRUE(check_max_attempts(1000));
  EXPECT_EQ(message(check_max_attempts(0)), "max_attempts must be 1 to 1000, got 0");
}

TEST(Limits, DurationsAreToldInTheirUnits) {
  EXPECT_TRUE(check_delay(0ms));
  EXPECT_TRUE(check_delay(longest_duration));
  EXPECT_EQ(message(check_delay(-1s)), "delay must be 0s to 3650d, got -1s");
  EXPECT_EQ(message(check_timeout(0ms)), "timeout must be 1ms to 3650d, got 0s");
  EXPECT_EQ(message(check_lease(500ms)), "lease_for must be 1s to 1d, got 500ms");
  EXPECT_FALSE(check_delay(std::chrono::milliseconds::max()));
}

TEST(Limits, KeysAndGroupsAreAnyUtf8) {
  EXPECT_TRUE(check_unique_key("user 42 \xf0\x9f\x99\x82"));
  EXPECT_TRUE(check_group("customer/7"));
  EXPECT_TRUE(check_worker("host-1/4711"));
  EXPECT_EQ(message(check_group("\xff")), "group must be 1 to 128 bytes of UTF-8, got \"\\xff\"");
  EXPECT_EQ(message(check_unique_key(std::string(257, 'x'))),
            "unique_key must be 1 to 256 bytes of UTF-8, got 257 bytes");
  EXPECT_FALSE(check_unique_key(""));
}

TEST(Limits, TheNilUuidIsAForgottenId) {
  EXPECT_TRUE(check_id(TaskId::make(std::chrono::system_clock::now())));
  EXPECT_EQ(message(check_id(TaskId())), "id must be a UUID of its own, got the nil one");
}

TEST(Limits, ATraceIsAW3cTraceparent) {
  EXPECT_TRUE(check_trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  for (const auto* text : {"", "00", "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
                           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b77-01"})
    EXPECT_THAT(message(check_trace(text)), testing::StartsWith("trace must be a W3C traceparent"))
        << text;
}

TEST(Limits, AFractionIsFrom0To1) {
  EXPECT_TRUE(check_fraction(0));
  EXPECT_TRUE(check_fraction(1));
  EXPECT_EQ(message(check_fraction(1.5)), "fraction must be 0 to 1, got 1.5");
  EXPECT_FALSE(check_fraction(std::nan("")));
}

TEST(Limits, APayloadIsAtMostAMebibyteUnlessConfigured) {
  EXPECT_TRUE(check_payload_size(1 << 20));
  EXPECT_EQ(message(check_payload_size((1 << 20) + 1)),
            "payload must be at most 1048576 bytes, got 1048577");
  EXPECT_FALSE(check_payload_size(11, 10));
}

RC_GTEST_PROP(Limits, MessagesAreShortAndOfAscii, (const std::string& text)) {
  for (const auto& checked :
       {check_queue(text), check_kind(text), check_group(text), check_trace(text)}) {
    if (checked) continue;
    RC_ASSERT(checked.error().message.size() < 600u);
    for (const char c : checked.error().message) RC_ASSERT(c >= ' ' && c <= '~');
  }
}

TEST(Utf8, IsRefusedWhereTheStandardRefusesIt) {
  for (const auto* good : {"", "abc", "12345678\xc3\xa9", "\xe2\x82\xac", "\xf0\x90\x8d\x88",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const auto* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "12345678\xc3", "\xc3z"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

RC_GTEST_PROP(Utf8, IsCutBetweenCharacters, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x90\x8d\x88"));
  std::string text;
  for (const auto& part : parts) text += part;
  RC_ASSERT(is_utf8(text));
  const auto most = *rc::gen::inRange<std::size_t>(0, text.size() + 2);
  const auto cut = cut_utf8(text, most);
  RC_ASSERT(is_utf8(cut));
  RC_ASSERT(cut.size() <= most);
  RC_ASSERT(cut.size() + 4 > std::min(most, text.size()));
}

}  // namespace
}  // namespace handoff::tasks
