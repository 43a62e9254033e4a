#include "handoff/offload.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/queue.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

// An event loop: whoever has something for its thread puts it here.
struct Loop {
  BlockingQueue<Job> jobs{{.capacity = 10}};
  auto back() {
    return [this](Job job) { EXPECT_TRUE(jobs.put(std::move(job))); };
  }
  void run_one() { (*jobs.take())(); }
};

TEST(Offload, BringsTheResultBackToTheLoop) {
  Loop loop;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::thread::id worked_on;
  std::unique_ptr<int> result;
  const auto accepted = offload(
      pool,
      [&] {
        worked_on = std::this_thread::get_id();
        return std::make_unique<int>(7);
      },
      loop.back(), [&](Offloaded<std::unique_ptr<int>> answer) { result = std::move(*answer); });
  ASSERT_TRUE(accepted);
  EXPECT_EQ(result, nullptr);
  loop.run_one();
  EXPECT_EQ(*result, 7);
  EXPECT_NE(worked_on, std::this_thread::get_id());
}

TEST(Offload, BringsBackWhatTheWorkThrew) {
  Loop loop;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::string message;
  ASSERT_TRUE(offload(
      pool, [] { throw std::runtime_error("no ink"); }, loop.back(),
      [&](Offloaded<void> answer) {
        if (answer) return;
        try {
          std::rethrow_exception(answer.error());
        } catch (const std::exception& error) {
          message = error.what();
        }
      }));
  loop.run_one();
  EXPECT_EQ(message, "no ink");
}

TEST(Offload, SaysSoIfTheWorkNeverBegan) {
  Loop loop;
  Event entered;
  bool abandoned = false;
  {
    WorkerPool pool{{.workers = 1, .capacity = 10}};
    ASSERT_TRUE(pool.post([&](std::stop_token stop) {
      entered.set();
      Event never;
      (void)never.wait({.stop = stop});
    }));
    ASSERT_TRUE(entered.wait());
    ASSERT_TRUE(offload(
        pool, [] { return 1; }, loop.back(),
        [&](Offloaded<int> answer) {
          if (answer) return;
          EXPECT_THROW(std::rethrow_exception(answer.error()), OffloadAbandoned);
          abandoned = true;
        }));
    (void)pool.shutdown(interrupt());
  }
  loop.run_one();
  EXPECT_TRUE(abandoned);
}

TEST(Offload, LeavesRefusedWorkWithItsOwner) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  (void)pool.shutdown(interrupt());
  auto work = [text = std::make_unique<std::string>("mine")] { return *text; };
  const auto refused =
      offload(pool, std::move(work), [](Job) { FAIL(); }, [](Offloaded<std::string>) { FAIL(); });
  EXPECT_EQ(refused.error(), Refusal::closed);
  EXPECT_EQ(work(), "mine");
}

TEST(Offload, GivesAFutureToWhoWantsOne) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  EXPECT_EQ(*offload(pool, [] { return 7; })->get(), 7);
}

}  // namespace
}  // namespace handoff
