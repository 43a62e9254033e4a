// Every accepted job runs exactly once or is handed back, whatever happens at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "handoff/log.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

// What became of every job that was accepted.
class Ledger {
 public:
  explicit Ledger(std::size_t jobs) : runs_(jobs) {}

  std::size_t enter() { return entered_.fetch_add(1); }
  void ran(std::size_t job) { runs_[job].fetch_add(1); }
  void refused(std::size_t job) { runs_[job].fetch_add(1000); }

  // How many ran; each that was accepted and not handed back must have run once.
  std::size_t check(std::size_t unaccounted) const {
    std::size_t once = 0;
    std::size_t never = 0;
    for (std::size_t i = 0; i < entered_; ++i) {
      const int runs = runs_[i];
      EXPECT_TRUE(runs == 0 || runs == 1 || runs == 1000) << "job " << i << " ran " << runs;
      once += runs == 1 ? 1 : 0;
      never += runs == 0 ? 1 : 0;
    }
    EXPECT_EQ(never, unaccounted);
    return once;
  }

 private:
  std::vector<std::atomic<int>> runs_;
  std::atomic<std::size_t> entered_ = 0;
};

struct Mix {
  const char* name;
  std::size_t workers;
  std::size_t capacity;
  WhenFull when_full;
  bool interrupts;
};

void PrintTo(const Mix& mix, std::ostream* out) { *out << mix.name; }

class PoolConservation : public ::testing::TestWithParam<Mix> {};

TEST_P(PoolConservation, EveryAcceptedJobRunsOnceOrIsHandedBack) {
  const Mix mix = GetParam();
  auto log = set_log([](std::string_view) {});  // Of drops and shortages there will be many.
  for (unsigned round = 0; round < 4; ++round) {
    Ledger ledger(200'000);
    std::atomic<std::size_t> dropped = 0;
    std::size_t handed_back = 0;
    PoolStats stats;
    {
      WorkerPool pool{{.workers = mix.workers,
                       .capacity = mix.capacity,
                       .when_full = mix.when_full,
                       .spares = 4},
                      {.on_error = [](std::exception_ptr, const std::source_location&) {},
                       .on_drop = [&](Job&) { ++dropped; }}};
      const auto hand_in = [&](auto&& again, unsigned kind) -> void {
        const std::size_t id = ledger.enter();
        bool accepted = false;
        switch (kind % 5) {
          case 0:  // One that throws.
            accepted = pool.post([&, id] {
                             ledger.ran(id);
                             throw std::runtime_error("on purpose");
                           })
                           .has_value();
            break;
          case 1:  // One whose result is awaited.
            if (auto future = pool.submit([&, id] { ledger.ran(id); })) {
              accepted = true;
              (void)future->get(200us);
            }
            break;
          case 2:  // One that hands in another.
            accepted = pool.post([&, id, kind] {
                             ledger.ran(id);
                             again(again, kind / 5);
                           })
                           .has_value();
            break;
          case 3:  // One that waits.
            accepted = pool.post([&, id] {
                             ledger.ran(id);
                             pool.blocking([] { std::this_thread::yield(); });
                           })
                           .has_value();
            break;
          default: accepted = pool.post([&, id] { ledger.ran(id); }).has_value(); break;
        }
        if (!accepted) ledger.refused(id);
      };
      std::vector<std::jthread> producers;
      for (unsigned producer = 0; producer < 3; ++producer) {
        producers.emplace_back([&, producer] {
          std::minstd_rand random(round * 10 + producer);
          for (int i = 0; i < 2000; ++i) hand_in(hand_in, static_cast<unsigned>(random()));
        });
      }
      std::jthread sizer([&] {
        std::minstd_rand random(round);
        for (int i = 0; i < 50; ++i) {
          pool.resize(1 + random() % 6);
          std::this_thread::yield();
        }
      });
      if (!mix.interrupts) {
        for (auto& each : producers) each.join();
      } else {
        testing::eventually([&] { return pool.stats().accepted > 10; });
      }
      auto report = mix.interrupts ? pool.shutdown(interrupt()) : pool.shutdown(finish_within(60s));
      handed_back = report.handed_back.size();
      EXPECT_TRUE(report.still_running.empty());
      if (!mix.interrupts) {
        EXPECT_EQ(handed_back, 0u);
      }
      for (auto& each : producers) {
        if (each.joinable()) each.join();
      }
      sizer.join();
      stats = pool.stats();
    }
    const std::size_t ran = ledger.check(handed_back + dropped);
    EXPECT_EQ(stats.accepted + stats.spawned, ran + handed_back + dropped);
    EXPECT_EQ(stats.finished, ran);
    EXPECT_LE(stats.high_water, mix.capacity);
  }
  set_log(std::move(log));
}

INSTANTIATE_TEST_SUITE_P(
    Pools, PoolConservation,
    ::testing::Values(Mix{"OneWorkerOnePlace", 1, 1, WhenFull::block, false},
                      Mix{"BlockThreePlaces", 2, 3, WhenFull::block, false},
                      Mix{"BlockInterrupted", 4, 100, WhenFull::block, true},
                      Mix{"Reject", 2, 64, WhenFull::reject, false},
                      Mix{"RejectInterrupted", 2, 64, WhenFull::reject, true},
                      Mix{"DropOldest", 3, 20, WhenFull::drop_oldest, false},
                      Mix{"DropOldestInterrupted", 3, 20, WhenFull::drop_oldest, true},
                      Mix{"DropNewestInterrupted", 2, 20, WhenFull::drop_newest, true}),
    [](const auto& mix) { return std::string(mix.param.name); });

// Nested waits, forks and posts, on few workers with few spares.
TEST(PoolStress, NestedWaitsEnd) {
  for (std::size_t workers : {1u, 2u, 3u}) {
    WorkerPool pool{{.workers = workers, .capacity = 4, .spares = 8}};
    std::function<int(int)> tree = [&](int depth) -> int {
      if (depth == 0) return 1;
      auto left = pool.submit([&, depth] { return tree(depth - 1); });
      auto [a, b] =
          pool.fork_join([&] { return tree(depth - 1); }, [&] { return tree(depth - 1); });
      return *left->get() + a + b;
    };
    std::vector<std::jthread> callers;
    for (int i = 0; i < 2; ++i) {
      callers.emplace_back([&] {
        auto root = pool.submit([&] { return tree(9); });
        EXPECT_EQ(*root->get(60s), 19683);
      });
    }
  }
}

// Idle workers that go to sleep while the last job is handed in: none may be overlooked.
TEST(PoolStress, NoWakeUpIsLost) {
  WorkerPool pool{{.workers = 2, .capacity = 2}};
  for (int i = 0; i < 20'000; ++i) {
    auto future = pool.submit([&] { return pool.fork_join([] { return 1; }, [] { return 2; }); });
    ASSERT_TRUE(future->get(60s));
  }
}

}  // namespace
}  // namespace handoff
