// What the traders behind one gateway want: the same orders for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "order.hpp"

namespace order_book {

class OrderStream {
 public:
  static constexpr std::uint32_t most_shares = 100;  // Of one order.

  OrderStream(std::uint64_t gateway, std::uint32_t instruments, std::uint32_t traders);

  // The next order, and for which instrument.
  std::pair<std::uint32_t, Order> next();

  static std::uint64_t gateway_of(std::uint64_t order) { return order >> 40; }

 private:
  // Orders grow old: of so many for one instrument, the oldest is taken back.
  static constexpr std::size_t most_open = 50;

  std::uint32_t any(std::uint32_t least, std::uint32_t most);

  const std::uint32_t instruments_;
  const std::uint32_t traders_;
  std::uint64_t next_id_;
  std::mt19937_64 random_;
  std::vector<std::deque<Cancel>> open_;  // By instrument: how each would be taken back.
};

}  // namespace order_book
