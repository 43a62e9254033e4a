// A right actor for wrong programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "handoff/actor.hpp"

using namespace std::chrono_literals;

struct Deposit {
  std::int64_t cents;
};
struct Balance {
  using Reply = std::int64_t;
};
struct Close {};

class Account : public handoff::Actor<Account, Deposit, Balance> {
 public:
  void on(Deposit deposit) { cents_ += deposit.cents; }
  std::int64_t on(Balance) { return cents_; }

 private:
  std::int64_t cents_ = 0;
};
