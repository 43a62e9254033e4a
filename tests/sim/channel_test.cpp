// Channels and select under many schedules.
#include "handoff/channel.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::exhaustive;
using testing::pct;
using testing::simulate;

void send_and_receive(std::size_t capacity) {
  Ledger ledger(6);
  Channel<int> channel{{.capacity = capacity, .name = "channel"}};
  std::vector<Thread> receivers;
  for (int i = 0; i < 2; ++i) {
    receivers.emplace_back([&] {
      while (auto item = channel.receive()) ledger.delivered(*item);
    });
  }
  {
    std::vector<Thread> senders;
    for (int sender = 0; sender < 2; ++sender) {
      senders.emplace_back([&, sender] {
        for (int i = 0; i < 3; ++i) {
          check(channel.send(sender * 3 + i).has_value(), "refused");
          ledger.accepted(sender * 3 + i);
        }
      });
    }
  }
  channel.close();
  receivers.clear();
  ledger.check();
}

TEST(SimulatedChannel, DeliversAll) {
  for (const std::size_t capacity : {0U, 1U, 2U}) {
    simulate({.runs = runs / 3}, [=] { send_and_receive(capacity); });
    simulate({.runs = runs / 3, .strategy = pct(3)}, [=] { send_and_receive(capacity); });
  }
}

// A send that is refused has left the item with its owner, one that is not has delivered it: whatever ends the wait.
TEST(SimulatedChannel, NothingIsLostWhenWaitsEndEarly) {
  for (const std::size_t capacity : {0U, 1U}) {
    simulate({.runs = runs / 2}, [=] {
      Ledger ledger(6);
      Channel<int> channel{{.capacity = capacity, .name = "channel"}};
      std::stop_source stop;
      std::vector<Thread> threads;
      for (int sender = 0; sender < 2; ++sender) {
        threads.emplace_back([&, sender] {
          for (int i = 0; i < 3; ++i) {
            const Wait wait{.deadline = i == 1 ? within(1ms) : Deadline(),
                            .stop = stop.get_token()};
            if (channel.send(sender * 3 + i, wait)) ledger.accepted(sender * 3 + i);
          }
        });
      }
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) {
          if (const auto item = channel.receive({.deadline = within(1ms)})) ledger.delivered(*item);
        }
      });
      threads.emplace_back([&] {
        while (auto item = channel.receive({.stop = stop.get_token()})) ledger.delivered(*item);
      });
      threads.emplace_back([&] {
        testing::pause(2ms);
        stop.request_stop();
      });
      threads.clear();
      channel.close();
      while (auto item = channel.try_receive()) ledger.delivered(*item);
      ledger.check();
    });
  }
}

// -- Select ---------------------------------------------------------------------------------------

// Two selects that can only meet each other: one sends what the other receives.
TEST(SimulatedSelect, TwoSelectsMeet) {
  simulate({.runs = runs}, [] {
    Channel<int> left{{.name = "left"}};
    Channel<int> right{{.name = "right"}};
    int received = 0;
    Thread other([&] {
      const auto done = select(left.on_send(1, [] {}), right.on_send(2, [] {}));
      check(done.has_value(), "refused");
    });
    const auto done = select(right.on_receive([&](int item) { received += item; }),
                             left.on_receive([&](int item) { received += item; }));
    check(done.has_value(), "refused");
    other.join();
    check(received == 1 || received == 2, "not exactly one case happened");
  });
}

TEST(SimulatedSelect, ExactlyOneCaseHappens) {
  simulate({.runs = runs}, [] {
    Ledger ledger(4);
    Channel<int> channel{{.name = "channel"}};
    BlockingQueue<int> queue{{.capacity = 1, .name = "queue"}};
    std::vector<Thread> threads;
    threads.emplace_back([&] {
      for (int i = 0; i < 2; ++i) {
        if (channel.send(int{i})) ledger.accepted(i);
      }
    });
    threads.emplace_back([&] {
      for (int i = 2; i < 4; ++i) {
        if (queue.put(int{i})) ledger.accepted(i);
      }
    });
    for (int i = 0; i < 4; ++i) {
      int happened = 0;
      const auto done = select(channel.on_receive([&](int item) {
        ledger.delivered(item);
        ++happened;
      }),
                               queue.on_take([&](int item) {
                                 ledger.delivered(item);
                                 ++happened;
                               }));
      check(done.has_value() && happened == 1, "not exactly one case happened");
    }
    threads.clear();
    ledger.check();
  });
}

TEST(SimulatedSelect, TimersStopsAndClosesEndIt) {
  simulate({.runs = runs}, [] {
    Channel<int> channel{{.name = "channel"}};
    Event event{{.name = "event"}};
    std::stop_source stop;
    std::vector<Thread> threads;
    threads.emplace_back([&] {
      bool is_late = false;
      const auto start = now();
      const auto done = select(channel.on_receive([](int) { check(false, "nobody sends"); }),
                               after(5ms, [&] { is_late = true; }));
      check(is_late ? now() >= start + 5ms : done == std::unexpected(Refusal::closed),
            "it ended for no reason");
    });
    threads.emplace_back([&] {
      const auto done = select(Wait{.stop = stop.get_token()},
                               channel.on_receive([](int) { check(false, "nobody sends"); }));
      check(!done, "it received");
    });
    threads.emplace_back([&] {
      bool was_set = false;
      const auto done = select(on_set(event, [&] { was_set = true; }),
                               channel.on_receive([](int) { check(false, "nobody sends"); }));
      check(was_set || done == std::unexpected(Refusal::closed), "it ended for no reason");
    });
    event.set();
    stop.request_stop();
    channel.close();
  });
}

TEST(SimulatedSelect, OneOfTwoChannelsInAllOrders) {
  const auto done = simulate({.runs = most_exhaustive, .strategy = exhaustive(1)}, [] {
    Channel<int> left{{.name = "left"}};
    Channel<int> right{{.name = "right"}};
    int received = 0;
    bool sent = false;
    {
      Thread sender([&] { sent = left.send(1).has_value(); });
      const auto selected = select(left.on_receive([&](int) { ++received; }),
                                   right.on_receive([&](int) { check(false, "nobody sends"); }));
      check(selected == 0U, "the wrong case");
    }
    check(sent && received == 1, "sent and not received");
  });
  EXPECT_TRUE(done.is_complete);
  report_schedules("select: one of two channels", done);
}

}  // namespace
}  // namespace handoff::tests
