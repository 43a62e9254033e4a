// A run can be had again: by its seed, by its schedule, in this process or another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/found.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using testing::check;
using testing::exhaustive;
using testing::pct;
using testing::simulate;
using testing::Strategy;

// Set while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name_, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
};

void hand_over_five() {
  BlockingQueue<int> queue{{.capacity = 2, .name = "queue"}};
  Thread producer([&] {
    for (int i = 0; i < 5; ++i) check(queue.put(int{i}).has_value(), "refused");
    queue.close();
  });
  int expected = 0;
  for (const int item : queue) check(item == expected++, "out of order");
  check(expected == 5, "lost");
}

std::uint64_t digest_of(const Strategy& strategy, std::uint64_t seed) {
  return simulate({.runs = 1, .first_seed = seed, .strategy = strategy}, hand_over_five).digest;
}

TEST(Replay, TheSameSeedIsTheSameRunWhateverCameBefore) {
  for (const auto strategy : {testing::random, pct(3)}) {
    std::vector<std::uint64_t> forwards;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) forwards.push_back(digest_of(strategy, seed));
    for (std::uint64_t seed = 50; seed >= 1; --seed) {
      EXPECT_EQ(digest_of(strategy, seed), forwards[seed - 1]) << "seed " << seed;
    }
  }
}

TEST(Replay, OtherSeedsAreOtherRuns) {
  const auto first = digest_of(testing::random, 1);
  bool differs = false;
  for (std::uint64_t seed = 2; seed <= 20; ++seed) {
    differs = differs || digest_of(testing::random, seed) != first;
  }
  EXPECT_TRUE(differs);
}

