// The orders that wait for somebody to trade with, of one instrument. By price, then by time: the best price is served first,
// and at one price who came first.
//
// For one thread at a time; in this program, for one actor.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "order.hpp"

namespace order_book {

class Book {
 public:
  // Trades as far as it goes, and adds the trades to `trades`. What is left waits.
  void add(Limit order, std::vector<Trade>& trades);
  // How much was left of the order, which is gone then; 0 if it is not there, or is another trader's.
  std::uint32_t cancel(const Cancel& cancel);

  // Who waits: buyers, then sellers; each in the order in which they are served.
  std::vector<Limit> waiting() const;

 private:
  using Level = std::list<Limit>;  // Of one price: who came first is first.
  struct Place {
    Side side;
    std::uint32_t price;
    Level::iterator order;
  };

  template <typename Levels, typename IsWorse>
  void trade(Levels& levels, Limit& order, IsWorse is_worse, std::vector<Trade>& trades);
  template <typename Levels>
  void wait_in(Levels& levels, const Limit& order);

  // The best price is first.
  std::map<std::uint32_t, Level, std::greater<>> buyers_;
  std::map<std::uint32_t, Level, std::less<>> sellers_;
  std::unordered_map<std::uint64_t, Place>
      places_;  // By order: so that it is found to be cancelled.
};

// The same the simple way: all orders in a row, and a look at each for the best. Too slow for an exchange, too short to be wrong.
class SlowBook {
 public:
  void add(Limit order, std::vector<Trade>& trades);
  std::uint32_t cancel(const Cancel& cancel);
  std::vector<Limit> waiting() const;

 private:
  std::vector<Limit> in_order_;  // Of arrival.
};

// One trade of `came` with `waits`, as much as both want.
Trade trade_between(Limit& waits, Limit& came);

}  // namespace order_book
