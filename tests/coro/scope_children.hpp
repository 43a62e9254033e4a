// What the tests of scopes share: children of all kinds, and that nothing is left of them after each test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/log.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

using namespace std::chrono_literals;
using handoff::testing::eventually;

using Result = std::expected<void, Refusal>;

inline const Result done{};
inline const Result stopped{std::unexpected(Refusal::stopped)};
inline const Result timed_out{std::unexpected(Refusal::timed_out)};

// -- What the tests count ---------------------------------------------------------------------------

// One lives in every coroutine and callable of these tests.
class Alive {
 public:
  Alive() { ++count; }
  Alive(const Alive&) { ++count; }
  Alive& operator=(const Alive&) = default;
  ~Alive() { --count; }

  static inline std::atomic<int> count{0};
};

inline std::size_t threads_now() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

// After each test nothing is left: no thread, and nothing that a coroutine or a callable held.
class Scopes : public ::testing::Test {
 protected:
  Scopes() {
    // The timer thread stays once it was needed.
    const Scope starts_it{{.deadline = within(1h)}};
    threads_before_ = threads_now();
  }
  ~Scopes() override {
    EXPECT_EQ(Alive::count, 0);
    // A thread that was joined may be in the list for a moment longer.
    EXPECT_TRUE(eventually([&] { return threads_now() == threads_before_; }));
  }

 private:
  std::size_t threads_before_ = 0;
};

// Keeps what is logged while it lives.
class Log {
 public:
  Log()
      : before_(set_log([this](std::string_view line) {
          const std::lock_guard guard(mutex_);
          lines_.emplace_back(line);
        })) {}
  ~Log() { set_log(before_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  std::vector<std::string> lines() const {
    const std::lock_guard guard(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  LogSink before_;
};

inline std::string what(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

// What f threw, or "nothing".
template <typename F>
std::string error_of(F f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

// -- Children ---------------------------------------------------------------------------------------

[[noreturn]] inline void fail(const std::string& message) { throw std::runtime_error(message); }

inline Lazy<> fails(std::string message) {
  const Alive alive;
  fail(message);
  co_return;
}

inline Lazy<> fails_after(Event& event, std::string message) {
  const Alive alive;
  const auto waited = co_await event.async_wait();
  if (waited) fail(message);
}

inline Lazy<> counts(std::atomic<int>& count) {
  const Alive alive;
  ++count;
  co_return;
}

// Waits until it is stopped.
inline Lazy<> waits_for_stop(BlockingQueue<int>& queue, std::atomic<int>& ended) {
  const Alive alive;
  const auto item = co_await queue.async_take();
  EXPECT_EQ(item, std::unexpected(Refusal::stopped));
  ++ended;
}

inline Lazy<> waits_for(Event& event, std::atomic<int>& ended) {
  const Alive alive;
  const auto waited = co_await event.async_wait();
  EXPECT_EQ(waited, done);
  ++ended;
}

// The same on a thread, or in a job.
inline auto waiting_for_stop(BlockingQueue<int>& queue, std::atomic<int>& ended) {
  return [&queue, &ended, alive = Alive()](std::stop_token stop) {
    EXPECT_EQ(queue.take({.stop = std::move(stop)}), std::unexpected(Refusal::stopped));
    ++ended;
  };
}

inline std::size_t waiting(const BlockingQueue<int>& queue) {
  return queue.stats().waiting_consumers;
}

enum class Kind : std::uint8_t { thread, job, coroutine };

inline constexpr Kind every_kind[] = {Kind::thread, Kind::job, Kind::coroutine};

inline std::string name_of(Kind kind) {
  constexpr const char* names[] = {"thread", "job", "coroutine"};
  return names[static_cast<std::size_t>(kind)];
}

inline std::ostream& operator<<(std::ostream& out, Kind kind) { return out << name_of(kind); }

inline Lazy<> forgets_to_join(BlockingQueue<int>& nothing, std::atomic<int>& ended, bool throws) {
  const Alive alive;
  Scope scope;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(scope.spawn(waits_for_stop(nothing, ended)));
  if (throws) fail("half-way");
  co_return;
}

}  // namespace handoff::tests
