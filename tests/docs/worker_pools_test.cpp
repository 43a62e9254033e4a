// The code of docs/guide/{worker-pools,off-the-request-path,absorb-a-burst,stop-without-losing-work}.md.
// tests/docs/snippets keeps them equal.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <numeric>
#include <source_location>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/sizing.hpp"
#include "handoff/testing/eventually.hpp"

namespace {

using namespace std::chrono_literals;

struct Photo {
  std::string file;
};
struct Image {
  std::string file;
};

Image resize(const Photo& photo) {
  if (photo.file.empty()) throw std::invalid_argument("no photo");
  return {"small " + photo.file};
}

std::atomic<int> calls = 0;
void note_visit(int) { ++calls; }
void index_folder(const std::string&) { ++calls; }
void handle(const std::string&) { ++calls; }
void remind() { ++calls; }
void open_shop() { ++calls; }
void remove_old_files() { ++calls; }

std::string page(handoff::WorkerPool& pool, const Photo& photo) {
  auto small = pool.submit([photo] { return resize(photo); });  // expected<Future<Image>, Refusal>
  if (!small) return "503 try again later";                     // The pool is full, or closed.
  auto image = small->get(2s);  // expected<Image, Refusal>; throws what resize() threw.
  if (!image) return "504 that takes too long";
  return "200 " + image->file;
}

TEST(WorkerPoolsGuide, SubmitGivesAFuture) {
  handoff::WorkerPool pool{
      {.workers = 8, .capacity = 1'000, .when_full = handoff::WhenFull::reject, .name = "photos"}};
  EXPECT_EQ(page(pool, {"cat.png"}), "200 small cat.png");
  EXPECT_THROW(page(pool, {""}), std::invalid_argument);
  (void)pool.shutdown(handoff::finish_within(10s));
  EXPECT_EQ(page(pool, {"cat.png"}), "503 try again later");
}

TEST(WorkerPoolsGuide, PostForgets) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10}};
  calls = 0;
  int visitor = 7;
  std::stop_source source;
  const auto stop = source.get_token();
  pool.post([visitor] { note_visit(visitor); });
  auto posted = pool.post([visitor] { note_visit(visitor); },
                          {.deadline = handoff::within(100ms), .stop = stop});
  EXPECT_TRUE(posted);
  EXPECT_TRUE(pool.shutdown(handoff::finish_within(10s)).is_complete());
  EXPECT_EQ(calls, 2);
}

TEST(WorkerPoolsGuide, ThenGoesOnWithTheResult) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10}};
  const Photo photo{"cat.png"};
  auto small = pool.submit([photo] { return resize(photo); });
  ASSERT_TRUE(small);
  handoff::Future<std::string> answer =
      std::move(*small).then([](const Image& image) { return "200 " + image.file; });
  EXPECT_EQ(answer.get(), "200 small cat.png");
}

TEST(WorkerPoolsGuide, AJobMayHandInJobs) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 1}};
  calls = 0;
  const std::vector<std::string> folders(1'000, "photos");
  ASSERT_TRUE(pool.post([&] {
    for (const auto& folder : folders) pool.post([&folder] { index_folder(folder); });
  }));
  EXPECT_TRUE(pool.shutdown(handoff::finish_within(10s)).is_complete());
  EXPECT_EQ(calls, 1'000);
}

TEST(WorkerPoolsGuide, AJobMayWait) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto all = pool.submit([&] {
    auto half = pool.submit([] { return 21; });
    return *half->get() + 21;  // If nobody has begun it, it is run here.
  });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->get(), 42);

  handoff::BlockingQueue<std::string> messages{{.capacity = 10}};
  calls = 0;
  handoff::Event began;
  ASSERT_TRUE(pool.post([&](std::stop_token stop) {
    began.set();
    while (auto next = pool.blocking([&] { return messages.take({.stop = stop}); })) handle(*next);
  }));
  ASSERT_TRUE(began.wait());
  EXPECT_EQ(pool.submit([] { return 1; })->get(), 1);  // By a spare.
  (void)pool.shutdown(handoff::interrupt());
}

