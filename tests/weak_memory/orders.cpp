#include "weak_memory/orders.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace handoff::inline HANDOFF_FLAVOUR::detail::weak {

namespace {

using Order = std::memory_order;

struct Weakened {
  Site site;
  Order order;
};
std::optional<Weakened> weakened;

bool notes = false;
std::vector<Site> sites;

bool is_at(const Site& site, const std::source_location& where) {
  return site.line == where.line() && site.column == where.column() &&
         site.file == std::string_view(where.file_name());
}

}  // namespace

Order order_at(const std::source_location& where, Access access, Order order) {
  if (weakened && is_at(weakened->site, where)) return weakened->order;
  if (notes && std::ranges::none_of(sites, [&](const Site& each) { return is_at(each, where); })) {
    sites.push_back({.file = where.file_name(),
                     .line = where.line(),
                     .column = where.column(),
                     .access = access,
                     .order = order});
  }
  return order;
}

void note_sites() {
  sites.clear();
  notes = true;
}

const std::vector<Site>& noted_sites() {
  notes = false;
  return sites;
}

void weaken(const Site& site, Order order) { weakened = {.site = site, .order = order}; }

std::vector<Order> weaker_than(const Site& site) {
  switch (site.order) {
    case Order::relaxed: return {};
    case Order::consume:
    case Order::acquire:
    case Order::release: return {Order::relaxed};
    case Order::acq_rel: return {Order::acquire, Order::release, Order::relaxed};
    case Order::seq_cst: break;
  }
  switch (site.access) {
    case Access::load: return {Order::acquire, Order::relaxed};
    case Access::store: return {Order::release, Order::relaxed};
    case Access::change: break;
  }
  return {Order::acq_rel, Order::relaxed};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::weak
