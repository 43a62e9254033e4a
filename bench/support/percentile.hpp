// Percentiles of a set of samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

// The value that `percent` of the samples do not exceed (nearest rank). Needs at least one sample.
template <typename T>
T percentile(std::vector<T>& samples, std::size_t percent) {
  const std::size_t rank = (samples.size() * percent + 99) / 100;
  const auto nth = samples.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

}  // namespace bench
