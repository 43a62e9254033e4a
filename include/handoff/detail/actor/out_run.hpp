// What a plain handler has sent to actors that had no room for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "handoff/detail/actor/lane.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Of all messages in one outbox.
struct OutboxBound {
  std::size_t size = 0;
  std::size_t most = 1000;
};

// Messages in a row to the same actor; they lie as they will lie in its mailbox.
struct OutRun {
  OutRun(ActorCell& target, OutboxBound& all) : to(&target), bound(&all) {}

  template <typename Construct>
  void add(const MessageHandler& handler, std::uintptr_t extra, std::uint32_t stride,
           const Construct& construct) {
    Envelope& envelope = lane.reserve(stride);
    try {
      construct(envelope.place());
    } catch (...) {
      lane.abandon_reserved();
      throw;
    }
    envelope.handler = &handler;
    envelope.extra = extra;
    lane.commit();
    ++count;
    ++bound->size;
  }

  ActorCell* to;  // With a reference.
  OutboxBound* bound;
  Lane lane;
  std::uint64_t count = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
