#include "handoff/tasks/payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <unordered_map>

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;

struct Item {
  std::string sku;
  std::int64_t cents = 0;
  friend bool operator==(const Item&, const Item&) = default;
};
BOOST_DESCRIBE_STRUCT(Item, (), (sku, cents))

enum class Speed { slow, fast };
BOOST_DESCRIBE_ENUM(Speed, slow, fast)

struct Order {
  std::string customer;
  std::vector<Item> items;
  std::optional<std::string> note;
  std::map<std::string, double> rates;
  Speed speed = Speed::slow;
  bool paid = false;
  std::chrono::seconds patience{};
  friend bool operator==(const Order&, const Order&) = default;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, items, note, rates, speed, paid, patience))

const Order some_order{"c7", {{"a", 5}, {"b", -1}}, std::nullopt, {{"eur", 1.5}}, Speed::fast, true,
                       90s};

template <typename T>
std::string written(const T& value) {
  const auto json = to_json(value);
  return json ? json->text() : "error: " + json.error().to_string();
}

template <typename T>
std::string error(std::string_view text, const ReadOptions& options = {}) {
  const auto value = from_json<T>(text, options);
  return value ? "(good)" : value.error().to_string();
}

TEST(Payload, IsAnObjectOfTheMembers) {
  EXPECT_EQ(
      written(some_order),
      R"({"customer":"c7","items":[{"sku":"a","cents":5},{"sku":"b","cents":-1}],"rates":{"eur":1.5},)"
      R"("speed":"fast","paid":true,"patience":90000})");
}

TEST(Payload, ComesBackAsItWas) {
  EXPECT_EQ(from_json<Order>(written(some_order)), some_order);
  auto with_note = some_order;
  with_note.note = "ring twice";
  EXPECT_EQ(from_json<Order>(written(with_note)), with_note);
  EXPECT_EQ(from_json<Order>(to_json(with_note).value()), with_note);
}

TEST(Payload, MayBeAnythingThatHasJson) {
  EXPECT_EQ(written(5), "5");
  EXPECT_EQ(written(std::string("x")), "\"x\"");
  EXPECT_EQ(written(std::vector<bool>{true, false}), "[true,false]");
  EXPECT_EQ(from_json<std::vector<bool>>("[true,false]"), (std::vector<bool>{true, false}));
  EXPECT_EQ(written(std::optional<int>()), "null");
  EXPECT_EQ(written(std::vector<std::optional<int>>{1, std::nullopt}), "[1,null]");
  EXPECT_EQ(written(std::deque<int>{}), "[]");
  EXPECT_EQ(from_json<std::list<int>>("[1,2]"), (std::list<int>{1, 2}));
  EXPECT_EQ((from_json<std::unordered_map<std::string, int>>(R"({"a":1})")),
            (std::unordered_map<std::string, int>{{"a", 1}}));
  EXPECT_EQ(from_json<std::optional<int>>("null").value(), std::nullopt);
}

TEST(Payload, HasTimesAndIdsAsText) {
  const Time time = parse_time("2026-12-01T08:30:00Z").value();
  EXPECT_EQ(written(time), "\"2026-12-01T08:30:00.000Z\"");
  EXPECT_EQ(from_json<Time>(R"("2026-12-01T09:30:00+01:00")"), time);
  EXPECT_THAT(error<Time>(R"("soon")"), testing::HasSubstr("as in RFC 3339"));
  const auto id = TaskId::make(time);
  EXPECT_EQ(from_json<TaskId>(written(id)), id);
  EXPECT_THAT(error<TaskId>("5"), "expected a string, got a number");
}

struct Base {
  int id = 0;
};
BOOST_DESCRIBE_STRUCT(Base, (), (id))
struct Derived : Base {
  int more = 0;
};
BOOST_DESCRIBE_STRUCT(Derived, (Base), (more))
struct Nothing {};
BOOST_DESCRIBE_STRUCT(Nothing, (), ())

TEST(Payload, HasTheMembersOfBasesToo) {
  Derived derived;
  derived.id = 1;
  derived.more = 2;
  EXPECT_EQ(written(derived), R"({"id":1,"more":2})");
  EXPECT_EQ(from_json<Derived>(R"({"id":3,"more":4})").value().id, 3);
  EXPECT_EQ(error<Derived>(R"({"more":4})"), "id: is missing");
}

TEST(Payload, MayHaveNoMembers) {
  EXPECT_EQ(written(Nothing()), "{}");
  EXPECT_TRUE(from_json<Nothing>("{}"));
  EXPECT_EQ(error<Nothing>("[]"), "expected an object, got an array");
}

