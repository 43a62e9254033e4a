// Queues and channels are linearizable: whatever the schedule, what their callers see could have come about one call after another.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/item_models.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using Kind = ItemCall::Kind;
using testing::pct;
using testing::simulate;

unsigned draw(unsigned below) { return static_cast<unsigned>(detail::sim::draw(below)); }

// A queue or a channel by the same words.
template <typename T>
struct Words {
  T& object;
  auto put(int item, const Wait& wait) { return object.put(item, wait); }
  auto offer(int item) { return object.offer(int{item}); }
  auto take(const Wait& wait) { return object.take(wait); }
  auto poll() { return object.poll(); }
};
template <>
struct Words<Channel<int>> {
  Channel<int>& object;
  auto put(int item, const Wait& wait) { return object.send(item, wait); }
  auto offer(int item) { return object.try_send(item); }
  auto take(const Wait& wait) { return object.receive(wait); }
  auto poll() { return object.try_receive(); }
};

// Makes calls and records them.
template <typename T>
class Caller {
 public:
  template <typename Options>
  explicit Caller(const Options& options) : object_(options) {}

  void call(const ItemCall& call) {
    const Wait wait = any_wait();
    history_.record(call, [&]() -> ItemOutcome {
      switch (call.kind) {
        case Kind::put: return words_.put(call.item, wait);
        case Kind::offer: return words_.offer(call.item);
        case Kind::take: return words_.take(wait);
        case Kind::poll: return words_.poll();
        case Kind::close: object_.close();
      }
      return {};
    });
  }
  void stop() { stop_.request_stop(); }
  const ItemHistory& history() const { return history_; }

 private:
  // Until a moment when others begin, until the stop, until long after the close, or for ever.
  Wait any_wait() const {
    switch (draw(4)) {
      case 0: return {.deadline = within(1ms)};
      case 1: return {.stop = stop_.get_token()};
      case 2: return {.deadline = within(1s)};
      default: return {};
    }
  }

  ItemHistory history_;
  std::stop_source stop_;
  T object_;
  Words<T> words_{object_};
};

// Three threads make three calls each, drawn at random; a few of them close. Whoever still waits in the end is told by another close. What is
// left is taken, so that nothing can be hidden in there.
template <typename T, typename Options, typename Model>
void make_calls(const Options& options, const Model& model) {
  Caller<T> caller(options);
  {
    std::vector<Thread> threads;
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back([&, number] {
        for (int turn = 0; turn < 3; ++turn) {
          const Kind kinds[] = {Kind::put,  Kind::put,  Kind::put,  Kind::offer,
                                Kind::take, Kind::take, Kind::take, Kind::poll};
          if (draw(4) == 0) testing::pause(1ms);
          caller.call({draw(25) == 0 ? Kind::close : kinds[draw(8)], 10 * number + turn});
        }
      });
    }
    testing::pause(1ms);
    caller.stop();
    testing::pause(4ms);
    caller.call({Kind::close});
  }
  for (int i = 0; i < 3; ++i) caller.call({Kind::poll});
  caller.history().check(model);
}

template <typename T, typename Options, typename Model>
void check_linearizable(const Options& options, const Model& model) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs / 2,
              .strategy = strategy,
              .faults = {.spurious_wake = 0.005, .weak_failure = 0.01, .clock_jump = 0.002}},
             [&] { make_calls<T>(options, model); });
    simulate({.runs = runs / 2, .strategy = strategy}, [&] { make_calls<T>(options, model); });
  }
}

TEST(Linearizable, QueueWithRoomForOne) {
  check_linearizable<BlockingQueue<int>>(QueueOptions{.capacity = 1, .name = "queue"},
                                         QueueModel{.capacity = 1});
}

TEST(Linearizable, QueueWithRoomForTwo) {
  check_linearizable<BlockingQueue<int>>(QueueOptions{.capacity = 2, .name = "queue"},
                                         QueueModel{.capacity = 2});
}

TEST(Linearizable, PriorityQueue) {
  check_linearizable<PriorityBlockingQueue<int>>(
      PriorityQueueOptions{.capacity = 2, .name = "queue"},
      QueueModel{.capacity = 2, .is_by_priority = true});
}

TEST(Linearizable, ChannelWithABuffer) {
  check_linearizable<Channel<int>>(ChannelOptions{.capacity = 1, .name = "channel"},
                                   QueueModel{.capacity = 1});
}

TEST(Linearizable, ChannelWithoutABuffer) {
  check_linearizable<Channel<int>>(ChannelOptions{.capacity = 0, .name = "channel"},
                                   RendezvousModel());
}

}  // namespace
}  // namespace handoff::tests
