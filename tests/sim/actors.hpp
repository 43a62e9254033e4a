// What the simulated tests of actors have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "handoff/actor.hpp"
#include "handoff/log.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/testing/var.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {

// Dead letters and failures are what these tests are about: thousands of lines would say so.
class QuietTest : public ::testing::Test {
 protected:
  QuietTest() : log_before_(set_log([](std::string_view) {})) {}
  ~QuietTest() override { set_log(std::move(log_before_)); }

 private:
  LogSink log_before_;
};

// What may go wrong by chance.
inline constexpr testing::Faults some_faults{
    .spurious_wake = 0.05, .weak_failure = 0.05, .slow_thread = 0.02};

struct Plan {
  testing::Faults faults = {};
  std::uint64_t variants = 1;  // Of the test, which share its runs.
};

// The same body now and then at random, and by priorities.
inline void simulate_both(const std::function<void()>& body, const Plan& plan = {}) {
  for (const auto strategy : {testing::random, testing::pct(3)}) {
    const std::uint64_t share = some_runs / plan.variants + 1;
    testing::simulate({.runs = share, .strategy = strategy, .faults = plan.faults}, body);
  }
}

struct Item {
  int number;
};

// What became of messages: each that was accepted is handled, a dead letter, or handed back; one of these, once.
class Letters {
 public:
  explicit Letters(int items) : ledger_(items) {}

  void sent(int number, bool is_accepted) {
    if (is_accepted) ledger_.accepted(number);
  }
  void handled(int number) { ledger_.delivered(number); }
  SystemHooks hooks() {
    return {.on_failure = {}, .on_dead_letter = [this](const DeadLetter& letter) {
              if (const Item* const item = letter.message.get_if<Item>()) {
                ledger_.delivered(item->number);
              }
            }};
  }
  void handed_back(const ActorShutdownReport& report) {
    for (const Undelivered& each : report.handed_back) {
      if (const Item* const item = each.message.get_if<Item>()) ledger_.delivered(item->number);
    }
  }
  void check() const { ledger_.check(); }

 private:
  Ledger ledger_;
};

// Handles items. Another thread in here at the same time would be a data race.
class Keeper : public Actor<Keeper, Item> {
 public:
  explicit Keeper(Letters* letters) : letters_(letters) {}
  void on(Item item) {
    ++handled_;
    letters_->handled(item.number);
  }

 private:
  Letters* letters_;
  testing::Var<int> handled_{0, "the keeper's state"};
};

}  // namespace handoff::tests
