#include "handoff/detail/core/timer_wheel.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace handoff::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto start = TimePoint(1'000h);

// A wheel with entries that are known by their numbers.
class Wheel {
 public:
  explicit Wheel(std::size_t count) : entries(count) { wheel.restart(start); }
  ~Wheel() {
    for (auto& entry : entries) wheel.cancel(entry);
  }

  // The number of the first entry due at `time`, or -1.
  int take(TimePoint time) {
    while (!wheel.advance(time)) {
    }
    const TimerEntry* entry = wheel.take_due(time);
    return entry == nullptr ? -1 : static_cast<int>(entry - entries.data());
  }
  std::vector<int> take_all(TimePoint time) {
    std::vector<int> all;
    for (int taken = take(time); taken >= 0; taken = take(time)) all.push_back(taken);
    return all;
  }

  TimerWheel wheel;
  std::vector<TimerEntry> entries;
};

TEST(TimerWheel, AnEntryIsTakenAtItsTimeAndNotANanosecondBefore) {
  for (const Duration delay : {Duration(1ns), Duration(1ms), Duration(63ms), Duration(1h),
                               Duration(24h * 365), Duration(24h * 365 * 100)}) {
    Wheel timers(1);
    timers.wheel.arm(timers.entries[0], start + delay);
    EXPECT_EQ(timers.take(start + delay - 1ns), -1);
    EXPECT_EQ(timers.wheel.next_due(), start + delay);
    EXPECT_EQ(timers.take(start + delay), 0);
    EXPECT_EQ(timers.wheel.size(), 0U);
  }
}

TEST(TimerWheel, EntriesDueAtTheSameMomentComeInOrderOfArmingHoweverFarTheyTravelled) {
  Wheel timers(3);
  const auto due = start + 1h;
  timers.wheel.arm(timers.entries[2], due);
  EXPECT_EQ(timers.take(due - 10min), -1);
  timers.wheel.arm(timers.entries[0], due);
  EXPECT_EQ(timers.take(due - 1ns), -1);
  timers.wheel.arm(timers.entries[1], due);
  EXPECT_EQ(timers.take_all(due), (std::vector{2, 0, 1}));
}

TEST(TimerWheel, TheWholeRangeOfTimeFits) {
  Wheel timers(3);
  timers.wheel.arm(timers.entries[0], TimePoint::max());
  timers.wheel.arm(timers.entries[1], TimePoint(0ns));
  timers.wheel.arm(timers.entries[2], TimePoint::min());
  EXPECT_EQ(timers.take_all(start), (std::vector{2, 1}));
  EXPECT_EQ(timers.take_all(TimePoint::max() - 1ns), std::vector<int>{});
  EXPECT_EQ(timers.take(TimePoint::max()), 0);
}

