#include "book.hpp"

#include <algorithm>
#include <iterator>

namespace order_book {

Trade trade_between(Limit& waits, Limit& came) {
  const std::uint32_t quantity = std::min(waits.quantity, came.quantity);
  waits.quantity -= quantity;
  came.quantity -= quantity;
  const bool is_bought = came.side == Side::buy;
  return {.waited = waits.id,
          .came = came.id,
          .buyer = is_bought ? came.trader : waits.trader,
          .seller = is_bought ? waits.trader : came.trader,
          .price = waits.price,
          .quantity = quantity};
}

// -- By price and time ----------------------------------------------------------------------------

void Book::add(Limit order, std::vector<Trade>& trades) {
  if (order.side == Side::buy) {
    trade(sellers_, order, std::greater(), trades);
    if (order.quantity > 0) wait_in(buyers_, order);
  } else {
    trade(buyers_, order, std::less(), trades);
    if (order.quantity > 0) wait_in(sellers_, order);
  }
}

template <typename Levels, typename IsWorse>
void Book::trade(Levels& levels, Limit& order, IsWorse is_worse, std::vector<Trade>& trades) {
  while (order.quantity > 0 && !levels.empty()) {
    const auto best = levels.begin();
    if (is_worse(best->first, order.price)) return;
    Level& level = best->second;
    trades.push_back(trade_between(level.front(), order));
    if (level.front().quantity > 0) return;
    places_.erase(level.front().id);
    level.pop_front();
    if (level.empty()) levels.erase(best);
  }
}

template <typename Levels>
void Book::wait_in(Levels& levels, const Limit& order) {
  Level& level = levels[order.price];
  level.push_back(order);
  places_.insert_or_assign(
      order.id, Place{.side = order.side, .price = order.price, .order = std::prev(level.end())});
}

std::uint32_t Book::cancel(const Cancel& cancel) {
  const auto found = places_.find(cancel.id);
  if (found == places_.end()) return 0;
  const Place place = found->second;
  if (place.order->trader != cancel.trader) return 0;
  const std::uint32_t left = place.order->quantity;
  const auto take_out = [&](auto& levels) {
    const auto level = levels.find(place.price);
    level->second.erase(place.order);
    if (level->second.empty()) levels.erase(level);
  };
  place.side == Side::buy ? take_out(buyers_) : take_out(sellers_);
  places_.erase(found);
  return left;
}

std::vector<Limit> Book::waiting() const {
  std::vector<Limit> all;
  for (const auto& [price, level] : buyers_) all.insert(all.end(), level.begin(), level.end());
  for (const auto& [price, level] : sellers_) all.insert(all.end(), level.begin(), level.end());
  return all;
}

// -- The simple way -------------------------------------------------------------------------------

void SlowBook::add(Limit order, std::vector<Trade>& trades) {
  const bool is_buyer = order.side == Side::buy;
  while (order.quantity > 0) {
    Limit* best = nullptr;
    for (Limit& each : in_order_) {
      if (each.side == order.side) continue;
      if (is_buyer ? each.price > order.price : each.price < order.price) continue;
      const bool is_better =
          best == nullptr || (is_buyer ? each.price < best->price : each.price > best->price);
      if (is_better) best = &each;  // Of equal ones, the first stays.
    }
    if (best == nullptr) break;
    trades.push_back(trade_between(*best, order));
    if (best->quantity == 0) in_order_.erase(in_order_.begin() + (best - in_order_.data()));
  }
  if (order.quantity > 0) in_order_.push_back(order);
}

std::uint32_t SlowBook::cancel(const Cancel& cancel) {
  const auto found = std::ranges::find_if(in_order_, [&](const Limit& each) {
    return each.id == cancel.id && each.trader == cancel.trader;
  });
  if (found == in_order_.end()) return 0;
  const std::uint32_t left = found->quantity;
  in_order_.erase(found);
  return left;
}

std::vector<Limit> SlowBook::waiting() const {
  std::vector<std::size_t> ranked(in_order_.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = i;
  std::ranges::sort(ranked, [this](std::size_t one, std::size_t two) {
    const Limit& first = in_order_[one];
    const Limit& second = in_order_[two];
    if (first.side != second.side) return first.side == Side::buy;
    if (first.price == second.price) return one < two;  // Who came first.
    return first.side == Side::buy ? first.price > second.price : first.price < second.price;
  });
  std::vector<Limit> all;
  for (const std::size_t each : ranked) all.push_back(in_order_[each]);
  return all;
}

}  // namespace order_book
