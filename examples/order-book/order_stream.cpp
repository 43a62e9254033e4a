#include "order_stream.hpp"

namespace order_book {

OrderStream::OrderStream(std::uint64_t gateway, std::uint32_t instruments, std::uint32_t traders)
    : instruments_(instruments),
      traders_(traders),
      next_id_(gateway << 40),
      random_(gateway + 1),
      open_(instruments) {}

std::uint32_t OrderStream::any(std::uint32_t least, std::uint32_t most) {
  // Of 64 random bits the upper half, scaled: the remainder's bias does not matter here.
  const auto span = static_cast<std::uint64_t>(most - least) + 1;
  return least + static_cast<std::uint32_t>(((random_() >> 32) * span) >> 32);
}

std::pair<std::uint32_t, Order> OrderStream::next() {
  const std::uint32_t instrument = any(0, instruments_ - 1);
  auto& open = open_[instrument];
  if (open.size() == most_open) {
    const Cancel oldest = open.front();
    open.pop_front();
    return {instrument, oldest};
  }
  // Buyers offer a little less than the others ask for: some meet, some wait.
  const Side side = any(0, 1) == 0 ? Side::buy : Side::sell;
  const std::uint32_t middle = 1'000 + 10 * instrument;
  const std::uint32_t price =
      side == Side::buy ? any(middle - 20, middle + 5) : any(middle - 5, middle + 20);
  const Limit limit{.id = next_id_++,
                    .trader = any(0, traders_ - 1),
                    .side = side,
                    .price = price,
                    .quantity = any(1, most_shares)};
  open.push_back({.id = limit.id, .trader = limit.trader});
  return {instrument, limit};
}

}  // namespace order_book
