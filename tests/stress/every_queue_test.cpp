// Many threads, every form, close, stops, deadlines and throwing moves at small capacities: no item is lost, none comes
// twice, and nobody sleeps for ever.
#include "contract/every_queue.hpp"

#include <array>
#include <random>

namespace handoff::contract {
namespace {

constexpr int producers = 3;
constexpr int consumers = 3;
constexpr int items_each = 2'000;
const std::stop_source nobody_stops;

// What became of an item, by its number. Every item ends in exactly one way.
class Ledger {
 public:
  void note(int number) {
    const auto before = ended_[static_cast<std::size_t>(number)].fetch_add(1);
    EXPECT_EQ(before, 0) << "item " << number << " ended twice";
  }
  std::size_t ended() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(ended_, [](const auto& each) { return each == 1; }));
  }

 private:
  std::array<std::atomic<int>, producers * items_each> ended_{};
};

// An item whose move throws now and then. If that happens on the way out, the item is gone with the exception, and
// notes so itself.
class Risky {
 public:
  static inline std::atomic<bool> is_risky = false;

  Risky(int number, Ledger& ledger) : number_(number), ledger_(&ledger) {}
  Risky(Risky&& other) : number_(other.number_), ledger_(other.ledger_) {
    if (is_risky && dice() % 64 == 0) throw std::runtime_error("bad luck");
    other.ledger_ = nullptr;
  }
  Risky& operator=(Risky&&) = delete;
  ~Risky() {
    if (ledger_ != nullptr) ledger_->note(number_);
  }

 private:
  static std::uint32_t dice() {
    thread_local std::minstd_rand random(std::random_device{}());
    return static_cast<std::uint32_t>(random() >> 4);
  }

  int number_;
  Ledger* ledger_;  // Null once moved from: what is left ends without a note.
};

template <typename Kind>
class EveryQueueStress : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = set_log([](std::string_view) {});
  }
  void TearDown() override { set_log(before_); }

 private:
  LogSink before_;
};
TYPED_TEST_SUITE(EveryQueueStress, EveryQueue, KindName);

struct Counts {
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> taken = 0;
};

// Adds the item in one of the ways there are.
template <typename Queue, typename T>
std::expected<void, Refusal> add_somehow(Queue& queue, std::mt19937& random, T& item) {
  switch (random() % 6) {
    case 0: return queue.offer(std::move(item));
    case 1: return queue.offer(std::move(item), 20us);
    case 2: return queue.put(std::move(item), {.stop = nobody_stops.get_token()});
    case 3: return queue.push(std::move(item));
    case 4: {
      const auto all = queue.put_all(std::span(&item, 1), {.deadline = within(1ms)});
      if (all.error) std::rethrow_exception(all.error);
      if (all) return {};
      return std::unexpected(*all.refusal);
    }
    default: return queue.put(std::move(item));
  }
}

template <typename Queue, typename Make>
void produce(Queue& queue, std::mt19937& random, int first, Counts& counts, Make make) {
  for (int i = 0; i < items_each; ++i) {
    auto item = make(first + i);
    for (bool in = false; !in;) {
      try {
        const auto added = add_somehow(queue, random, item);
        in = added.has_value();
        ++(in ? counts.accepted : counts.refused);
        if (added == closed) return;         // The item ends here, with its owner.
      } catch (const std::runtime_error&) {  // Nothing has happened: try again.
      }
    }
  }
}

// The stop comes while it waits, or just before.
template <typename Queue>
auto take_interrupted(Queue& queue) {
  std::stop_source stop;
  std::jthread interrupt([&] { stop.request_stop(); });
  return queue.take({.stop = stop.get_token()});
}

// Takes in one of the ways there are. Returns how many.
template <typename Queue>
std::expected<std::size_t, Refusal> take_somehow(Queue& queue, std::mt19937& random) {
  const auto count = [](const auto& result) -> std::expected<std::size_t, Refusal> {
    if (!result) return std::unexpected(result.error());
    return 1;
  };
  switch (random() % 6) {
    case 0: return count(queue.poll());
    case 1: return count(queue.poll(20us));
    case 2: return count(take_interrupted(queue));
    case 3: {
      const auto some = queue.take_some(3);
      if (!some) return std::unexpected(some.error());
      return some->size();
    }
    default: return count(queue.take());
  }
}

template <typename Queue>
void consume(Queue& queue, std::mt19937& random, Counts& counts) {
  while (true) {
    try {
      const auto taken = take_somehow(queue, random);
      counts.taken += taken.value_or(0);
      if (taken == closed) return;
    } catch (const std::runtime_error&) {
      ++counts.taken;
    }
  }
}

