// Random sequences of operations, compared step by step with a plain deque.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>

#include "handoff/queue.hpp"

namespace handoff {
namespace {

enum class Step { offer, poll, put_all, take_some, drain, push, close };

TEST(BlockingQueueModel, BehavesLikeABoundedDequeWhateverTheSequence) {
  const bool holds = rc::check([] {
    const auto capacity = *rc::gen::inRange<std::size_t>(1, 9);
    BlockingQueue<int> queue{{.capacity = capacity, .when_full = WhenFull::reject}};
    std::deque<int> model;
    bool closed = false;
    int next = 0;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 40));
    for (int choice : steps) {
      const auto step = choice > 38 ? Step::close : static_cast<Step>(choice % 6);
      const bool full = model.size() == capacity;
      const auto refusal = closed ? Refusal::closed : Refusal::full;
      switch (step) {
        case Step::offer:
        case Step::push: {
          const auto added = step == Step::offer ? queue.offer(int(next)) : queue.push(int(next));
          RC_ASSERT(added.has_value() == (!full && !closed));
          if (added) model.push_back(next);
          if (!added) RC_ASSERT(added.error() == refusal);
          ++next;
          break;
        }
        case Step::poll: {
          const auto item = queue.poll();
          RC_ASSERT(item.has_value() == !model.empty());
          if (item) {
            RC_ASSERT(*item == model.front());
            model.pop_front();
          } else {
            RC_ASSERT(item.error() == (closed ? Refusal::closed : Refusal::empty));
          }
          break;
        }
        case Step::put_all: {
          std::vector<int> items{next, next + 1, next + 2};
          const auto put = queue.put_all(items, {.deadline = TimePoint::min()});
          const auto fits = closed ? 0 : std::min<std::size_t>(3, capacity - model.size());
          RC_ASSERT(put.accepted == fits);
          if (fits < 3) RC_ASSERT(put.refusal == (closed ? Refusal::closed : Refusal::timed_out));
          for (std::size_t i = 0; i < fits; ++i) model.push_back(items[i]);
          next += 3;
          break;
        }
        case Step::take_some: {
          const auto some = queue.take_some(2, {.deadline = TimePoint::min()});
          RC_ASSERT(some.has_value() == !model.empty());
          if (!some) break;
          RC_ASSERT(some->size() == std::min<std::size_t>(2, model.size()));
          for (int item : *some) {
            RC_ASSERT(item == model.front());
            model.pop_front();
          }
          break;
        }
        case Step::drain:
          RC_ASSERT(queue.drain() == std::vector<int>(model.begin(), model.end()));
          model.clear();
          break;
        case Step::close:
          queue.close();
          closed = true;
          break;
      }
      RC_ASSERT(queue.size() == model.size());
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace handoff