TEST(TimerWheel, TimeMayGoBackWhileItIsEmpty) {
  Wheel timers(1);
  EXPECT_EQ(timers.take(start + 10'000h), -1);
  timers.wheel.restart(start);
  timers.wheel.arm(timers.entries[0], start + 1h);
  EXPECT_EQ(timers.take(start + 1h - 1ns), -1);
  EXPECT_EQ(timers.take(start + 1h), 0);
}

TEST(TimerWheel, TheOrderIsExactEvenIfTimeStandsBehindItsBase) {
  Wheel timers(2);
  timers.wheel.restart(start + 10'000h);
  timers.wheel.arm(timers.entries[0], start + 2h);
  timers.wheel.arm(timers.entries[1], start + 1h);
  EXPECT_EQ(timers.take_all(start + 90min), std::vector{1});
  EXPECT_EQ(timers.wheel.next_due(), start + 2h);
}

TEST(TimerWheel, TheNextDueTimeIsExactAfterTheFirstWasCancelled) {
  Wheel timers(3);
  for (int i = 0; i < 3; ++i) {
    timers.wheel.arm(timers.entries[static_cast<std::size_t>(i)], start + 1h + i * 1us);
  }
  timers.wheel.cancel(timers.entries[0]);
  EXPECT_EQ(timers.wheel.next_due(), start + 1h + 1us);
}

TEST(TimerWheel, ALargeSlotMayMeanOneWakeUpTooManyButNotTwo) {
  constexpr auto count = std::size_t{10} * TimerWheel::batch;
  Wheel timers(count);
  for (std::size_t i = 0; i < count; ++i) {
    timers.wheel.arm(timers.entries[i], start + 1h + i * 1us);
  }
  for (std::size_t i = 0; i < count - 1; ++i) {
    if (i % TimerWheel::batch == 0) {
      EXPECT_LE(timers.wheel.next_due(), start + 1h + i * 1us);
    }
    if (i < count / 2) timers.wheel.cancel(timers.entries[i]);
  }
  int wakeups = 0;
  while (timers.wheel.size() == count - count / 2) {
    const auto next = timers.wheel.next_due();
    static_cast<void>(timers.take(next));
    ++wakeups;
  }
  EXPECT_LE(wakeups, 2);
  EXPECT_EQ(timers.take_all(start + 2h).size(), count - count / 2 - 1);
}

TEST(TimerWheel, CancellingTwiceOrAfterTakingSaysNo) {
  Wheel timers(1);
  EXPECT_FALSE(timers.wheel.cancel(timers.entries[0]));
  timers.wheel.arm(timers.entries[0], start + 1s);
  EXPECT_TRUE(timers.wheel.cancel(timers.entries[0]));
  EXPECT_FALSE(timers.wheel.cancel(timers.entries[0]));
  timers.wheel.arm(timers.entries[0], start);
  EXPECT_EQ(timers.take(start), 0);
  EXPECT_FALSE(timers.wheel.cancel(timers.entries[0]));
}

// -- Against a model ------------------------------------------------------------------------------

using Key = std::pair<TimePoint, std::uint64_t>;

// Does the same to a wheel and to a sorted map. Returns false where they differ.
class ModelRun {
 public:
  explicit ModelRun(std::uint64_t seed) : random_(seed) {}

  bool arm() {
    const auto number = pick();
    if (keys_[number] != Key{}) return true;
    auto due = time_ + Duration(spread(50)) - 1ms;
    if (random_() % 8 == 0) due = time_ - Duration(spread(50));
    if (random_() % 4 == 0 && !model_.empty()) due = model_.begin()->first.first;  // A tie.
    timers_.wheel.arm(timers_.entries[number], due);
    keys_[number] = {due, ++sequence_};
    model_[keys_[number]] = number;
    return same_size();
  }
  bool cancel() {
    // Half of the time the first one, which is what makes a slot's earliest time stale.
    const auto number = random_() % 2 == 0 && !model_.empty() ? model_.begin()->second : pick();
    const bool was_armed = keys_[number] != Key{};
    if (was_armed) model_.erase(std::exchange(keys_[number], Key{}));
    return timers_.wheel.cancel(timers_.entries[number]) == was_armed && same_size();
  }
  // Time moves on by up to months, or exactly to the next entry, or to just before it.
  bool advance() {
    auto to = time_ + Duration(spread(53));
    if (random_() % 3 == 0 && !model_.empty()) {
      to = std::max(time_, model_.begin()->first.first - Duration(random_() % 2));
    }
    time_ = to;
    while (!model_.empty() && model_.begin()->first.first <= time_) {
      const auto number = model_.begin()->second;
      if (timers_.take(time_) != static_cast<int>(number)) return false;
      keys_[number] = {};
      model_.erase(model_.begin());
      if (random_() % 4 == 0 && !arm()) return false;  // As a fire() would.
    }
    return timers_.take(time_) == -1 && same_next() && same_size();
  }

 private:
  std::size_t pick() { return random_() % keys_.size(); }
  // All orders of magnitude alike.
  std::int64_t spread(unsigned bits) {
    return static_cast<std::int64_t>(random_() >> (63 - random_() % (bits + 1)) >> 1);
  }
  bool same_size() const { return timers_.wheel.size() == model_.size(); }
  bool same_next() {
    return timers_.wheel.next_due() ==
           (model_.empty() ? TimePoint::max() : model_.begin()->first.first);
  }

  std::mt19937_64 random_;
  Wheel timers_{100};
  TimePoint time_ = start;
  std::uint64_t sequence_ = 0;
  std::vector<Key> keys_ = std::vector<Key>(100);
  std::map<Key, std::size_t> model_;
};

TEST(TimerWheel, BehavesLikeASortedMapWhateverTheSequence) {
  const bool holds = rc::check([] {
    ModelRun run(*rc::gen::arbitrary<std::uint64_t>());
    const auto length = *rc::gen::inRange(0, 2'000);
    const auto advances = *rc::gen::inRange(1, 10);
    const auto steps = *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(length),
                                                             rc::gen::inRange(0, 30));
    for (const int step : steps) {
      const bool same = step < advances ? run.advance() : step % 2 == 0 ? run.cancel() : run.arm();
      RC_ASSERT(same);
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace handoff::detail
