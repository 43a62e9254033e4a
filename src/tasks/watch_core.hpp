// The events that a Watch has not taken yet.
#pragma once

#include "handoff/detail/core/atomic.hpp"
#include "handoff/queue.hpp"
#include "handoff/tasks/watch.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class WatchCore {
 public:
  explicit WatchCore(WatchOptions options)
      : queue_(std::move(options.queue)),
        events_({.capacity = options.capacity, .name = "a watch of tasks"}) {}

  // By those who have committed, one at a time. Never waits.
  void tell(const Changes& changes);
  void miss(std::uint64_t events) {
    last_told_ += events;
    missed_ += events;
  }
  void close() { events_.close(); }

  Watch::Result take(const Wait& wait) { return counted(events_.take(wait)); }
  Watch::Result poll() { return counted(events_.poll()); }
  Lazy<Watch::Result> async_take(Deadline deadline);
  std::uint64_t missed() const { return missed_; }

 private:
  struct Numbered {
    std::uint64_t number = 0;  // From 1 on: one that was lost leaves a gap.
    TaskEvent event;
  };
  void add(TaskEvent event);
  Watch::Result counted(std::expected<Numbered, Refusal> taken);

  const std::string queue_;
  BlockingQueue<Numbered> events_;
  std::uint64_t last_told_ = 0;   // Of those who tell.
  std::uint64_t last_taken_ = 0;  // Of the reader.
  handoff::detail::atomic<std::uint64_t> missed_{0};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
