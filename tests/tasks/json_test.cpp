#include "handoff/tasks/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "handoff/tasks/payload.hpp"
#include "tasks/utf8.hpp"

namespace handoff::tasks {
namespace {

using testing::HasSubstr;

std::string error(const std::string& text) {
  const auto json = Json::parse(text);
  const auto document = JsonDocument::parse(text);
  EXPECT_EQ(json.has_value(), document.has_value()) << text;
  if (json) return "(good)";
  EXPECT_EQ(json.error(), document.error());
  return json.error().to_string();
}

TEST(Json, IsKeptAsItIs) {
  for (const auto* text :
       {"null", " [ 1 , 2 ] ", R"({"a":1.0,"a":2})", "\"\\u0000\"", "-0", "1E5", "true"})
    EXPECT_EQ(Json::parse(text).value().text(), text);
  EXPECT_EQ(Json().text(), "null");
}

TEST(Json, KnowsHowDeepItIs) {
  EXPECT_EQ(Json::parse("5").value().depth(), 0u);
  EXPECT_EQ(Json::parse("[]").value().depth(), 1u);
  EXPECT_EQ(Json::parse(R"([{"a":[1]},[]])").value().depth(), 3u);
}

TEST(Json, IsNothingElse) {
  for (const auto* text : {"",           " ",
                           "nul",        "[1,]",
                           "{\"a\":1,}", "{a:1}",
                           "{'a':1}",    "[1 2]",
                           "01",         "+1",
                           ".5",         "1.",
                           "0x10",       "NaN",
                           "Infinity",   "[1]]",
                           "\"a",        "\"\n\"",
                           "\"\\x\"",    "\"\\ud800\"",
                           "// x\n1",    "\xef\xbb\xbf{}",
                           "\"\xff\"",   "\"\xed\xa0\x80\"",
                           "undefined",  "[",
                           "{\"a\"",     "{\"a\":",
                           "tru"})
    EXPECT_THAT(error(text), HasSubstr("not JSON")) << text;
}

TEST(Json, SaysWhereItIsWrong) {
  EXPECT_THAT(error("[1,2,x]"), HasSubstr("at byte 5"));
  EXPECT_EQ(error("[1,"), "not JSON: it ends too early");
  EXPECT_THAT(error("{} {}"), HasSubstr("at byte 3"));
}

TEST(Json, IsNotNestedTooDeep) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(error(nested(64)), "(good)");
  EXPECT_THAT(error(nested(65)), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(error(std::string(1'000'000, '[')), HasSubstr("nested more than 64 deep"));
}

TEST(Json, HasNoNumbersThatADoubleCannotHold) {
  for (const auto* text : {"1e400", "-1e400", "1e99999999999", "[1e309]"})
    EXPECT_THAT(error(text), HasSubstr("a number is too large")) << text;
  EXPECT_EQ(error(std::string(400, '9')), "a number is too large, at byte 400");
  EXPECT_EQ(JsonDocument::parse("1e-400").value().root().number(), 0.0);
  EXPECT_EQ(JsonDocument::parse("-1e-400").value().root().number(), 0.0);
}

TEST(JsonView, LooksIntoADocument) {
  const auto document = JsonDocument::parse(R"({"a":[1,"x",null,false],"b":{}})").value();
  const auto root = document.root();
  ASSERT_EQ(root.kind(), JsonKind::object);
  EXPECT_EQ(root.size(), 2u);
  EXPECT_EQ(root.member_at(0).first, "a");
  EXPECT_FALSE(root.member("c"));
  const auto array = root.member("a").value();
  EXPECT_EQ(array.size(), 4u);
  EXPECT_EQ(array.element(0).signed_integer(), 1);
  EXPECT_EQ(array.element(1).string(), "x");
  EXPECT_TRUE(array.element(2).is_null());
  EXPECT_FALSE(array.element(3).boolean());
  EXPECT_EQ(root.json().text(), R"({"a":[1,"x",null,false],"b":{}})");
}

TEST(JsonView, SeesTheLastOfTwoEqualKeys) {
  const auto document = JsonDocument::parse(R"({"a":1,"b":2,"a":3})").value();
  EXPECT_EQ(document.root().size(), 2u);
  EXPECT_EQ(document.root().member("a")->signed_integer(), 3);
}

TEST(JsonViewDeathTest, StopsTheProgramIfAskedForWhatItIsNot) {
  const auto document = JsonDocument::parse("5").value();
  EXPECT_DEATH((void)document.root().string(), "kind");
}

TEST(JsonWriter, EscapesWhatMustBe) {
  JsonWriter writer;
  ASSERT_TRUE(writer.string(std::string("\"\\\n\t\r\b\x01\x7f/\0", 10)));
  EXPECT_EQ(std::move(writer).finish().text(), "\"\\\"\\\\\\n\\t\\r\\u0008\\u0001\x7f/\\u0000\"");
}

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  JsonWriter writer;
  ASSERT_TRUE(writer.begin_array());
  ASSERT_TRUE(writer.string("["));
  ASSERT_TRUE(writer.string(":"));
  ASSERT_TRUE(writer.begin_object());
  ASSERT_TRUE(writer.key("{"));
  writer.null();
  ASSERT_TRUE(writer.key("b"));
  writer.boolean(true);
  writer.end_object();
  ASSERT_TRUE(writer.begin_array());
  writer.end_array();
  writer.integer(std::int64_t{-1});
  ASSERT_TRUE(writer.number(0.5));
  ASSERT_TRUE(writer.json(Json()));
  writer.end_array();
  const auto json = std::move(writer).finish();
  EXPECT_EQ(json.text(), R"(["[",":",{"{":null,"b":true},[],-1,0.5,null])");
  EXPECT_EQ(Json::parse(json.text()).value(), json);
}

// Any JSON, as text.
void write_any(JsonWriter& writer, int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 8 : 6)) {
    case 0: writer.null(); break;
    case 1: writer.boolean(*rc::gen::arbitrary<bool>()); break;
    case 2: writer.integer(*rc::gen::arbitrary<std::int64_t>()); break;
    case 3: writer.integer(*rc::gen::arbitrary<std::uint64_t>()); break;
    case 4:
      RC_ASSERT(writer.number(*rc::gen::suchThat<double>([](double d) { return std::isfinite(d); }))
                    .has_value());
      break;
    case 5: RC_ASSERT(writer.string(*rc::gen::suchThat<std::string>(is_utf8)).has_value()); break;
    case 6: {
      RC_ASSERT(writer.begin_array().has_value());
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) write_any(writer, depth - 1);
      writer.end_array();
      break;
    }
    default: {
      RC_ASSERT(writer.begin_object().has_value());
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        RC_ASSERT(writer.key(fmt::format("k{}", i)).has_value());
        write_any(writer, depth - 1);
      }
      writer.end_object();
    }
  }
}

