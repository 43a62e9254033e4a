// Simulations in GoogleTest: an EXPECT_ or ASSERT_ that fails in the body, or in one of its threads, fails the run.
//
//   TEST(Orders, NoneIsLost) {
//     handoff::testing::simulate_test({.runs = 10'000}, [] {
//       handoff::BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
//       handoff::Thread producer([&] { EXPECT_TRUE(orders.put(1)); });
//       EXPECT_EQ(orders.take(), 1);
//     });
//   }
//
// What is found is a failure of the test, with the table of what happened and how to see it again. See testing/simulate.hpp.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <sstream>
#include <string>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/testing/simulate.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

// While it lives, what fails in a simulated thread is told to the run. GoogleTest calls it with its own lock held, so the thread must return.
class FailureWatch final : public ::testing::ScopedFakeTestPartResultReporter {
 public:
  FailureWatch() : ScopedFakeTestPartResultReporter(INTERCEPT_ALL_THREADS, &seen_) {}
  void ReportTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::ostringstream text;
    if (result.file_name() != nullptr) {
      text << result.file_name() << ':' << result.line_number() << ": ";
    }
    text << result.message();
    if (sim::is_simulated()) return testing::fail_soon(text.str());
    const std::lock_guard lock(mutex_);
    elsewhere_ += text.str() + '\n';
  }
  // What failed in threads that are not simulated.
  std::string elsewhere() const {
    const std::lock_guard lock(mutex_);
    return elsewhere_;
  }

 private:
  ::testing::TestPartResultArray seen_;
  mutable std::mutex mutex_;
  std::string elsewhere_;
};

}  // namespace detail

namespace testing {

inline Simulated simulate_test(const SimulateOptions& options, const std::function<void()>& body) {
  std::string report;
  Simulated done;
  {
    const detail::FailureWatch watch;
    try {
      done = simulate(options, body);
    } catch (const SimulationFailed& failed) {
      report = failed.what();
    }
    report += watch.elsewhere();
  }
  if (!report.empty()) ADD_FAILURE() << report;
  return done;
}

}  // namespace testing

}  // namespace handoff::inline HANDOFF_FLAVOUR
