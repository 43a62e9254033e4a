// Order and due times under load: what only the priority queue and the delay queue promise.
#include <random>

#include "contract/every_queue.hpp"

namespace handoff::contract {
namespace {

struct Numbered {
  int group = 0;
  int number = 0;
};

TEST(PriorityQueueStress, EachProducersEqualPrioritiesComeInOrder) {
  constexpr int producers = 3;
  constexpr int each = 20'000;
  PriorityBlockingQueue<Numbered> queue{{.capacity = 5}, [](const Numbered&) { return 1; }};
  std::vector<std::future<void>> producing;
  for (int group = 0; group < producers; ++group) {
    producing.push_back(in_background([&, group] {
      for (int i = 0; i < each; ++i) EXPECT_TRUE(queue.put(Numbered{group, i}));
    }));
  }
  std::vector<int> next(producers, 0);
  for (int i = 0; i < producers * each; ++i) {
    const auto item = queue.take();
    ASSERT_TRUE(item);
    ASSERT_EQ(item->number, next[static_cast<std::size_t>(item->group)]++);
  }
}

TEST(DelayQueueStress, ItemsComeOutDueAndAllOfThemWhileTakersComeAndGo) {
  constexpr int count = 2'000;
  DelayQueue<TimePoint> queue{{.capacity = 64}};
  std::atomic<int> taken = 0;
  std::vector<std::future<void>> takers;
  for (unsigned i = 0; i < 4; ++i) {
    takers.push_back(in_background([&, i] {
      std::mt19937 random(i);
      while (true) {
        std::stop_source stop;
        std::expected<TimePoint, Refusal> item;
        switch (random() % 4) {
          case 0: item = queue.poll(Duration(random() % 50'000)); break;
          case 1: {
            auto interrupt = std::jthread([&] { stop.request_stop(); });
            item = queue.take({.stop = stop.get_token()});
            break;
          }
          default: item = queue.take(); break;
        }
        if (item) {
          EXPECT_LE(*item, now());
          ++taken;
        } else if (item.error() == Refusal::closed) {
          return;
        }
      }
    }));
  }
  std::mt19937 random(99);
  for (int i = 0; i < count; ++i) {
    // Mostly behind the first item, sometimes before it: the watcher has to notice.
    const auto due = now() + Duration(random() % 2'000'000);
    ASSERT_TRUE(queue.put(TimePoint(due), due_at(due)));
  }
  queue.close();
  for (auto& each : takers) each.get();
  EXPECT_EQ(taken, count);
}

TEST(DelayQueueStress, NoTakerSleepsThroughADueTimeWhenTheWatchPassesOften) {
  for (int round = 0; round < 300; ++round) {
    DelayQueue<int> queue{{.capacity = 8}};
    std::vector<std::future<bool>> takers;
    for (int i = 0; i < 4; ++i) {
      takers.push_back(in_background([&] { return queue.take().has_value(); }));
    }
    // Later ones first: each put moves the first due time forward.
    for (int i = 4; i > 0; --i) ASSERT_TRUE(queue.put(int(i), due_in(i * 100us)));
    for (auto& each : takers) EXPECT_TRUE(each.get());
  }
}

}  // namespace
}  // namespace handoff::contract
