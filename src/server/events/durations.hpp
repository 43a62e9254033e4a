// How long things took.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace handoff::server {

// How many durations were below which bound: powers of two milliseconds.
struct Durations {
  static constexpr std::size_t buckets = 28;  // The last one has all from 19 hours on.

  std::array<std::uint64_t, buckets> counts{};
  std::uint64_t total = 0;
  double sum_seconds = 0;

  void add(std::chrono::milliseconds duration);
  // The bound of a bucket; the last one has none.
  static std::chrono::milliseconds bound(std::size_t bucket) {
    return std::chrono::milliseconds(std::int64_t{1} << bucket);
  }
  // In which bucket that part of them ends. Nothing if there are none.
  std::optional<std::size_t> quantile_bucket(double part) const;
  // Below which that part of them were, to a power of two.
  std::optional<std::chrono::milliseconds> quantile(double part) const;
};

}  // namespace handoff::server
