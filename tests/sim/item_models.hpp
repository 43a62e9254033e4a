// What queues and channels would be if there was one thread: the models for histories of their calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "handoff/refusal.hpp"
#include "handoff/testing/history.hpp"

namespace handoff::tests {

// The words of a queue. For a channel: send, try_send, receive, try_receive, close.
struct ItemCall {
  enum class Kind : std::uint8_t { put, offer, take, poll, close };
  Kind kind;
  int item = 0;

  bool adds() const { return kind == Kind::put || kind == Kind::offer; }
  bool waits() const { return kind == Kind::put || kind == Kind::take; }
};

inline std::string to_string(const ItemCall& call) {
  switch (call.kind) {
    case ItemCall::Kind::put: return "put " + std::to_string(call.item);
    case ItemCall::Kind::offer: return "offer " + std::to_string(call.item);
    case ItemCall::Kind::take: return "take";
    case ItemCall::Kind::poll: return "poll";
    case ItemCall::Kind::close: return "close";
  }
  return "unknown";
}

// An item, a refusal, or neither: then it was done.
struct ItemOutcome {
  std::optional<int> item = {};
  std::optional<Refusal> refusal = {};

  ItemOutcome() = default;
  ItemOutcome(int taken) : item(taken) {}                   // NOLINT: they stand for one another.
  ItemOutcome(Refusal refused) : refusal(refused) {}        // NOLINT
  ItemOutcome(const std::expected<int, Refusal>& result) {  // NOLINT
    if (result) item = *result;
    if (!result) refusal = result.error();
  }
  ItemOutcome(const std::expected<void, Refusal>& result) {  // NOLINT
    if (!result) refusal = result.error();
  }
};

inline std::string to_string(const ItemOutcome& outcome) {
  if (outcome.refusal) return std::string(to_string(*outcome.refusal));
  return outcome.item ? std::to_string(*outcome.item) : "done";
}

using ItemHistory = testing::History<ItemCall, ItemOutcome>;

// A bounded queue. Every refusal has to be right at some moment of its call: `full` and `empty` are promised so, and `timed_out` is because a
// form that waits tries first. `stopped` may come at any moment: it comes first even if the call could go on.
struct QueueModel {
  std::size_t capacity = 1;
  bool is_by_priority = false;  // The largest item first, and not the oldest.
  std::vector<int> items = {};  // In the order in which they come out.
  bool is_closed = false;
  bool operator==(const QueueModel&) const = default;

  bool apply(const ItemCall& call, const ItemOutcome* outcome) {
    if (call.kind == ItemCall::Kind::close) return is_closed = true;
    if (outcome != nullptr && outcome->refusal) return may_refuse(call, *outcome->refusal);
    return call.adds() ? add(call.item) : take(outcome);
  }

 private:
  bool may_refuse(const ItemCall& call, Refusal refusal) const {
    const bool cannot = call.adds() ? items.size() == capacity : items.empty();
    switch (refusal) {
      case Refusal::full: return !is_closed && cannot && call.kind == ItemCall::Kind::offer;
      case Refusal::empty: return !is_closed && cannot && call.kind == ItemCall::Kind::poll;
      case Refusal::timed_out: return !is_closed && cannot && call.waits();
      case Refusal::closed: return is_closed && (call.adds() || items.empty());
      case Refusal::stopped: return call.waits();
    }
    return false;
  }
  bool add(int item) {
    if (is_closed || items.size() == capacity) return false;
    auto place = items.end();
    if (is_by_priority) {
      place = std::find_if(items.begin(), items.end(), [=](int other) { return other < item; });
    }
    items.insert(place, item);
    return true;
  }
  bool take(const ItemOutcome* outcome) {
    if (items.empty() || (outcome != nullptr && outcome->item != items.front())) return false;
    items.erase(items.begin());
    return true;
  }
};

// A channel of capacity 0: a send and a receive happen together or not at all. Whether the other one was waiting is not to be seen from
// outside, where a call that has begun may not have come far: so `full`, `empty` and `timed_out` are right at any moment before the close.
struct RendezvousModel {
  bool is_closed = false;
  bool operator==(const RendezvousModel&) const = default;

  bool apply(const ItemCall& call, const ItemOutcome* outcome) {
    if (call.kind == ItemCall::Kind::close) return is_closed = true;
    if (outcome == nullptr || !outcome->refusal) return false;
    switch (*outcome->refusal) {
      case Refusal::full: return !is_closed && call.kind == ItemCall::Kind::offer;
      case Refusal::empty: return !is_closed && call.kind == ItemCall::Kind::poll;
      case Refusal::timed_out: return !is_closed && call.waits();
      case Refusal::closed: return is_closed;
      case Refusal::stopped: return call.waits();
    }
    return false;
  }

  bool apply_both(const ItemCall& send, const ItemOutcome* sent, const ItemCall& receive,
                  const ItemOutcome* received) const {
    const bool they_fit = send.adds() && !receive.adds() && receive.kind != ItemCall::Kind::close;
    const bool one_waits = send.waits() || receive.waits();
    const bool was_sent = sent == nullptr || !sent->refusal;
    const bool was_received = received == nullptr || received->item == send.item;
    return !is_closed && they_fit && one_waits && was_sent && was_received;
  }
};

}  // namespace handoff::tests
