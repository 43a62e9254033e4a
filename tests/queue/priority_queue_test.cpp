// What only a priority queue promises; what all queues promise is in tests/contract/.
#include <algorithm>
#include <climits>
#include <map>
#include <random>

#include "contract/every_queue.hpp"

namespace handoff::contract {
namespace {

struct Job {
  int priority = 0;
  int number = 0;
};

std::vector<int> numbers(const std::vector<Job>& jobs) {
  std::vector<int> result;
  for (const Job& job : jobs) result.push_back(job.number);
  return result;
}

TEST(PriorityQueue, TheHighestPriorityComesFirst) {
  PriorityBlockingQueue<int> queue{{.capacity = 5}};
  for (int priority : {3, 1, 5, 4, 2}) ASSERT_TRUE(queue.put(int(priority)));
  for (int priority : {5, 4, 3, 2, 1}) EXPECT_EQ(queue.take(), priority);
}

TEST(PriorityQueue, EqualPrioritiesComeFirstInFirstOut) {
  PriorityBlockingQueue<Job> queue{{.capacity = 100}, &Job::priority};
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.put(Job{i % 3, i}));
  int last_priority = INT_MAX;
  int last_number = -1;
  for (const Job& job : queue.drain()) {
    ASSERT_LE(job.priority, last_priority);
    if (job.priority == last_priority) {
      ASSERT_GT(job.number, last_number);
    }
    last_priority = job.priority;
    last_number = job.number;
  }
}

TEST(PriorityQueue, TheOrderIsThatOfAModelUnderRandomUse) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    PriorityBlockingQueue<Job> queue{{.capacity = 17}, &Job::priority};
    std::map<std::pair<int, int>, bool> model;  // By negated priority, then number.
    for (int i = 0; i < 500; ++i) {
      if (random() % 2 == 0) {
        const int priority = static_cast<int>(random() % 5);
        const bool in = queue.offer(Job{priority, i}).has_value();
        ASSERT_EQ(in, model.size() < 17);
        if (in) model[{-priority, i}] = true;
      } else if (auto job = queue.poll()) {
        ASSERT_EQ(model.begin()->first, std::pair(-job->priority, job->number));
        model.erase(model.begin());
      } else {
        ASSERT_TRUE(model.empty());
      }
    }
  }
}

TEST(PriorityQueue, ExtremePrioritiesKeepTheirOrder) {
  for (auto ageing : {Duration::zero(), Duration(1), Duration(24h)}) {
    PriorityBlockingQueue<int> queue{{.capacity = 3, .ageing = ageing}};
    for (int priority : {0, INT_MIN, INT_MAX}) ASSERT_TRUE(queue.put(int(priority)));
    if (ageing == Duration(1)) {
      queue.drain();  // A step a nanosecond: only that nothing overflows.
      continue;
    }
    for (int priority : {INT_MAX, 0, INT_MIN}) EXPECT_EQ(queue.take(), priority);
  }
}

TEST(PriorityQueue, TakeSomeAndDrainHandOutTheMostUrgentFirst) {
  PriorityBlockingQueue<int> queue{{.capacity = 5}};
  for (int priority : {3, 1, 5, 4, 2}) ASSERT_TRUE(queue.put(int(priority)));
  EXPECT_EQ(queue.take_some(2).value(), (std::vector{5, 4}));
  EXPECT_EQ(queue.drain(), (std::vector{3, 2, 1}));
}

TEST(PriorityQueue, PutAllTakesThePriorityOfEachItem) {
  PriorityBlockingQueue<Job> queue{{.capacity = 3}, &Job::priority};
  std::vector<Job> jobs{{1, 1}, {3, 3}, {2, 2}};
  ASSERT_TRUE(queue.put_all(jobs));
  EXPECT_EQ(numbers(queue.drain()), (std::vector{3, 2, 1}));
}

TEST(PriorityQueue, WhatThePriorityFunctionThrowsReachesTheCallerAndNothingHasHappened) {
  PriorityBlockingQueue<int> queue{{.capacity = 1}, [](const int& item) -> int {
                                     if (item < 0) throw std::runtime_error("no priority");
                                     return item;
                                   }};
  EXPECT_THROW((void)queue.put(-1), std::runtime_error);
  EXPECT_EQ(queue.size(), 0u);
  std::vector<int> items{-1};
  EXPECT_TRUE(queue.put_all(items).error);
}

TEST(PriorityQueue, AMissingPriorityFunctionAndNegativeAgeingAreRefused) {
  EXPECT_THROW((PriorityBlockingQueue<int>{{.capacity = 1}, {}}), std::invalid_argument);
  EXPECT_THROW((PriorityBlockingQueue<int>{{.capacity = 1, .ageing = -1s}}), std::invalid_argument);
}

TEST(PriorityQueue, AWaitingConsumerGetsTheMostUrgentOfWhatComes) {
  PriorityBlockingQueue<int> queue{{.capacity = 3}};
  auto taken = in_background([&] { return queue.take(); });
  await_consumers(queue, 1);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(taken.get(), 1);
}

// -- Ageing ---------------------------------------------------------------------------------------

TEST(PriorityQueue, WithoutAgeingALowPriorityWaitsAsLongAsThereIsAHigherOne) {
  ManualClock clock;
  PriorityBlockingQueue<Job> queue{{.capacity = 2}, &Job::priority};
  ASSERT_TRUE(queue.put(Job{0, -1}));
  for (int i = 0; i < 100; ++i) {
    clock.advance(1h);
    ASSERT_TRUE(queue.put(Job{1, i}));
    ASSERT_EQ(queue.take()->number, i);
  }
}

