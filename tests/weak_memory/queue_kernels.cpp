// BlockingQueue: slots, indices, the turnstiles of both sides, and closing.
#include <memory>

#include "handoff/queue.hpp"
#include "weak_memory/kernel.hpp"

namespace handoff::weak_memory {
namespace {

using Queue = BlockingQueue<Item>;

// Everybody waits for somebody: one slot, two producers, one consumer.
struct QueueKernel : Kernel<QueueKernel, 3> {
  Places places;
  std::unique_ptr<Queue> queue = std::make_unique<Queue>(QueueOptions{.capacity = 1});
  Plain<int> input[2];

  void work(unsigned index) {
    if (index < 2) {
      input[index].write(1);
      for (int i = 0; i < 2; ++i) {
        check(queue->put(Item(places, static_cast<int>(index))).has_value());
      }
    } else {
      for (int i = 0; i < 4; ++i) {
        const auto item = queue->take();
        check(item.has_value() && input[item->value()].read() == 1);
      }
    }
  }
  void after() { check(queue->size() == 0); }
};
const Added queue = add<QueueKernel>("BlockingQueue");

// Two consumers, and a close behind the last item: nothing is lost, and both learn of it.
struct QueueCloseKernel : Kernel<QueueCloseKernel, 3> {
  Places places;
  std::unique_ptr<Queue> queue = std::make_unique<Queue>(QueueOptions{.capacity = 2});
  int taken[2] = {};
  Plain<int> before_close;

  void work(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) check(queue->put(Item(places, 1)).has_value());
      before_close.write(1);
      queue->close();
    } else {
      while (auto item = queue->take()) taken[index - 1] += item->value();
      check(queue->is_closed() && before_close.read() == 1);
    }
  }
  void after() { check(taken[0] + taken[1] == 2); }
};
const Added queue_close = add<QueueCloseKernel>("BlockingQueue.close");

// Without waiting: what poll() and size() say, and pushes that evict.
struct QueuePollKernel : Kernel<QueuePollKernel, 3> {
  Places places;
  std::unique_ptr<Queue> queue =
      std::make_unique<Queue>(QueueOptions{.capacity = 1, .when_full = WhenFull::drop_oldest});
  Plain<int> before_close;

  void work(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) queue->push(Item(places, i));
      before_close.write(1);
      queue->close();
    } else {
      for (int i = 0; i < 2; ++i) {
        const auto item = queue->poll();
        if (item) (void)item->value();
        if (!item && item.error() == Refusal::closed) check(before_close.read() == 1);
        if (queue->is_closed()) check(before_close.read() == 1);
      }
    }
  }
};
const Added queue_poll = add<QueuePollKernel>("BlockingQueue.poll");

}  // namespace
}  // namespace handoff::weak_memory
