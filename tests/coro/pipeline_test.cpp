#include "handoff/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "handoff/when.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

constexpr int many = 2'000;

// Counts from 0 to `count` - 1.
auto numbers(int count) {
  return [next = 0, count]() mutable -> std::optional<int> {
    if (next == count) return std::nullopt;
    return next++;
  };
}

// What became of the items adds up, at every stage.
void expect_conservation(const Pipeline& line) {
  for (const StageStats& stage : line.stats()) {
    EXPECT_EQ(stage.received, stage.sent + stage.filtered + stage.dropped) << stage.name;
  }
}

class PipelineTest : public testing::Test {
 protected:
  WorkerPool pool_{{.workers = 2, .capacity = 64, .name = "line"}};
};

TEST_F(PipelineTest, ClosingTheFirstChannelDrainsThroughToTheLast) {
  Channel<int> first{4};
  Channel<int> second{0};
  Channel<int> third{1};
  Pipeline line{pool_};
  std::vector<int> seen;
  line.stage(first, second, 2, [](int x) { return x + 1; });
  line.stage(second, third, 1, [](int x) { return 2 * x; });
  line.sink(third, 1, [&](int x) { seen.push_back(x); });
  std::jthread feeder([&] {
    for (int i = 0; i < many; ++i) EXPECT_TRUE(first.send(i));
    first.close();
  });
  EXPECT_TRUE(line.run());
  std::ranges::sort(seen);
  ASSERT_EQ(seen.size(), std::size_t{many});
  for (int i = 0; i < many; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], 2 * (i + 1));
  EXPECT_TRUE(third.is_closed());
  expect_conservation(line);
}

TEST_F(PipelineTest, KeepsTheOrderWithManyWorkers) {
  Channel<int> in{8};
  Channel<std::unique_ptr<int>> out{0};
  Pipeline line{pool_};
  int next = 0;
  line.source(in, numbers(many));
  line.stage(in, out, 5,
             [](int x) -> std::optional<std::unique_ptr<int>> {
               if (x % 7 == 0)
                 std::this_thread::yield();  // Some are slower than those behind them.
               if (x % 2 == 1) return std::nullopt;
               return std::make_unique<int>(x);
             },
             {.keep_order = true, .name = "halve"});
  line.sink(out, 1, [&](std::unique_ptr<int> x) {
    EXPECT_EQ(*x, next);
    next += 2;
  });
  EXPECT_TRUE(line.run());
  EXPECT_EQ(next, many);
  const auto stats = line.stats();
  EXPECT_EQ(stats[1].name, "halve");
  EXPECT_EQ(stats[1].filtered, many / 2U);
  expect_conservation(line);
}

TEST_F(PipelineTest, AtMostSoManyAreWorkedOnWhenTheOrderIsKept) {
  Channel<int> in{64};
  Channel<int> out{64};
  Pipeline line{pool_};
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  const auto work = [&](int x) -> Lazy<int> {
    const int now_at_work = ++at_work;
    for (int seen = most; seen < now_at_work && !most.compare_exchange_weak(seen, now_at_work);) {
    }
    static_cast<void>(co_await sleep_for(10us));
    --at_work;
    co_return x;
  };
  line.source(in, numbers(200));
  line.stage(in, out, 3, work, {.keep_order = true});
  int last = -1;
  line.sink(out, 1, [&](int x) { EXPECT_EQ(x, std::exchange(last, x) + 1); });
  EXPECT_TRUE(line.run());
  EXPECT_EQ(last, 199);
  EXPECT_LE(most, 3);
}

TEST_F(PipelineTest, AnOutputOfSeveralStagesIsClosedAfterTheLast) {
  Channel<int> odd{1};
  Channel<int> even{1};
  Channel<int> merged{0};
  Pipeline line{pool_};
  std::atomic<int> sum = 0;
  line.source(odd, numbers(10));
  line.source(even, numbers(many));  // Much longer than the other.
  line.stage(odd, merged, 1, [](int x) { return x; });
  line.stage(even, merged, 2, [](int x) { return x; });
  line.sink(merged, 3, [&](int x) { sum += x; });
  EXPECT_TRUE(line.run());
  EXPECT_EQ(sum, 45 + many * (many - 1) / 2);
}

TEST_F(PipelineTest, SeveralStagesShareOneInput) {
  Channel<int> in{4};
  Channel<int> a{4};
  Channel<int> b{4};
  Pipeline line{pool_};
  std::atomic<int> sum = 0;
  line.source(in, numbers(many));
  line.stage(in, a, 1, [](int x) { return x; });
  line.stage(in, b, 1, [](int x) { return x; });
  line.sink(a, 1, [&](int x) { sum += x; });
  line.sink(b, 1, [&](int x) { sum += x; });
  EXPECT_TRUE(line.run());
  EXPECT_EQ(sum, many * (many - 1) / 2);
}

