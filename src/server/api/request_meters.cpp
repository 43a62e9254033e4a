#include "server/api/request_meters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace handoff::server {

RequestMeters::RequestMeters(const Router& router)
    : routes_(router.routes()), cells_((routes_.size() + 1) * 2 * classes) {}

void RequestMeters::add(const Route* route, bool waits, int status, Duration took) {
  const std::size_t which =
      route == nullptr ? routes_.size() : static_cast<std::size_t>(route - routes_.data());
  const auto kind = static_cast<std::size_t>(std::clamp(status / 100, 1, int{classes})) - 1;
  Cell& cell = cells_[(which * 2 + (waits ? 1 : 0)) * classes + kind];
  const double seconds = std::chrono::duration<double>(took).count();
  const auto bucket = std::ranges::lower_bound(bounds, seconds) - bounds.begin();
  // Counts on their own.
  cell.counts[static_cast<std::size_t>(bucket)].fetch_add(1, handoff::detail::relaxed);
  cell.nanoseconds.fetch_add(static_cast<std::uint64_t>(std::max(took, Duration(0)).count()),
                             handoff::detail::relaxed);
}

std::vector<RequestMeters::Look> RequestMeters::look() const {
  std::vector<Look> all;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    Look look;
    std::ranges::transform(cell.counts, look.counts.begin(),
                           [](const auto& each) { return each.load(handoff::detail::relaxed); });
    if (std::ranges::all_of(look.counts, [](std::uint64_t each) { return each == 0; })) continue;
    const std::size_t which = i / classes / 2;
    const bool is_known = which < routes_.size();
    look.labels = fmt::format(R"(route="{}",method="{}",status="{}xx",waits="{}")",
                              is_known ? std::string_view(routes_[which].pattern) : "(none)",
                              is_known ? to_string(routes_[which].method) : "(any)",
                              i % classes + 1, i / classes % 2 == 1);
    look.sum_seconds = static_cast<double>(cell.nanoseconds.load(handoff::detail::relaxed)) / 1e9;
    all.push_back(std::move(look));
  }
  return all;
}

}  // namespace handoff::server