std::uint64_t sum(handoff::WorkerPool& pool, std::span<const std::uint32_t> numbers) {
  if (numbers.size() <= 10'000) return std::accumulate(numbers.begin(), numbers.end(), 0ULL);
  const auto half = numbers.size() / 2;
  const auto [left, right] = pool.fork_join([&] { return sum(pool, numbers.first(half)); },
                                            [&] { return sum(pool, numbers.subspan(half)); });
  return left + right;
}

TEST(WorkerPoolsGuide, ForkJoinDividesAndConquers) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10}};
  const std::vector<std::uint32_t> numbers(100'000, 3);
  EXPECT_EQ(sum(pool, numbers), 300'000U);
}

TEST(WorkerPoolsGuide, Timers) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto morning = std::chrono::system_clock::now() + 8h;
  auto reminder = pool.after(10min, [] { remind(); });  // std::expected<Timer, Refusal>
  auto opening = pool.at(morning, [] { open_shop(); });
  auto sweep = pool.every(1h, [] { remove_old_files(); }, {.overrun = handoff::Overrun::delay});

  reminder->cancel();  // Dropping the handle cancels nothing.
  EXPECT_FALSE(reminder->is_active());
  EXPECT_TRUE(opening->is_active());
  EXPECT_EQ(pool.shutdown(handoff::finish_within(1s)).timers_cancelled, 2U);
}

