// What a session has to say to its client: a queue with a limit. The session adds, the event loop takes and writes. A
// client that does not read fills it up, and nothing else: then it is cut off.
//
// Thread safety: any member, any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "handoff/queue.hpp"
#include "messages.hpp"

namespace chat {

enum class Goodbye : std::uint8_t { going_away, not_wanted, too_slow };

class Outgoing {
 public:
  // `cut` breaks the connection: called once at most.
  Outgoing(std::size_t capacity, std::function<void()> cut)
      : queue_({.capacity = capacity}), cut_(std::move(cut)) {}

  // Refused with `full` or `closed`.
  std::expected<void, handoff::Refusal> add(Frame frame) { return queue_.offer(std::move(frame)); }
  // No more comes; what is there is written first, unless it is too slow. Only the first goodbye counts.
  void end(Goodbye why) {
    if (is_ended_.exchange(true)) return;
    why_ = why;
    queue_.close();
    if (why == Goodbye::too_slow) cut_();
  }

  handoff::BlockingQueue<Frame>& queue() { return queue_; }
  Goodbye why() const { return why_; }  // Once the queue is closed.

 private:
  handoff::BlockingQueue<Frame> queue_;
  const std::function<void()> cut_;
  std::atomic<bool> is_ended_ = false;
  Goodbye why_ = Goodbye::going_away;
};

}  // namespace chat
