// The examples of docs/guide/simulation.md: three bugs that people write, and what is said of them.
#include "sim/guide.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/gtest.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"
#include "handoff/waits.hpp"
#include "sim/found.hpp"

namespace {

using handoff::testing::Var;

// -- A counter without a lock ---------------------------------------------------------------------

struct Page {
  Var<int> hits{0, "hits"};
  void visit() { hits = hits + 1; }
};

void two_visitors() {
  Page page;
  {
    handoff::Thread one([&] { page.visit(); });
    handoff::Thread two([&] { page.visit(); });
  }
  EXPECT_EQ(page.hits, 2);
}

// -- A wake-up that is lost -----------------------------------------------------------------------

class Mailbox {
 public:
  void post(std::string letter) {
    {
      const auto locked = mutex_.hold();
      letters_.push_back(std::move(letter));
    }
    has_letters_.set();
  }

  std::string wait_for_letter() {
    while (true) {
      {
        const auto locked = mutex_.hold();
        if (!letters_.empty()) {
          std::string letter = std::move(letters_.front());
          letters_.pop_front();
          return letter;
        }
      }
      has_letters_.reset();
      (void)has_letters_.wait();
    }
  }

 private:
  handoff::Mutex mutex_{{.name = "letters"}};
  handoff::Event has_letters_{{.name = "has letters"}};
  std::deque<std::string> letters_;
};

void a_letter_is_posted() {
  Mailbox mailbox;
  handoff::Thread postman([&] {
    handoff::name_this_thread("postman");
    mailbox.post("hello");
  });
  EXPECT_EQ(mailbox.wait_for_letter(), "hello");
}

// -- Two locks in two orders ----------------------------------------------------------------------

struct Account {
  explicit Account(std::string_view name) : mutex{{.name = name}} {}
  handoff::Mutex mutex;
  int balance = 100;
};

void transfer(Account& from, Account& to, int amount) {
  const auto from_locked = from.mutex.hold();
  const auto to_locked = to.mutex.hold();
  from.balance -= amount;
  to.balance += amount;
}

void two_transfers() {
  Account anna("anna");
  Account bert("bert");
  handoff::Thread there([&] { transfer(anna, bert, 10); });
  handoff::Thread and_back([&] { transfer(bert, anna, 20); });
}

// -- Found, and in the guide ----------------------------------------------------------------------

using handoff::tests::expect_in_guide;

TEST(SimulationGuide, TheCounter) { expect_in_guide(two_visitors); }
TEST(SimulationGuide, TheMailbox) { expect_in_guide(a_letter_is_posted); }
TEST(SimulationGuide, TheTransfers) { expect_in_guide(two_transfers); }

TEST(Orders, NoneIsLost) {
  handoff::testing::simulate_test({.runs = 1'000}, [] {
    handoff::BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
    handoff::Thread producer([&] {
      for (int order = 1; order <= 3; ++order) EXPECT_TRUE(orders.put(int{order}));
      orders.close();
    });
    int sum = 0;
    for (const int order : orders) sum += order;
    EXPECT_EQ(sum, 6);
  });
}

}  // namespace