template <typename Queue, typename Make>
void run_all(Queue& queue, unsigned seed, Counts& counts, Make make) {
  std::vector<std::future<void>> consuming;
  for (int i = 0; i < consumers; ++i) {
    consuming.push_back(in_background([&, i] {
      std::mt19937 random(seed + 100 + static_cast<unsigned>(i));
      consume(queue, random, counts);
    }));
  }
  std::vector<std::future<void>> producing;
  for (int i = 0; i < producers; ++i) {
    producing.push_back(in_background([&, i] {
      std::mt19937 random(seed + static_cast<unsigned>(i));
      produce(queue, random, i * items_each, counts, make);
    }));
  }
  if (seed % 2 == 0) {
    for (auto& each : producing) each.get();
    queue.close();
  } else {
    // In the middle of it all: producers and consumers are blocked, woken, on their way.
    eventually([&] { return counts.taken > static_cast<std::uint64_t>(items_each); });
    queue.close();
    for (auto& each : producing) each.get();
  }
  for (auto& each : consuming) each.get();
}

TYPED_TEST(EveryQueueStress, EveryAcceptedItemIsDeliveredOnceUnderARandomMixOfAllForms) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    Counts counts;
    auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = seed % 5 + 1});
    run_all(queue, seed, counts, [](int number) { return std::make_unique<int>(number); });

    EXPECT_EQ(counts.taken, counts.accepted);
    const auto stats = queue.stats();
    EXPECT_EQ(stats.size, 0u);
    EXPECT_EQ(stats.puts, counts.accepted);
    EXPECT_EQ(stats.takes, counts.taken);
    EXPECT_EQ(stats.refused, counts.refused);
    EXPECT_LE(stats.high_water, queue.capacity());
    EXPECT_EQ(stats.waiting_producers + stats.waiting_consumers, 0u);
  }
}

TYPED_TEST(EveryQueueStress, EveryItemEndsOnceWhenMovesThrow) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    Counts counts;
    Ledger ledger;
    Risky::is_risky = true;
    std::size_t made = 0;
    {
      std::atomic<std::size_t> count = 0;
      auto queue = TypeParam::template make<Risky>({.capacity = seed % 5 + 1});
      run_all(queue, seed, counts, [&](int number) {
        ++count;
        return Risky(number, ledger);
      });
      const auto stats = queue.stats();
      EXPECT_EQ(stats.size, 0u);
      EXPECT_EQ(stats.puts, counts.accepted);
      EXPECT_EQ(stats.takes, stats.puts);
      EXPECT_EQ(counts.taken, stats.takes);
      made = count;
    }
    Risky::is_risky = false;
    EXPECT_EQ(ledger.ended(), made);
  }
}

TYPED_TEST(EveryQueueStress, EveryItemIsTakenOrDroppedOnceWhenPushEvicts) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    Counts counts;
    std::atomic<std::uint64_t> hooked = 0;
    auto queue = TypeParam::template make<std::unique_ptr<int>>(
        {.capacity = seed % 5 + 1, .when_full = WhenFull::drop_oldest},
        [&](std::unique_ptr<int>& item) {
          EXPECT_NE(item, nullptr);
          ++hooked;
        });
    run_all(queue, seed, counts, [](int number) { return std::make_unique<int>(number); });

    const auto stats = queue.stats();
    EXPECT_EQ(counts.taken + hooked, counts.accepted);
    EXPECT_EQ(stats.dropped, hooked);
    EXPECT_EQ(stats.puts, stats.takes + stats.dropped);
    EXPECT_EQ(stats.size, 0u);
  }
}

TYPED_TEST(EveryQueueStress, WhatIsDrainedAndWhatIsTakenAddUp) {
  for (int round = 0; round < 20; ++round) {
    auto queue = TypeParam::template make<int>({.capacity = 4});
    std::atomic<std::uint64_t> out = 0;
    auto drainer = in_background([&] {
      while (!queue.is_closed()) out += queue.drain().size();
    });
    auto taker = in_background([&] {
      for ([[maybe_unused]] int& item : queue) ++out;
    });
    std::vector<int> items(500);
    EXPECT_TRUE(queue.put_all(items));
    queue.close();
    drainer.get();
    taker.get();
    EXPECT_EQ(out + queue.drain().size(), 500u);
  }
}

}  // namespace
}  // namespace handoff::contract
