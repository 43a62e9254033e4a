// Threads that add and take items whose move may throw, and write down what became of each.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <expected>
#include <stop_token>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/queue.hpp"
#include "handoff/refusal.hpp"
#include "handoff/select.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/unwilling_item.hpp"

namespace handoff::tests {

using Item = UnwillingItem;

inline constexpr int producers = 2;
inline constexpr int items_each = 3;

inline unsigned draw(unsigned below) { return static_cast<unsigned>(detail::sim::draw(below)); }

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

inline void still_with_its_owner(Fates& fates, Item& item) {
  testing::check(item.is_here(), "refused, and touched all the same");
  fates.returned(item.let_go());
}
// Where an item goes from hand to hand it may be still here, and counts as received: the receiver got its exception.
template <typename T>
void gone_in(Fates& fates, const Item& item) {
  testing::check(!item.is_here() || IsChannel<T>, "accepted, and still with its owner");
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
  } catch (const HookThrew& threw) {
    // By then the new item is in, or its own move has thrown too.
    fates.lost_by_eviction(threw.item);
    if (item.is_here()) return still_with_its_owner(fates, item);
    gone_in<T>(fates, item);
  }
}

template <typename T>
void add_two(T& object, Fates& fates, int number, const Wait& wait) {
  Item items[] = {Item(fates, number), Item(fates, number + 1)};
  const PutAll result = object.put_all(items, wait);
  testing::check(bool(result) == (result.accepted == 2), "it ended early for no reason");
  for (std::size_t i = 0; i < 2; ++i) {
    if (i < result.accepted) {
      gone_in<T>(fates, items[i]);
    } else {
      still_with_its_owner(fates, items[i]);
    }
  }
}

inline void send_by_select(Channel<Item>& channel, Fates& fates, int number, const Wait& wait) {
  Item item(fates, number);
  try {
    if (select(wait, channel.on_send(std::move(item), [] {}))) {
      gone_in<Channel<Item>>(fates, item);
    } else {
      still_with_its_owner(fates, item);
    }
  } catch (const MoveThrew&) {
    still_with_its_owner(fates, item);
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
        testing::check(items->size() == 1, "more than one at a time");
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
class Mood {
 public:
  bool is_patient() const { return is_patient_; }
  Wait wait() const {
    if (is_patient_) return {};
    return {.deadline = draw(2) == 0 ? within(std::chrono::milliseconds(1)) : Deadline(),
            .stop = stop_.get_token()};
  }
  // If one is not.
  void maybe_stop() {
    if (draw(2) == 0) stop_.request_stop();
  }

 private:
  const bool is_patient_ = draw(2) == 0;
  std::stop_source stop_;
};

// Two threads take until there is no more, while each producer adds its items, from that number on.
template <typename Take, typename Add, typename Close>
void take_and_add(Mood& mood, Take take, Add add, Close close) {
  std::vector<Thread> takers;
  for (int i = 0; i < 2; ++i) {
    takers.emplace_back([&] {
      while (take()) {
      }
    });
  }
  {
    std::vector<Thread> threads;
    for (int i = 0; i < producers; ++i) threads.emplace_back([&, i] { add(i * items_each); });
    if (!mood.is_patient()) {
      testing::pause(std::chrono::milliseconds(2));
      mood.maybe_stop();
      testing::pause(std::chrono::milliseconds(1));
      close();
    }
  }
  close();
}

}  // namespace handoff::tests