RC_GTEST_PROP(Json, WrittenIsReadAndWrittenTheSame, ()) {
  JsonWriter writer;
  write_any(writer, 4);
  const auto json = std::move(writer).finish();
  RC_ASSERT(Json::parse(json.text()).value() == json);
  const auto document = JsonDocument::parse(json.text());
  RC_ASSERT(document.has_value());
  RC_ASSERT(document->root().json() == json);
}

RC_GTEST_PROP(Json, DamagedIsReadOrRefusedByBothAlike, ()) {
  JsonWriter writer;
  write_any(writer, 4);
  auto text = std::move(writer).finish().text();
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::oneOf(rc::gen::elementOf(std::string("[]{}:,\"\\0e-.u ")),
                               rc::gen::arbitrary<char>());
  }
  const auto json = Json::parse(text);
  const auto document = JsonDocument::parse(text);
  RC_ASSERT(json.has_value() == document.has_value());
  if (document) RC_ASSERT(Json::parse(document->root().json().text()).has_value());
}

RC_GTEST_PROP(Json, EveryDoubleComesBackExactly, (std::uint64_t bits)) {
  const auto value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  RC_ASSERT(from_json<double>(to_json(value).value()).value() == value);
}

RC_GTEST_PROP(Json, AnyTextIsReadOrRefusedAsAStruct, (const std::string& text)) {
  (void)from_json<std::vector<std::string>>(text);
}

}  // namespace
}  // namespace handoff::tasks