TEST(PayloadErrors, NameThePathOfTheField) {
  const std::string rest = R"("rates":{},"speed":"slow","paid":true,"patience":0})";
  EXPECT_EQ(
      error<Order>(R"({"customer":"c","items":[{"sku":"a","cents":1},{"sku":"a","cents":"x"}],)" +
                   rest),
      "items[1].cents: expected a whole number, got a string");
  EXPECT_EQ(error<Order>(R"({"customer":"c","items":[{"sku":"a"}],)" + rest),
            "items[0].cents: is missing");
  EXPECT_EQ(error<Order>(R"({"customer":"c","items":{},)" + rest),
            "items: expected an array, got an object");
  EXPECT_EQ(error<Order>(R"({"customer":null,"items":[],)" + rest),
            "customer: expected a string, got null");
  EXPECT_EQ((error<std::vector<std::vector<int>>>("[[1],[2,true]]")),
            "[1][1]: expected a whole number, got a boolean");
  EXPECT_EQ((error<std::vector<Item>>("[5]")), "[0]: expected an object, got a number");
  EXPECT_EQ((error<std::map<std::string, std::vector<Item>>>(R"({"a b":[{"sku":1}]})")),
            R"(["a b"][0].sku: expected a string, got a number)");
  EXPECT_EQ((error<std::map<std::string, std::map<std::string, int>>>(R"({"a":{"b":[]}})")),
            "a.b: expected a whole number, got an array");
  EXPECT_EQ(error<Order>("5"), "expected an object, got a number");
}

TEST(PayloadErrors, NameWhatCannotBeWritten) {
  auto order = some_order;
  order.rates["usd"] = std::nan("");
  EXPECT_EQ(written(order), "error: rates.usd: JSON has no number for nan");
  order = some_order;
  order.items[1].sku = "caf\xe9";
  EXPECT_EQ(written(order), "error: items[1].sku: must be UTF-8, which it is not at byte 3");
  EXPECT_EQ(written(static_cast<Speed>(7)), "error: the enum has no name for 7");
  EXPECT_EQ(written(std::map<std::string, int>{{"\xff", 1}}),
            R"(error: ["\xff"]: its name must be UTF-8, which it is not)");
  EXPECT_EQ(written(std::chrono::hours(std::numeric_limits<std::chrono::hours::rep>::max())),
            "error: too long for a number of milliseconds");
}

TEST(PayloadErrors, ListTheNamesOfAnEnum) {
  EXPECT_EQ(error<Speed>("\"quick\""), R"(expected one of "slow", "fast", got "quick")");
  EXPECT_EQ(error<Speed>("1"), "expected a string, got a number");
}

TEST(PayloadNumbers, MustFit) {
  EXPECT_EQ(from_json<std::int8_t>("-128"), -128);
  EXPECT_EQ(error<std::int8_t>("128"), "expected a whole number from -128 to 127, got 128");
  EXPECT_EQ(error<std::uint8_t>("-1"), "expected a whole number from 0 to 255, got -1");
  EXPECT_EQ(error<int>("1.5"), "expected a whole number from -2147483648 to 2147483647, got 1.5");
  EXPECT_EQ(error<int>("1e300"),
            "expected a whole number from -2147483648 to 2147483647, got 1e+300");
  EXPECT_EQ(from_json<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(error<std::uint64_t>("18446744073709551616"),
            "expected a whole number from 0 to 18446744073709551615, got 1.8446744073709552e+19");
  EXPECT_EQ(from_json<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_FALSE(from_json<std::int64_t>("9223372036854775808"));
  EXPECT_FALSE(from_json<std::int64_t>("-9223372036854775809"));
  EXPECT_FALSE(from_json<float>("1e39"));
  EXPECT_EQ(from_json<double>("7"), 7.0);
}

TEST(PayloadNumbers, AreWholeIfTheirFractionIsZero) {
  EXPECT_EQ(from_json<int>("3.0"), 3);
  EXPECT_EQ(from_json<int>("1e3"), 1000);
  EXPECT_EQ(from_json<std::int64_t>("-9007199254740991.0"), -9007199254740991);
  EXPECT_FALSE(from_json<std::int64_t>("9007199254740993.0"));  // It would be read as one less.
  EXPECT_FALSE(from_json<std::uint64_t>("1e19"));
  EXPECT_EQ(from_json<int>("-0.0"), 0);
}

TEST(PayloadNumbers, AreExact) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345680.0,
                             2.2250738585072011e-308, 1e23, 9007199254740993.0, -0.1})
    EXPECT_EQ(from_json<double>(written(value)), value) << value;
  EXPECT_EQ(written(0.1f), "0.10000000149011612");  // A float is written as the double it is.
  EXPECT_EQ(from_json<float>(written(0.1f)), 0.1f);
}

TEST(PayloadNumbers, OfDurationsAreMilliseconds) {
  EXPECT_EQ(written(1500ms), "1500");
  EXPECT_EQ(written(std::chrono::hours(1)), "3600000");
  EXPECT_EQ(from_json<std::chrono::seconds>("-2000"), -2s);
  EXPECT_EQ(error<std::chrono::seconds>("1500"),
            "expected a multiple of 1000 milliseconds, got 1500");
  EXPECT_EQ(error<std::chrono::milliseconds>("0.5"),
            "expected a whole number from -9223372036854775808 to 9223372036854775807, got 0.5");
  EXPECT_EQ(error<std::chrono::milliseconds>("\"5s\""),
            "expected a whole number of milliseconds, got a string");
  using Short = std::chrono::duration<std::int8_t>;
  EXPECT_EQ(from_json<Short>("127000"), Short(127));
  EXPECT_EQ(error<Short>("128000"), "a duration of 128000 milliseconds does not fit");
}

