// The actor of README.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "handoff/actor.hpp"

namespace {

using namespace std::chrono_literals;

struct Deposit {
  std::int64_t cents;
};
struct Balance {
  using Reply = std::int64_t;
};

class Account : public handoff::Actor<Account, Deposit, Balance> {
 public:
  void on(Deposit deposit) { cents_ += deposit.cents; }
  std::int64_t on(Balance) { return cents_; }

 private:
  std::int64_t cents_ = 0;  // No lock: nobody else comes here.
};

TEST(Readme, OneStateOneMessageAtATime) {
  handoff::ActorSystem system{{.name = "bank"}};
  auto account = system.spawn<Account>({.name = "accounts/42"});
  account.send(Deposit{500});                 // Waits while 1,000 messages are there already.
  auto cents = account.ask(Balance{}, 1min);  // The answer, or why there is none.
  auto report = system.shutdown(handoff::finish_within(30s));
  EXPECT_EQ(cents, 500);
  EXPECT_TRUE(report.is_complete());
}

}  // namespace
