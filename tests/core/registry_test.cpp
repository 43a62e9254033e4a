#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "handoff/detail/core/primitive.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

std::optional<NamedStats> find(std::string_view name) {
  for (auto& each : snapshot()) {
    if (each.name == name) return each;
  }
  return std::nullopt;
}

TEST(Registry, ANamedPrimitiveIsInTheSnapshotForAsLongAsItLives) {
  {
    BlockingQueue<int> queue{{.capacity = 3, .name = "orders of today"}};
    ASSERT_TRUE(queue.put(1));
    const auto entry = find("orders of today");
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->kind, "BlockingQueue");
    EXPECT_EQ(entry->stats.size, 1U);
    EXPECT_EQ(entry->stats.capacity, 3U);
  }
  EXPECT_FALSE(find("orders of today"));
}

TEST(Registry, AnUnnamedPrimitiveEntersWhenSomebodyFirstWaitsForIt) {
  const auto before = snapshot().size();
  BlockingQueue<int> queue{{.capacity = 1}};
  EXPECT_EQ(snapshot().size(), before);
  std::jthread taker([&] { EXPECT_TRUE(queue.take()); });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  EXPECT_EQ(snapshot().size(), before + 1);
  ASSERT_TRUE(queue.put(1));
}

TEST(Waits, SaysWhoWaitsForWhatSinceWhenAndWhere) {
  testing::ManualClock clock;
  BlockingQueue<int> queue{{.capacity = 1, .name = "emails"}};
  std::uint_least32_t line = 0;
  std::jthread taker([&] {
    name_this_thread("mailer 3");
    line = std::source_location::current().line() + 1;
    EXPECT_TRUE(queue.take());
  });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  clock.advance(2100ms);

  const auto all = waits();
  const auto mine = std::ranges::find(all, "emails", &WaitInfo::name);
  ASSERT_NE(mine, all.end());
  EXPECT_EQ(mine->thread, "mailer 3");
  EXPECT_EQ(mine->operation, "take");
  EXPECT_EQ(mine->kind, "BlockingQueue");
  EXPECT_EQ(mine->since, clock.now() - 2100ms);
  EXPECT_THAT(mine->where.file_name(), ::testing::EndsWith("registry_test.cpp"));
  EXPECT_EQ(mine->where.line(), line);
  EXPECT_THAT(to_table(all), ::testing::HasSubstr("mailer 3"));
  EXPECT_THAT(to_table(all), ::testing::HasSubstr("BlockingQueue \"emails\""));
  EXPECT_THAT(to_table(all), ::testing::HasSubstr("2.1 s"));
  ASSERT_TRUE(queue.put(1));
}

TEST(Waits, AnEmptyTableSaysSo) { EXPECT_EQ(to_table({}), "nobody waits\n"); }

TEST(Waits, TheLongestWaitComesFirst) {
  testing::ManualClock clock;
  BlockingQueue<int> first{{.capacity = 1, .name = "first"}};
  BlockingQueue<int> second{{.capacity = 1, .name = "second"}};
  std::jthread early([&] { EXPECT_FALSE(first.take()); });
  eventually([&] { return first.stats().waiting_consumers == 1; });
  clock.advance(1s);
  std::jthread late([&] { EXPECT_FALSE(second.take()); });
  eventually([&] { return second.stats().waiting_consumers == 1; });

  const auto all = waits();
  EXPECT_LT(std::ranges::find(all, "first", &WaitInfo::name),
            std::ranges::find(all, "second", &WaitInfo::name));
  first.close();
  second.close();
}

// Primitives come, are waited for and go on some threads while others look: nothing may be described
// after it has gone. The sanitizers are the judges.
TEST(Registry, LookingWhilePrimitivesComeAndGoIsSafe) {
  std::jthread observer([](std::stop_token stop) {
    while (!stop.stop_requested()) {
      static_cast<void>(waits());
      static_cast<void>(snapshot());
    }
  });
  std::vector<std::jthread> makers;
  for (int i = 0; i < 3; ++i) {
    makers.emplace_back([i] {
      for (int round = 0; round < 300; ++round) {
        const auto name = i == 0 ? "" : "comes and goes";
        auto queue =
            std::make_unique<BlockingQueue<int>>(QueueOptions{.capacity = 1, .name = name});
        std::jthread taker([&] { static_cast<void>(queue->take()); });
        ASSERT_TRUE(queue->put(round));
      }
    });
  }
  makers.clear();
  EXPECT_FALSE(find("comes and goes"));
}

}  // namespace
}  // namespace handoff
