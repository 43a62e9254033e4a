#include "server/events/durations.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace handoff::server {

void Durations::add(std::chrono::milliseconds duration) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  const auto bucket =
      std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(count)), buckets - 1);
  ++counts[bucket];
  ++total;
  sum_seconds += static_cast<double>(count) / 1000;
}

std::optional<std::size_t> Durations::quantile_bucket(double part) const {
  if (total == 0) return std::nullopt;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    seen += counts[i];
    if (seen >= wanted) return i;
  }
  return buckets - 1;
}

std::optional<std::chrono::milliseconds> Durations::quantile(double part) const {
  const auto bucket = quantile_bucket(part);
  return bucket ? std::optional(bound(*bucket)) : std::nullopt;
}

}  // namespace handoff::server
