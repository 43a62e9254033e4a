#include "server/events/track.hpp"

#include <algorithm>
#include <limits>

namespace handoff::server {

void Track::turn(std::int64_t second) {
  if (second <= second_) return;
  Moment& last = current();
  if (waits_.total > 0) {
    last.wait_p50 = static_cast<std::uint8_t>(*waits_.quantile_bucket(0.5));
    last.wait_p99 = static_cast<std::uint8_t>(*waits_.quantile_bucket(0.99));
    waits_ = {};
  }
  Moment next;
  next.counts = last.counts;
  for (auto each = std::max(second_ + 1, second - seconds + 1); each <= second; ++each) {
    at(each) = next;
  }
  second_ = second;
}

void Track::set_counts(const StateCounts& counts) {
  static constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  std::ranges::transform(counts, current().counts.begin(), [](std::int64_t count) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, most));
  });
}

Track::Part Track::last(std::int64_t most) {
  Part part{.first = std::max({first_, second_ - seconds + 1, second_ - most}), .moments = {}};
  for (auto each = part.first; each < second_; ++each) part.moments.push_back(at(each));
  return part;
}

}  // namespace handoff::server
