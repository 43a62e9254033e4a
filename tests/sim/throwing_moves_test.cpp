// Items whose move constructor throws now and then: on the way in nothing has happened, on the way out the taker gets the exception. Each item comes to
// one end, whatever else ends a wait at the same moment, and nobody is left waiting.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "handoff/channel.hpp"
#include "handoff/log.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/runs.hpp"
#include "sim/unwilling_exchange.hpp"
#include "sim/unwilling_item.hpp"

namespace handoff::tests {
namespace {

using testing::check;
using testing::pct;
using testing::simulate;

template <typename T>
void exchange(T& object, Fates& fates) {
  Mood mood;
  const auto take = [&] { return take_some(object, fates, mood.wait()); };
  const auto add = [&](int first) {
    int number = first;
    if constexpr (!IsChannel<T>) {
      if (draw(4) == 0) {
        add_two(object, fates, number, mood.wait());
        number += 2;
      }
    }
    for (; number < first + items_each; ++number) {
      add_one(object, fates, number, mood.wait(), mood.is_patient());
    }
  };
  take_and_add(mood, take, add, [&] { object.close(); });
  take_the_rest(object, fates);

  fates.check();
  const Stats stats = object.stats();
  check(stats.puts == fates.all_accepted(), "puts are not what was accepted");
  check(stats.takes == fates.all_taken(), "takes are not what was taken");
  check(stats.dropped == fates.all_dropped(), "drops are not what was dropped");
  check(stats.puts == stats.takes + stats.size + fates.all_evicted(), "the counts do not add up");
}

// The same by select: from whichever has an item, and to the channel also by a select that sends.
void exchange_by_select(Channel<Item>& channel, BlockingQueue<Item>& queue, Fates& fates) {
  Mood mood;
  const auto take = [&] {
    const auto delivered = [&](Item&& item) { fates.delivered(item.let_go()); };
    try {
      const auto done =
          select(mood.wait(), channel.on_receive(delivered), queue.on_take(delivered));
      return done || done.error() == Refusal::timed_out;
    } catch (const MoveThrew& threw) {
      fates.lost_by_taker(threw.item);
      return true;
    }
  };
  const auto add = [&](int first) {
    for (int number = first; number < first + items_each; ++number) {
      if (first == 0) {
        add_one(queue, fates, number, mood.wait(), mood.is_patient());
      } else if (draw(2) == 0) {
        add_one(channel, fates, number, mood.wait(), mood.is_patient());
      } else {
        send_by_select(channel, fates, number, mood.wait());
      }
    }
  };
  take_and_add(mood, take, add, [&] {
    channel.close();
    queue.close();
  });
  take_the_rest(channel, fates);
  take_the_rest(queue, fates);
  fates.check();
}

template <typename Body>
void simulate_both_ways(std::uint64_t part, Body body) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs / part / 2, .strategy = strategy}, [&] {
      const unsigned one_in[] = {2, 4, 8, 16};
      Fates fates(producers * items_each, one_in[draw(4)]);
      body(fates);
    });
  }
}

class ThrowingMoves : public ::testing::Test {
 protected:
  ThrowingMoves() : log_before_(set_log([](std::string_view) {})) {}  // Drops are what it is about.
  ~ThrowingMoves() override { set_log(log_before_); }

 private:
  LogSink log_before_;
};

constexpr WhenFull policies[] = {WhenFull::block, WhenFull::reject, WhenFull::drop_newest,
                                 WhenFull::drop_oldest};

// What push() drops: an evicted item is the hook's, which takes it, a refused one is still its producer's.
auto hook(Fates& fates) {
  return [&](Item& item) {
    check(item.is_here(), "dropped when it was gone");
    if (item.is_first()) return fates.refused(item.number());
    try {
      Item taken(std::move(item));
      fates.evicted(taken.let_go());
    } catch (const MoveThrew& threw) {
      throw HookThrew{threw.item};
    }
  };
}

TEST_F(ThrowingMoves, DoNoHarmToAQueue) {
  for (const WhenFull policy : policies) {
    for (const std::size_t capacity : {1U, 2U}) {
      simulate_both_ways(8, [=](Fates& fates) {
        BlockingQueue<Item> queue{{.capacity = capacity, .name = "queue", .when_full = policy},
                                  hook(fates)};
        exchange(queue, fates);
      });
    }
  }
}

TEST_F(ThrowingMoves, DoNoHarmToAPriorityQueue) {
  for (const WhenFull policy : policies) {
    for (const std::size_t capacity : {1U, 2U}) {
      simulate_both_ways(8, [=](Fates& fates) {
        PriorityBlockingQueue<Item> queue{
            {.capacity = capacity, .name = "queue", .when_full = policy},
            [](const Item& item) { return item.number() % 2; },
            hook(fates)};
        exchange(queue, fates);
      });
    }
  }
}

TEST_F(ThrowingMoves, DoNoHarmToAChannel) {
  for (const std::size_t capacity : {0U, 1U}) {
    simulate_both_ways(2, [=](Fates& fates) {
      Channel<Item> channel{{.capacity = capacity, .name = "channel"}};
      exchange(channel, fates);
    });
  }
}

TEST_F(ThrowingMoves, DoNoHarmToASelect) {
  for (const std::size_t capacity : {0U, 1U}) {
    simulate_both_ways(2, [=](Fates& fates) {
      Channel<Item> channel{{.capacity = capacity, .name = "channel"}};
      BlockingQueue<Item> queue{{.capacity = 1, .name = "queue"}};
      exchange_by_select(channel, queue, fates);
    });
  }
}

// An item that cannot be moved leaves the room it was to have to the next, who may stand behind it.
template <typename T>
void leave_room_to_the_next(T& object) {
  Fates fates(3);
  fates.set_unmovable(1);
  add_one(object, fates, 0, {}, true);
  Thread unmovable([&] { add_one(object, fates, 1, {}, true); });
  {
    Thread next([&] { add_one(object, fates, 2, {}, true); });
    take_some(object, fates, {});
  }
  object.close();
  unmovable.join();
  take_the_rest(object, fates);
  fates.check();
}

TEST_F(ThrowingMoves, LeaveTheirRoomToTheNext) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs / 2, .strategy = strategy}, [] {
      BlockingQueue<Item> queue{{.capacity = 1, .name = "queue"}};
      leave_room_to_the_next(queue);
    });
    simulate({.runs = runs / 2, .strategy = strategy}, [] {
      PriorityBlockingQueue<Item> queue{{.capacity = 1, .name = "queue"}, &Item::number};
      leave_room_to_the_next(queue);
    });
    simulate({.runs = runs / 2, .strategy = strategy}, [] {
      Channel<Item> channel{{.capacity = 1, .name = "channel"}};
      leave_room_to_the_next(channel);
    });
  }
}

}  // namespace
}  // namespace handoff::tests