TEST_F(PipelineTest, BroadcastGivesEachACopy) {
  Channel<std::string> in{1};
  Channel<std::string> a{0};
  Channel<std::string> b{2};
  Pipeline line{pool_};
  std::vector<std::string> first;
  std::vector<std::string> second;
  line.source(in, [count = 0]() mutable -> std::optional<std::string> {
    if (count == 50) return std::nullopt;
    return std::string(40, static_cast<char>('a' + count++ % 26));
  });
  line.broadcast(in, {&a, &b});
  line.sink(a, 1, [&](std::string x) { first.push_back(std::move(x)); });
  line.sink(b, 1, [&](std::string x) { second.push_back(std::move(x)); });
  EXPECT_TRUE(line.run());
  EXPECT_EQ(first.size(), 50U);
  EXPECT_EQ(first, second);
}

// -- Errors and ends, at each stage -----------------------------------------------------------------

class PipelineAtEachStage : public PipelineTest, public testing::WithParamInterface<int> {
 protected:
  auto fail_at(int stage) {
    return [here = stage == GetParam(), count = std::make_shared<std::atomic<int>>(0)](int x) {
      if (here && ++*count == 20) throw std::runtime_error("enough");
      return x;
    };
  }
};

TEST_P(PipelineAtEachStage, AnErrorStopsTheLineAndIsReportedOnce) {
  Channel<int> first{2};
  Channel<int> second{0};
  Channel<int> third{3};
  Pipeline line{pool_};
  line.stage(first, second, 2, fail_at(0), {.name = "first"});
  line.stage(second, third, 2, fail_at(1), {.keep_order = true, .name = "second"});
  line.sink(third, 2, fail_at(2), {.name = "third"});
  std::atomic<bool> was_told = false;
  std::jthread feeder([&] {  // For ever, if nobody tells it.
    int x = 0;
    while (true) {
      const auto sent = first.send(x++);
      if (sent) continue;
      EXPECT_EQ(sent.error(), Refusal::closed);
      was_told = true;
      return;
    }
  });
  int errors = 0;
  try {
    static_cast<void>(line.run());
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "enough");
    ++errors;
  }
  feeder.join();
  EXPECT_EQ(errors, 1);
  EXPECT_TRUE(was_told);
  EXPECT_TRUE(second.is_closed());
  EXPECT_TRUE(third.is_closed());
}

TEST_P(PipelineAtEachStage, AChannelClosedByAnotherEndsWhatIsBeforeItAndDrainsWhatIsBehind) {
  Channel<int> first{2};
  Channel<int> second{2};
  Channel<int> third{2};
  Channel<int>* const channels[] = {&first, &second, &third};
  Pipeline line{pool_};
  std::atomic<int> at_the_end = 0;
  line.stage(first, second, 2, [](int x) { return x; }, {.name = "first"});
  line.stage(second, third, 2, [](int x) { return x; }, {.name = "second"});
  line.sink(third, 1,
            [&](int) {
              if (++at_the_end == 10) channels[GetParam()]->close();
            },
            {.name = "third"});
  std::uint64_t accepted = 0;
  std::jthread feeder([&] {
    while (first.send(int{})) ++accepted;
  });
  EXPECT_TRUE(line.run());
  feeder.join();
  expect_conservation(line);
  const auto stats = line.stats();
  const std::uint64_t left = first.drain().size() + second.drain().size() + third.drain().size();
  const std::uint64_t dropped = stats[0].dropped + stats[1].dropped + stats[2].dropped;
  EXPECT_EQ(accepted, stats[2].sent + dropped + left);
}

INSTANTIATE_TEST_SUITE_P(Stages, PipelineAtEachStage, testing::Values(0, 1, 2),
                         [](const auto& which) { return "Stage" + std::to_string(which.param); });

TEST_F(PipelineTest, AStopEndsItAndSaysSo) {
  Channel<int> in{1};
  Channel<int> out{0};
  Pipeline line{pool_};
  line.source(in, [next = 0]() mutable -> std::optional<int> { return next++; });
  line.stage(in, out, 2, [](int x) { return x; });
  std::stop_source stop;
  line.sink(out, 1, [&](int x) {
    if (x == 100) stop.request_stop();
  });
  const auto run = line.run({.stop = stop.get_token()});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error(), Refusal::stopped);
  expect_conservation(line);
  EXPECT_EQ(pool_.stats().coroutines, 0U);
}

TEST_F(PipelineTest, RunsInsideACoroutine) {
  Channel<int> in{1};
  Pipeline line{pool_};
  std::atomic<int> count = 0;
  line.source(in, numbers(100));
  line.sink(in, 2, [&](int) { ++count; });
  EXPECT_TRUE(sync_wait(line.async_run()));
  EXPECT_EQ(count, 100);
}

TEST_F(PipelineTest, MistakesAreNamed) {
  Channel<int> in{1};
  Pipeline line{pool_};
  EXPECT_THROW(line.sink(in, 0, [](int) {}), std::invalid_argument);
  line.source(in, numbers(0));
  line.sink(in, 1, [](int) {});
  EXPECT_TRUE(line.run());
  EXPECT_THROW(static_cast<void>(line.run()), std::logic_error);
  EXPECT_THROW(line.sink(in, 1, [](int) {}), std::logic_error);
}

}  // namespace
}  // namespace handoff