TEST(PriorityQueue, AnItemGainsOneStepOfPriorityPerAgeingTime) {
  ManualClock clock;
  PriorityBlockingQueue<Job> queue{{.capacity = 10, .ageing = 1s}, &Job::priority};
  ASSERT_TRUE(queue.put(Job{0, 0}));
  clock.advance(2999ms);
  ASSERT_TRUE(queue.put(Job{3, 1}));  // Not yet 3 steps behind: goes first.
  clock.advance(2ms);
  ASSERT_TRUE(queue.put(Job{3, 2}));  // More than 3 steps later: has to wait.
  EXPECT_EQ(numbers(queue.drain()), (std::vector{1, 0, 2}));
}

TEST(PriorityQueue, AtExactlyTheSameAgedPriorityTheOlderItemComesFirst) {
  ManualClock clock;
  PriorityBlockingQueue<Job> queue{{.capacity = 10, .ageing = 1s}, &Job::priority};
  ASSERT_TRUE(queue.put(Job{0, 0}));
  clock.advance(2s);
  ASSERT_TRUE(queue.put(Job{2, 1}));
  EXPECT_EQ(numbers(queue.drain()), (std::vector{0, 1}));
}

TEST(PriorityQueue, WithAgeingALowPriorityIsDelayedButNeverStarved) {
  ManualClock clock;
  PriorityBlockingQueue<Job> queue{{.capacity = 2, .ageing = 1s}, &Job::priority};
  ASSERT_TRUE(queue.put(Job{0, -1}));
  int overtaken = 0;
  while (true) {
    clock.advance(100ms);
    ASSERT_TRUE(queue.put(Job{5, overtaken}));
    if (queue.take()->number == -1) break;
    ++overtaken;
  }
  EXPECT_EQ(overtaken,
            49);  // 5 steps of 1 s, one item each 100 ms: from the fiftieth on it is older.
}

// -- Dropping -------------------------------------------------------------------------------------

struct Dropped {
  std::vector<int> numbers;
  PriorityBlockingQueue<Job> queue{{.capacity = 3, .when_full = WhenFull::drop_oldest},
                                   &Job::priority,
                                   [this](Job& job) { numbers.push_back(job.number); }};

  Dropped() : log_before(set_log([](std::string_view) {})) {}
  ~Dropped() { set_log(log_before); }
  LogSink log_before;
};

TEST(PriorityQueue, DropOldestEvictsTheLowestPriority) {
  Dropped dropped;
  for (auto job : {Job{2, 0}, Job{1, 1}, Job{3, 2}}) dropped.queue.push(std::move(job));
  EXPECT_TRUE(dropped.queue.push(Job{2, 3}));
  EXPECT_EQ(dropped.numbers, std::vector{1});
  EXPECT_EQ(numbers(dropped.queue.drain()), (std::vector{2, 0, 3}));
}

TEST(PriorityQueue, DropOldestEvictsTheOldestAmongEquals) {
  Dropped dropped;
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(dropped.queue.push(Job{1, i}));
  EXPECT_EQ(dropped.numbers, (std::vector{0, 1, 2}));
}

TEST(PriorityQueue, DropOldestDropsTheNewItemIfItIsTheLeastUrgent) {
  Dropped dropped;
  for (int i = 0; i < 3; ++i) dropped.queue.push(Job{2, i});
  EXPECT_EQ(dropped.queue.push(Job{1, 9}), full);
  EXPECT_EQ(dropped.numbers, std::vector{9});
  EXPECT_EQ(dropped.queue.stats().dropped, 1u);
  EXPECT_EQ(dropped.queue.stats().refused, 0u);
  EXPECT_EQ(numbers(dropped.queue.drain()), (std::vector{0, 1, 2}));
}

TEST(PriorityQueue, DropOldestFindsTheVictimAlsoAfterItemsWereTaken) {
  Dropped dropped;
  for (int i = 0; i < 3; ++i) dropped.queue.push(Job{i, i});
  EXPECT_EQ(dropped.queue.take()->number, 2);
  dropped.queue.push(Job{5, 3});
  dropped.queue.push(Job{5, 4});
  EXPECT_EQ(dropped.numbers, std::vector{0});
  EXPECT_EQ(numbers(dropped.queue.drain()), (std::vector{3, 4, 1}));
}

TEST(PriorityQueue, EvictionsAndTheOrderAreThoseOfAModelUnderRandomUse) {
  const auto log_before = set_log([](std::string_view) {});
  std::mt19937 random(13);
  constexpr std::size_t capacity = 40;
  std::map<std::pair<int, int>, bool> model;  // By negated priority, then number.
  std::vector<int> dropped;
  PriorityBlockingQueue<Job> queue{{.capacity = capacity, .when_full = WhenFull::drop_oldest},
                                   &Job::priority,
                                   [&](Job& job) { dropped.push_back(job.number); }};
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 8 != 0) {
      const int priority = static_cast<int>(random() % 10);
      dropped.clear();
      queue.push(Job{priority, i});
      model[{-priority, i}] = true;
      if (model.size() <= capacity) continue;
      const auto victim = model.lower_bound({model.rbegin()->first.first, INT_MIN});
      ASSERT_EQ(dropped, std::vector{victim->first.second});
      model.erase(victim);
    } else if (auto job = queue.poll()) {
      ASSERT_EQ(model.begin()->first, std::pair(-job->priority, job->number));
      model.erase(model.begin());
    }
  }
  set_log(log_before);
}

}  // namespace
}  // namespace handoff::contract
