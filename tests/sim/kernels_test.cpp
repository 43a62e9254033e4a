// The kernels that all else stands on, in all orders with a few interruptions. Each prints how many orders that were.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "handoff/channel.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/waiter.hpp"
#include "handoff/detail/pool/fork_join.hpp"
#include "handoff/detail/pool/job_ring.hpp"
#include "handoff/detail/pool/join_deque.hpp"
#include "handoff/detail/queue/index_lock.hpp"
#include "handoff/event.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using detail::SmallGuard;
using detail::WaitState;
using testing::check;
using testing::exhaustive;
using testing::simulate;
using testing::Var;

void in_all_orders(const char* what, unsigned most_interruptions, void (*body)()) {
  // One less where each run is slow.
  const unsigned interruptions = most_interruptions - (default_runs < 10'000 ? 1 : 0);
  const auto done =
      simulate({.runs = most_exhaustive, .strategy = exhaustive(interruptions)}, body);
  EXPECT_TRUE(done.is_complete) << "more than " << most_exhaustive << " orders";
  report_schedules(
      (std::string(what) + ", " + std::to_string(interruptions) + " interruptions").c_str(), done);
}

// -- Locks ----------------------------------------------------------------------------------------

TEST(Kernels, SmallLock) {
  in_all_orders("SmallLock, 2 x 2", 3, [] {
    detail::SmallLock lock;
    Var<int> counter{0, "the counter"};
    const auto add_two = [&] {
      for (int i = 0; i < 2; ++i) {
        SmallGuard guard(lock);
        ++counter;
      }
    };
    {
      Thread other(add_two);
      add_two();
    }
    check(counter == 4, "an increment was lost");
  });
}

TEST(Kernels, IndexLock) {
  in_all_orders("IndexLock, 3 x 1", 3, [] {
    detail::IndexLock lock;
    Var<int> counter{0, "the counter"};
    const auto add_one = [&] {
      const auto index = lock.lock();
      check(static_cast<int>(index) == counter, "the index is not what was published");
      ++counter;
      lock.unlock(index + 1);
    };
    {
      Thread one(add_one);
      Thread two(add_one);
      add_one();
    }
    check(lock.index() == 3, "an index was lost");
  });
}

TEST(Kernels, SharedMutex) {
  in_all_orders("SharedMutex, a writer and two readers", 2, [] {
    SharedMutex mutex;
    Var<int> value{0, "the value"};
    const auto read = [&] {
      const std::shared_lock lock(mutex);
      check(value == 0 || value == 2, "half written");
    };
    Thread one(read);
    Thread two(read);
    const std::unique_lock lock(mutex);
    ++value;
    ++value;
  });
}

TEST(Kernels, Semaphore) {
  in_all_orders("Semaphore, one permit, three threads", 2, [] {
    Semaphore permits{{.permits = 1}};
    Var<int> inside{0, "inside"};
    const auto pass = [&] {
      const auto held = permits.hold();
      ++inside;
      --inside;
    };
    {
      Thread one(pass);
      Thread two(pass);
      pass();
    }
    check(permits.available() == 1, "a permit was lost");
  });
}

// -- Park and unpark ------------------------------------------------------------------------------

// Two that give it its turn and a stop: exactly one of them ends the wait, and it always ends.
TEST(Kernels, ParkAndUnpark) {
  in_all_orders("park, two claims and a stop", 2, [] {
    detail::SmallLock lock;
    detail::ThreadWaiter* in_line = nullptr;  // Guarded by the lock.
    int claims = 0;
    // Not on the stack: g++ 12 takes it for uninitialized here, under AddressSanitizer.
    const auto stop = std::make_unique<std::stop_source>();
    const auto claim = [&] {
      detail::Unpark unpark;
      {
        SmallGuard guard(lock);
        if (in_line != nullptr && in_line->give_turn(unpark)) ++claims;
      }
      unpark();
    };
    bool was_stopped = false;
    {
      Thread one(claim);
      Thread two(claim);
      Thread stopper([&] { stop->request_stop(); });
      const Wait wait{.stop = stop->get_token()};
      detail::ThreadWaiter waiter(wait, {.operation = "wait", .where = {}});
      {
        SmallGuard guard(lock);
        in_line = &waiter;
      }
      waiter.arm();
      WaitState outcome;
      if (!waiter.is_over(outcome)) outcome = waiter.park();
      SmallGuard guard(lock);
      in_line = nullptr;
      was_stopped = outcome == WaitState::stopped;
    }
    check(claims <= 1, "claimed twice");
    check(was_stopped || claims == 1, "it woke for no reason");
  });
}

TEST(Kernels, EventSetResetAndWait) {
  in_all_orders("Event, two waits and a set", 3, [] {
    Event event;
    Thread one([&] { check(event.wait().has_value(), "refused"); });
    Thread two([&] { check(event.wait().has_value(), "refused"); });
    event.set();
  });
}

// -- Queues ---------------------------------------------------------------------------------------

// The turnstile's handshake both ways: a producer that finds it full, a consumer that finds it empty.
TEST(Kernels, QueueOfOneTwoPutsTwoTakes) {
  in_all_orders("queue of one, 2 puts, 2 takes", 3, [] {
    BlockingQueue<int> queue{{.capacity = 1}};
    Thread producer([&] {
      for (int i = 0; i < 2; ++i) check(queue.put(int{i}).has_value(), "refused");
    });
    for (int i = 0; i < 2; ++i) check(queue.take() == i, "out of order");
  });
}

TEST(Kernels, QueueTwoPutTwoTakeAndClose) {
  in_all_orders("queue, 2 producers, a consumer, a close", 2, [] {
    Ledger ledger(2);
    BlockingQueue<int> queue{{.capacity = 1}};
    {
      Thread one([&] {
        if (queue.put(0)) ledger.accepted(0);
      });
      Thread two([&] {
        if (queue.put(1)) ledger.accepted(1);
      });
      Thread consumer([&] {
        while (const auto item = queue.take()) ledger.delivered(*item);
      });
      queue.close();
    }
    ledger.check();
  });
}

// -- Channels -------------------------------------------------------------------------------------

TEST(Kernels, RendezvousAndClose) {
  in_all_orders("rendezvous, a send, a receive, a close", 3, [] {
    Ledger ledger(1);
    Channel<int> channel{{.name = "channel"}};
    {
      Thread sender([&] {
        if (channel.send(0)) ledger.accepted(0);
      });
      Thread receiver([&] {
        if (const auto item = channel.receive()) ledger.delivered(*item);
      });
      channel.close();
    }
    ledger.check();
  });
}

TEST(Kernels, TwoSelectsOverTwoChannels) {
  in_all_orders("two selects over two channels", 2, [] {
    Channel<int> left{{.name = "left"}};
    Channel<int> right{{.name = "right"}};
    int received = 0;
    Thread other([&] {
      check(select(left.on_send(1, [] {}), right.on_send(2, [] {})).has_value(), "refused");
    });
    check(select(right.on_receive([&](int item) { received += item; }),
                 left.on_receive([&](int item) { received += item; }))
              .has_value(),
          "refused");
    other.join();
    check(received == 1 || received == 2, "not exactly one case happened");
  });
}

// -- Pools ----------------------------------------------------------------------------------------

class NoTask : public detail::JoinTask {
 public:
  NoTask() : JoinTask([](JoinTask&) noexcept {}) {}
  int times_taken = 0;
};

// Owner and thief at the last task: exactly one gets it.
TEST(Kernels, DequeOfForkedHalves) {
  in_all_orders("fork-join deque, owner and two thieves", 3, [] {
    detail::JoinDeque deque;
    std::array<NoTask, 2> tasks;
    const auto steal = [&] {
      if (auto* const task = deque.steal()) ++static_cast<NoTask*>(task)->times_taken;
    };
    {
      for (auto& each : tasks) check(deque.push(each), "full");
      Thread one(steal);
      Thread two(steal);
      for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
        if (deque.pop()) ++task->times_taken;
      }
    }
    for (const auto& each : tasks) check(each.times_taken == 1, "lost, or taken twice");
  });
}

// Places are used again: what a slow taker has claimed must not be overwritten.
TEST(Kernels, RingOfJobs) {
  in_all_orders("job ring of two places, three jobs, a thief", 3, [] {
    Ledger ledger(3);
    detail::JobRing<2> ring;
    const auto take = [&] {
      Job job;
      if (ring.take(job)) job(std::stop_token());
    };
    {
      Thread thief([&] {
        take();
        take();
      });
      for (int i = 0; i < 3; ++i) {
        Job* place = ring.place();
        if (place == nullptr) {
          take();
          place = ring.place();
        }
        if (place == nullptr) continue;  // The thief has claimed one, and not moved it out yet.
        *place = Job([&ledger, i] { ledger.delivered(i); });
        ring.publish(1);
        ledger.accepted(i);
      }
    }
    take();
    take();
    take();
    ledger.check();
  });
}

}  // namespace
}  // namespace handoff::tests