struct Versioned {
  std::string customer;
  int priority = 3;
  std::optional<int> discount = 10;
  static constexpr auto optional_fields = std::to_array<std::string_view>({"priority"});
};
BOOST_DESCRIBE_STRUCT(Versioned, (), (customer, priority, discount))

TEST(PayloadVersions, MayLackWhatIsOptional) {
  const auto old = from_json<Versioned>(R"({"customer":"c"})");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->priority, 3);
  EXPECT_EQ(old->discount, std::nullopt);  // Left out means empty, as it is when written.
  EXPECT_EQ(error<Versioned>("{}"), "customer: is missing");
  EXPECT_EQ(error<Versioned>(R"({"customer":"c","priority":null})"),
            "priority: expected a whole number, got null");
}

TEST(PayloadVersions, MayHaveMoreThanIsKnown) {
  EXPECT_TRUE(from_json<Versioned>(R"({"customer":"c","colour":"red"})"));
}

TEST(PayloadVersions, MayBeToldToHaveNoMore) {
  const ReadOptions strict{.unknown_fields = UnknownFields::refuse};
  EXPECT_EQ(error<Versioned>(R"({"customer":"c","colour":"red"})", strict),
            "colour: unknown field");
  EXPECT_EQ(error<Versioned>(R"({"customer":"c","prioritty":1})", strict),
            "prioritty: unknown field; did you mean \"priority\"?");
  EXPECT_EQ(error<std::vector<Nothing>>(R"([{},{"x\n":1}])", strict),
            R"([1]["x\x0a"]: unknown field)");
  EXPECT_EQ(error<Versioned>(R"({"customer":"c","discount":null})", strict), "(good)");
}

struct Envelope {
  std::string kind;
  Json body;
};
BOOST_DESCRIBE_STRUCT(Envelope, (), (kind, body))

TEST(PayloadJson, PassesThrough) {
  const auto envelope = from_json<Envelope>(
      R"({"kind":"x","body": {"a": [1, 2.50, "\u00e9", null, 18446744073709551615]} })");
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->body.text(), "{\"a\":[1,2.5,\"\xc3\xa9\",null,18446744073709551615]}");
  EXPECT_EQ(written(*envelope), R"({"kind":"x","body":)" + envelope->body.text() + "}");
  EXPECT_EQ(error<Envelope>(R"({"kind":"x"})"), "body: is missing");
  EXPECT_EQ(from_json<Envelope>(R"({"kind":"x","body":null})").value().body, Json());
}

TEST(PayloadJson, IsKeptToTheLetterOnItsOwn) {
  EXPECT_EQ(from_json<Json>(" [1.0] ").value().text(), " [1.0] ");
  EXPECT_FALSE(from_json<Json>("[1.0"));
}

struct Tree {
  std::vector<Tree> children;
};
BOOST_DESCRIBE_STRUCT(Tree, (), (children))

Tree chain(std::size_t length) {
  Tree tree;
  for (std::size_t i = 1; i < length; ++i) {
    Tree parent;
    parent.children.push_back(std::move(tree));
    tree = std::move(parent);
  }
  return tree;
}

TEST(PayloadDepth, IsLimitedInBothDirections) {
  const auto deepest = to_json(chain(32));  // An object and an array each.
  ASSERT_TRUE(deepest) << deepest.error().to_string();
  EXPECT_EQ(deepest->depth(), Json::most_depth);
  EXPECT_TRUE(from_json<Tree>(*deepest));
  const auto too_deep = to_json(chain(33));
  ASSERT_FALSE(too_deep);
  EXPECT_EQ(too_deep.error().message, "nested more than 64 deep");
  EXPECT_FALSE(to_json(chain(5000)));
  EXPECT_FALSE(to_json(std::vector<Json>{*deepest}));
  EXPECT_THAT(error<Tree>("[" + deepest->text() + "]"),
              testing::HasSubstr("nested more than 64 deep"));
}

struct Money {
  std::int64_t cents = 0;
};

}  // namespace

template <>
struct JsonCodec<Money> {
  static JsonWriter::Written write(JsonWriter& writer, const Money& money) {
    return writer.string(fmt::format("{} ct", money.cents));
  }
  static std::expected<Money, JsonError> read(JsonView view, const ReadOptions&) {
    if (view.kind() != JsonKind::string) return std::unexpected(JsonError{{}, "expected money"});
    return Money{std::stoll(std::string(view.string()))};
  }
};

namespace {

TEST(JsonCodec, MayBeSpecialised) {
  EXPECT_EQ(written(std::vector<Money>{{5}}), R"(["5 ct"])");
  EXPECT_EQ(from_json<std::vector<Money>>(R"(["7 ct"])").value().front().cents, 7);
  EXPECT_EQ(error<std::vector<Money>>("[1]"), "[0]: expected money");
}

}  // namespace
}  // namespace handoff::tasks
