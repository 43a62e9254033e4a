// Items whose move constructor throws now and then: on the way in nothing has happened, on the way out the taker gets the exception. Each item comes to
// one end, whatever else ends a wait at the same moment, and nobody is left waiting.
#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <expected>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/log.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/runs.hpp"
#include "sim/unwilling_item.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::pct;
using testing::simulate;
using Item = UnwillingItem;

constexpr int producers = 2;
constexpr int items_each = 3;

unsigned draw(unsigned below) { return static_cast<unsigned>(detail::sim::draw(below)); }

template <typename T>
concept IsChannel = std::same_as<T, Channel<Item>>;

// -- Adding ---------------------------------------------------------------------------------------

// By one of the forms that add one item. `is_patient`: only by those that wait.
template <typename T>
std::expected<void, Refusal> add(T& object, Item& item, const Wait& wait, bool is_patient) {
  const unsigned form = draw(is_patient ? 2 : 3);
  if constexpr (IsChannel<T>) {
    return form == 2 ? object.try_send(std::move(item)) : object.send(std::move(item), wait);
  } else {
    if (form == 0) return object.push(std::move(item), wait);
    return form == 2 ? object.offer(std::move(item)) : object.put(std::move(item), wait);
  }
}

void still_with_its_owner(Fates& fates, Item& item) {
  check(item.is_here(), "refused, and touched all the same");
  fates.returned(item.let_go());
}
// Where an item goes from hand to hand it may be still here, and counts as received: the receiver got its exception.
template <typename T>
void gone_in(Fates& fates, const Item& item) {
  check(!item.is_here() || IsChannel<T>, "accepted, and still with its owner");
  fates.accepted(item.number());
}

template <typename T>
void add_one(T& object, Fates& fates, int number, const Wait& wait, bool is_patient) {
  Item item(fates, number);
  try {
    if (add(object, item, wait, is_patient)) {
      gone_in<T>(fates, item);
    } else {
      still_with_its_owner(fates, item);
    }
  } catch (const MoveThrew& threw) {
    still_with_its_owner(fates, item);
    // The one that was to make room.
    if (threw.item != number) fates.lost_by_eviction(threw.item);
  }
}

template <typename T>
void add_two(T& object, Fates& fates, int number, const Wait& wait) {
  Item items[] = {Item(fates, number), Item(fates, number + 1)};
  const PutAll result = object.put_all(items, wait);
  check(bool(result) == (result.accepted == 2), "it ended early for no reason");
  for (std::size_t i = 0; i < 2; ++i) {
    if (i < result.accepted) {
      gone_in<T>(fates, items[i]);
    } else {
      still_with_its_owner(fates, items[i]);
    }
  }
}

// -- Taking ---------------------------------------------------------------------------------------

// By one of the forms that wait. False once there is no more to take.
template <typename T>
bool take_some(T& object, Fates& fates, const Wait& wait) {
  try {
    if constexpr (!IsChannel<T>) {
      if (draw(4) == 0) {
        auto items = object.take_some(2, wait);
        if (!items) return items.error() == Refusal::timed_out;
        check(items->size() == 1, "more than one at a time");
        fates.delivered(items->front().let_go());
        return true;
      }
    }
    auto item = [&] {
      if constexpr (IsChannel<T>) return object.receive(wait);
      if constexpr (!IsChannel<T>) return object.take(wait);
    }();
    if (!item) return item.error() == Refusal::timed_out;
    fates.delivered(item->let_go());
  } catch (const MoveThrew& threw) {
    fates.lost_by_taker(threw.item);
  }
  return true;
}

template <typename T>
void take_the_rest(T& object, Fates& fates) {
  while (true) {
    try {
      object.drain([&](Item&& item) { fates.delivered(item.let_go()); });
      return;
    } catch (const MoveThrew& threw) {
      fates.lost_by_taker(threw.item);
    }
  }
}

// -- Both -----------------------------------------------------------------------------------------

// Half of the runs know nothing of time: who waits is woken by a peer, or it is a deadlock. In the others waits end by themselves, by a stop and by
// an early close.
template <typename T>
void exchange(T& object, Fates& fates) {
  const bool is_patient = draw(2) == 0;
  std::stop_source stop;
  const auto wait = [&]() -> Wait {
    if (is_patient) return {};
    return {.deadline = draw(2) == 0 ? within(1ms) : Deadline(), .stop = stop.get_token()};
  };
  std::vector<Thread> takers;
  for (int i = 0; i < 2; ++i) {
    takers.emplace_back([&] {
      while (take_some(object, fates, wait())) {
      }
    });
  }
  {
    std::vector<Thread> threads;
    for (int i = 0; i < producers; ++i) {
      threads.emplace_back([&, first = i * items_each] {
        int number = first;
        if constexpr (!IsChannel<T>) {
          if (draw(4) == 0) {
            add_two(object, fates, number, wait());
            number += 2;
          }
        }
        for (; number < first + items_each; ++number) {
          add_one(object, fates, number, wait(), is_patient);
        }
      });
    }
    if (!is_patient) {
      testing::pause(2ms);
      if (draw(2) == 0) stop.request_stop();
      testing::pause(1ms);
      object.close();
    }
  }
  object.close();
  takers.clear();
  take_the_rest(object, fates);

  fates.check();
  const Stats stats = object.stats();
  check(stats.puts == fates.all_accepted(), "puts are not what was accepted");
  check(stats.takes == fates.all_taken(), "takes are not what was taken");
  check(stats.dropped == fates.all_dropped(), "drops are not what was dropped");
  check(stats.puts == stats.takes + stats.size + fates.all_evicted(), "the counts do not add up");
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

// What push() drops: an evicted item is the hook's, a refused one is still its producer's.
auto hook(Fates& fates) {
  return [&](Item& item) {
    check(item.is_here(), "dropped when it was gone");
    if (item.is_first()) return fates.refused(item.number());
    fates.evicted(item.let_go());
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

}  // namespace
}  // namespace handoff::tests
