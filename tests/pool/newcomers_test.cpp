// Whom a worker takes of those that have never run.
#include "handoff/detail/pool/newcomers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "handoff/detail/pool/ready_list.hpp"

namespace handoff {
namespace {

using detail::Newcomers;
using detail::ReadyList;
using detail::Runnable;
using ::testing::ElementsAre;

struct Numbered : Runnable {
  explicit Numbered(int own) : Runnable([](Runnable&) {}), number(own) {}
  int number;
};

class NewcomersTest : public ::testing::Test {
 protected:
  void push(int first, int last) {
    for (int i = first; i <= last; ++i) newcomers.push(all.emplace_back(i));
  }
  // 0 if there was none.
  static int number(Runnable* runnable) {
    return runnable == nullptr ? 0 : static_cast<Numbered*>(runnable)->number;
  }
  template <typename Take>
  static std::vector<int> drain(Take take) {
    std::vector<int> taken;
    while (Runnable* const each = take()) taken.push_back(number(each));
    return taken;
  }

  std::deque<Numbered> all;
  Newcomers newcomers;
};

TEST_F(NewcomersTest, AreTakenLastInFirstOut) {
  push(1, 3);
  EXPECT_EQ(newcomers.size(), 3u);
  EXPECT_EQ(number(newcomers.take_newest()), 3);
  push(4, 4);
  EXPECT_THAT(drain([&] { return newcomers.take_newest(); }), ElementsAre(4, 2, 1));
  EXPECT_TRUE(newcomers.is_empty());
  EXPECT_EQ(newcomers.taken(), 4u);
}

TEST_F(NewcomersTest, AreTakenFromTheOtherEndByWhoLooksForTheOldest) {
  push(1, 3);
  EXPECT_EQ(number(newcomers.take_oldest()), 1);
  push(4, 5);
  // Those that were turned over stay the oldest, and the new ones the newest.
  EXPECT_EQ(number(newcomers.take_newest()), 5);
  EXPECT_EQ(number(newcomers.take_oldest()), 2);
  EXPECT_THAT(drain([&] { return newcomers.take_oldest(); }), ElementsAre(3, 4));
}

TEST_F(NewcomersTest, AreNotForgottenAtTheBottom) {
  push(1, 3);
  newcomers.take_oldest();
  EXPECT_THAT(drain([&] { return newcomers.take_newest(); }), ElementsAre(2, 3));
}

TEST_F(NewcomersTest, AreTakenByHalvesTheOldestFirst) {
  push(1, 6);
  Newcomers other;
  EXPECT_EQ(number(newcomers.take_half(other, 64)), 1);
  EXPECT_EQ(other.size(), 2u);
  EXPECT_EQ(newcomers.size(), 3u);
  EXPECT_THAT(drain([&] { return other.take_oldest(); }), ElementsAre(2, 3));
  EXPECT_THAT(drain([&] { return newcomers.take_oldest(); }), ElementsAre(4, 5, 6));
  EXPECT_EQ(newcomers.take_half(other, 64), nullptr);
}

TEST_F(NewcomersTest, AreTakenByNoMoreThanAsked) {
  push(1, 100);
  Newcomers other;
  EXPECT_EQ(number(newcomers.take_half(other, 4)), 1);
  EXPECT_EQ(other.size(), 3u);
  EXPECT_EQ(newcomers.size(), 96u);
}

TEST_F(NewcomersTest, GoToAllInTheOrderTheyCame) {
  push(1, 3);
  ReadyList ready;
  newcomers.move_all_to(ready);
  EXPECT_TRUE(newcomers.is_empty());
  EXPECT_THAT(drain([&] { return ready.take(); }), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace handoff