TEST(Replay, TheSeedInTheEnvironmentIsTheOnlyRun) {
  for (const auto strategy : {testing::random, pct(3)}) {
    const auto found = find({.runs = 5'000, .strategy = strategy}, lock_in_both_orders);
    ASSERT_TRUE(found);
    const Environment seed("HANDOFF_SEED", std::to_string(found->seed));
    const auto again = find({.runs = 5'000, .strategy = strategy}, lock_in_both_orders);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->runs, 1U);
    EXPECT_EQ(again->schedule, found->schedule);
  }
}

TEST(Replay, TheShortenedScheduleFailsTheSameWay) {
  const auto found = find({.runs = 5'000}, lock_in_both_orders);
  ASSERT_TRUE(found);
  const Environment seed("HANDOFF_SEED", std::to_string(found->seed));
  const Environment schedule("HANDOFF_SCHEDULE", found->schedule);
  const auto again = find({.runs = 5'000}, lock_in_both_orders);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->what, found->what);
}

// As it is printed, and as a shell takes it.
TEST(Replay, WhatIsPrintedCanBePastedIntoAShell) {
  std::string report;
  const auto found = find({.runs = 5'000}, lock_in_both_orders, &report);
  ASSERT_TRUE(found);
  const auto begin = report.find("HANDOFF_SEED=", report.find("shortened:"));
  ASSERT_NE(begin, std::string::npos);
  const std::string line = report.substr(begin, report.find('\n', begin) - begin);
  const std::string command = line + " sh -c 'printf %s \"$HANDOFF_SCHEDULE\"'";
  FILE* const shell = popen(command.c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::array<char, 4096> output{};
  const std::size_t length = std::fread(output.data(), 1, output.size(), shell);
  EXPECT_EQ(pclose(shell), 0);
  EXPECT_EQ(std::string(output.data(), length), found->schedule);
}

// Several waits at the same step: which of them is meant must be clear.
TEST(Replay, WaitsAtOneStepAreToldApart) {
  const auto body = [] {
    static int order = 0;
    order = 0;
    std::vector<Thread> threads;
    for (int i = 1; i <= 3; ++i) {
      threads.emplace_back([i] {
        for (int round = 0; round < 3; ++round) {
          testing::pause(std::chrono::milliseconds(1));
          order = (order * 4 + i) % 1'000'003;
        }
      });
    }
    threads.clear();
    check(order % 7 != 0, "an order that fails");
  };
  for (std::uint64_t seed = 1; seed <= 200; seed += 20) {
    std::string report;
    if (!find({.runs = 100, .first_seed = seed}, body, &report)) continue;
    EXPECT_THAT(report, ::testing::Not(HasSubstr("not when it was repeated")));
  }
}

TEST(Replay, AShortenedDeadlockNeedsFewChanges) {
  const auto found = find({.runs = 5'000}, lock_in_both_orders);
  ASSERT_TRUE(found);
  // The least there can be: the first thread is interrupted once, and all others give way because they must.
  EXPECT_LE(std::ranges::count(found->schedule, '@'), 6) << found->schedule;
  EXPECT_EQ(std::ranges::count(found->schedule, '@') - std::ranges::count(found->schedule, '!'), 1)
      << found->schedule;
}

// Which of two cases select takes is drawn. exhaustive() goes through the draws too, and its schedules name them.
TEST(Replay, AScheduleKnowsWhatWasDrawn) {
  const auto body = [] {
    Channel<int> left{{.capacity = 1, .name = "left"}};
    Channel<int> right{{.capacity = 1, .name = "right"}};
    check(left.try_send(1).has_value() && right.try_send(2).has_value(), "refused");
    int received = 0;
    const auto done = select(left.on_receive([&](int item) { received = item; }),
                             right.on_receive([&](int item) { received = item; }));
    check(done.has_value() && received == 1, "the right one");
  };
  const auto found = find({.runs = 1'000, .strategy = exhaustive(1)}, body);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->schedule, HasSubstr("/"));
  const Environment schedule("HANDOFF_SCHEDULE", found->schedule);
  const auto again = find({.runs = 1'000, .strategy = exhaustive(1)}, body);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->what, "the right one");
}

// Addresses differ from run to run; what select does must not.
TEST(Replay, ARunDoesNotDependOnAddresses) {
  const auto body = [] {
    // Now the first made has the lower address, now the second.
    static bool is_turned = false;
    is_turned = !is_turned;
    std::array<std::optional<Channel<int>>, 2> places;
    auto& one = places[is_turned ? 1 : 0];
    auto& two = places[is_turned ? 0 : 1];
    one.emplace(ChannelOptions{.name = "one"});
    two.emplace(ChannelOptions{.name = "two"});
    Thread sender(
        [&] { static_cast<void>(select(two->on_send(2, [] {}), one->on_send(1, [] {}))); });
    static_cast<void>(select(one->on_receive([](int) {}), two->on_receive([](int) {})));
  };
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto digest = simulate({.runs = 1, .first_seed = seed}, body).digest;
    EXPECT_EQ(simulate({.runs = 1, .first_seed = seed}, body).digest, digest) << "seed " << seed;
  }
}

TEST(Replay, BadValuesAreNamed) {
  const auto expect_refused = [](const char* name, const char* value, const char* says) {
    const Environment set(name, value);
    try {
      simulate({.runs = 1}, [] {});
      ADD_FAILURE() << name << "=" << value << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  };
  expect_refused("HANDOFF_SEED", "four", "HANDOFF_SEED must be a number, got \"four\"");
  expect_refused("HANDOFF_SEED", "4x", "HANDOFF_SEED");
  expect_refused("HANDOFF_TABLE", "some", "HANDOFF_TABLE must be all, got \"some\"");
  expect_refused("HANDOFF_SEED", "-1", "HANDOFF_SEED");
  expect_refused("HANDOFF_SEED", "99999999999999999999999", "HANDOFF_SEED");
  for (const char* bad : {"1", "1@", "1@2", "1@2>", "x@2>1", "1@2>1;2@1>1", "1@2>1,", "1@2>1/",
                          "1@2>1/x", "1@2>1/1,", "99999999999@1>2"}) {
    expect_refused("HANDOFF_SCHEDULE", bad, "schedule");
  }
}

}  // namespace
}  // namespace handoff::tests
