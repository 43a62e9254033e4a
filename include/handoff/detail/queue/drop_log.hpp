// Counts dropped items and says so in the log: at once for the first, then at most once a second
// with how many there were, and a last time for what is left.
#pragma once

#include <cstdint>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/primitive.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class DropLog {
 public:
  explicit DropLog(const Primitive& subject) : subject_(subject) {}

  void note_drop();
  // Says what has not been said yet. Called when the queue closes.
  void flush();
  std::uint64_t total() const { return total_.load(relaxed); }

 private:
  static constexpr Duration interval = std::chrono::seconds(1);

  void say();

  const Primitive& subject_;
  atomic<std::uint64_t> total_{0};
  atomic<std::uint64_t> said_{0};
  atomic<Duration::rep> quiet_until_{
      Duration::min().count()};  // Whoever moves it on writes the line.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