TEST(WorkerPoolsGuide, RateAndSize) {
  handoff::WorkerPool mails{
      {.workers = 4, .capacity = 1'000, .name = "mails", .rate = handoff::per_second(500)}};
  mails.resize(16);
  EXPECT_EQ(mails.stats().workers, 16U);
}

TEST(WorkerPoolsGuide, AShutdownReports) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::vector<handoff::Job> for_later;
  std::string log;
  handoff::Event began;
  handoff::Event never;
  ASSERT_TRUE(pool.post([&](const std::stop_token& stop) {
    began.set();
    (void)never.wait({.stop = stop});
  }));
  calls = 0;
  ASSERT_TRUE(began.wait());
  ASSERT_TRUE(pool.post([] { note_visit(1); }));

  auto report = pool.shutdown(handoff::finish_within(10ms).then_interrupt(5s));
  for (handoff::Job& job : report.handed_back) for_later.push_back(std::move(job));
  log += to_string(report);  // "1 finished, 1 handed back, 0 still running"

  EXPECT_EQ(log, "1 finished, 1 handed back, 0 still running");
  ASSERT_EQ(for_later.size(), 1U);
  for_later[0]();
  EXPECT_EQ(calls, 1);
}

TEST(WorkerPoolsGuide, Hooks) {
  std::atomic<int> errors = 0;
  std::atomic<int> dropped = 0;
  const auto report_error = [&](const std::exception_ptr&, unsigned) { ++errors; };
  const auto store = [&](handoff::Job) { ++dropped; };
  handoff::Event began;
  handoff::Event open;
  handoff::WorkerPool pool{
      {.workers = 1, .capacity = 1, .when_full = handoff::WhenFull::drop_oldest},
      {.on_error = [&](std::exception_ptr error,
                       const std::source_location& where) { report_error(error, where.line()); },
       .on_drop = [&](handoff::Job& job) { store(std::move(job)); }}};
  pool.post([&] {
    began.set();
    (void)open.wait();
    throw std::runtime_error("no");
  });
  ASSERT_TRUE(began.wait());
  pool.post([] {});
  pool.post([] {});
  open.set();
  (void)pool.shutdown(handoff::finish_within(10s));
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(dropped, 1);
}

TEST(WorkerPoolsGuide, CapacityIsAWaitingTime) {
  const auto capacity = handoff::capacity_for({.peak_rate = handoff::per_second(600),
                                               .drain_rate = handoff::per_second(400),
                                               .burst = 10s});                     // 2'000
  const auto longest = handoff::waiting_time(capacity, handoff::per_second(400));  // 5 s
  EXPECT_EQ(capacity, 2'000U);
  EXPECT_EQ(longest, 5s);
  // The table.
  EXPECT_EQ(handoff::waiting_time(100, handoff::per_second(100)), 1s);
  EXPECT_EQ(handoff::waiting_time(1'000, handoff::per_second(100)), 10s);
  EXPECT_EQ(handoff::waiting_time(10'000, handoff::per_second(100)), 100s);
  EXPECT_EQ(handoff::waiting_time(50'000, handoff::per_second(100)), 500s);
  EXPECT_EQ(handoff::waiting_time(50'000, handoff::per_second(10'000)), 5s);
}

// -- off-the-request-path.md, absorb-a-burst.md ---------------------------------------------------

std::atomic<int> sent = 0;
void send_welcome(const std::string&) { ++sent; }

std::string sign_up(handoff::WorkerPool& mails, const std::string& address) {
  auto posted = mails.post([address] { send_welcome(address); });
  if (!posted) return "503 try again later";  // No room, or we are ending.
  return "200 welcome";                       // At once: a worker sends the mail.
}

TEST(GoalsGuide, ARequestHandsItsSlowPartOver) {
  handoff::WorkerPool mails{
      {.workers = 4, .capacity = 1'000, .when_full = handoff::WhenFull::reject, .name = "mails"}};
  sent = 0;

  EXPECT_EQ(sign_up(mails, "new@example.org"), "200 welcome");

  EXPECT_TRUE(mails.shutdown(handoff::finish_within(10s)).is_complete());
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(sign_up(mails, "late@example.org"), "503 try again later");
}

TEST(GoalsGuide, ABurstIsAnsweredAtOnce) {
  handoff::WorkerPool mails{
      {.workers = 1, .capacity = 100, .when_full = handoff::WhenFull::reject}};
  handoff::Event began;
  handoff::Event open;
  ASSERT_TRUE(mails.post([&] {
    began.set();
    (void)open.wait();
  }));
  ASSERT_TRUE(began.wait());
  sent = 0;

  int refused = 0;
  for (int click = 0; click < 50'000; ++click) {
    if (sign_up(mails, "new@example.org") == "503 try again later") ++refused;
  }
  // 100 wait for their turn, 49'900 know at once.

  EXPECT_EQ(refused, 49'900);
  open.set();
  EXPECT_TRUE(mails.shutdown(handoff::finish_within(10s)).is_complete());
  EXPECT_EQ(sent, 100);
}

// -- stop-without-losing-work.md ------------------------------------------------------------------

std::vector<std::string> kept;
void save_for_next_start(const std::string& mail) { kept.push_back(mail); }

TEST(GoalsGuide, WhatIsLeftIsHandedBack) {
  std::stop_source source;
  const auto stop = source.get_token();
  kept.clear();
  sent = 0;

  handoff::BlockingQueue<std::string> mails{{.capacity = 1'000, .name = "mails"}};
  std::jthread mailer([&] {
    while (auto mail = mails.take({.stop = stop})) send_welcome(*mail);
  });
  std::jthread sign_ups([&] {
    for (int id = 0; mails.put(std::to_string(id), {.stop = stop}); ++id) {
    }
  });
  handoff::testing::eventually([] { return sent > 0; });
  source.request_stop();

  sign_ups.join();  // Nobody hands in any more,
  mailer.join();    // and the mail in hand was sent.
  mails.close();
  for (const std::string& mail : mails.drain()) save_for_next_start(mail);

  EXPECT_EQ(mails.stats().puts, static_cast<std::uint64_t>(sent) + kept.size());
}

}  // namespace
