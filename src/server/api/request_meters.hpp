// How long requests took, by route and by how they ended.
//
// Counted by the thread that has answered: two additions to numbers of its route, which are in one piece of memory as large as the table of
// routes. So nothing is looked up or locked, and nobody outside can make it grow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "server/http/router.hpp"

namespace handoff::server {

class RequestMeters {
 public:
  // In seconds; what is above the last has a bucket, too.
  static constexpr std::array bounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                     0.1,    0.25,  0.5,    1.0,   2.5,  5.0,   10.0};

  // All routes are there; the router stays as long as this.
  explicit RequestMeters(const Router& router);

  // `route` is null if nothing has that path. `waits`: it took its time by design.
  void add(const Route* route, bool waits, int status, Duration took);

  // What was counted of one; of a route to which no request came there is none.
  struct Look {
    std::string labels;  // Without the braces.
    std::array<std::uint64_t, bounds.size() + 1> counts{};
    double sum_seconds = 0;
  };
  std::vector<Look> look() const;

 private:
  static constexpr std::size_t classes = 5;  // 1xx to 5xx.

  // A line of its own: threads that answer on different routes are not in each other's way.
  struct alignas(64) Cell {
    std::array<detail::atomic<std::uint64_t>, bounds.size() + 1> counts{};
    detail::atomic<std::uint64_t> nanoseconds{0};
  };

  const std::vector<Route>& routes_;
  std::vector<Cell> cells_;  // By route (the last: none), whether it waits, and class.
};

}  // namespace handoff::server
