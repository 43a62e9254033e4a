#include "tasks/nearest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace handoff::tasks {
namespace {

const std::vector<std::string_view> zones = {"Africa/Cairo", "America/New_York", "Europe/Berlin",
                                             "Europe/Dublin", "UTC"};

TEST(Nearest, FindsTheNameWithALetterWrong) {
  EXPECT_EQ(nearest("Europe/Berln", zones), "Europe/Berlin");
  EXPECT_EQ(nearest("America/NewYork", zones), "America/New_York");
  EXPECT_EQ(nearest("UCT", zones), "UTC");
}

TEST(Nearest, DoesNotMindTheCase) { EXPECT_EQ(nearest("europe/DUBLIN", zones), "Europe/Dublin"); }

TEST(Nearest, TakesTheLastPartForTheWhole) {
  EXPECT_EQ(nearest("berlin", zones), "Europe/Berlin");
  EXPECT_EQ(nearest("Cair", zones), "Africa/Cairo");
}

TEST(Nearest, SuggestsNothingThatIsFarAway) {
  EXPECT_EQ(nearest("lunch", zones), std::nullopt);
  EXPECT_EQ(nearest("", zones), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), zones), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(nearest("x", std::vector<std::string_view>{"y"}),
            std::nullopt);  // Nothing of it is right.
}

TEST(Nearest, IsTheEndOfAMessage) {
  EXPECT_EQ(did_you_mean("Berlin", zones), "; did you mean \"Europe/Berlin\"?");
  EXPECT_EQ(did_you_mean("lunch", zones), "");
}

TEST(EditDistance, CountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("queue", "qeuue", 5), 1u);
  EXPECT_EQ(edit_distance("", "abc", 5), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3u);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBounded,
              (const std::string& one, const std::string& other)) {
  const auto most = *rc::gen::inRange<std::size_t>(0, 10);
  const auto distance = edit_distance(one, other, most);
  RC_ASSERT(distance == edit_distance(other, one, most));
  RC_ASSERT(distance <= most + 1);
  RC_ASSERT(distance == std::min(edit_distance(one, other, 1000), most + 1));
}

RC_GTEST_PROP(EditDistance, IsAtMostTheNumberOfChanges, (std::string text)) {
  RC_PRE(!text.empty());
  auto changed = text;
  const auto changes = *rc::gen::inRange<std::size_t>(0, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, changed.size() + 1);
    changed.insert(at, 1, *rc::gen::arbitrary<char>());
  }
  RC_ASSERT(edit_distance(text, changed, 10) <= changes);
}

}  // namespace
}  // namespace handoff::tasks
