// What a simulation finds, and bodies with a bug for it to find.
#pragma once

#include <optional>
#include <string>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/mutex.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"

namespace handoff::tests {

// Nothing if it finds nothing.
template <typename Body>
std::optional<testing::FoundFailure> find(const testing::SimulateOptions& options, Body body,
                                          std::string* report = nullptr) {
  try {
    testing::simulate(options, body);
  } catch (const testing::SimulationFailed& failed) {
    if (report != nullptr) *report = failed.what();
    return failed.found();
  }
  return std::nullopt;
}

inline void count_without_a_lock() {
  detail::atomic<int> counter{0};
  const auto add = [&] { counter.store(counter.load() + 1); };
  {
    Thread one(add);
    Thread two(add);
  }
  testing::check(counter.load() == 2, "an increment was lost");
}

inline void lock_in_both_orders() {
  Mutex a{{.name = "a"}};
  Mutex b{{.name = "b"}};
  Thread one([&] {
    const auto first = a.hold();
    const auto second = b.hold();
  });
  Thread two([&] {
    const auto first = b.hold();
    const auto second = a.hold();
  });
}

}  // namespace handoff::tests
