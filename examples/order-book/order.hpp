// What is said on an exchange: orders, and what came of them.
#pragma once

#include <cstdint>
#include <variant>

namespace order_book {

enum class Side : std::uint8_t { buy, sell };

constexpr Side other(Side side) { return side == Side::buy ? Side::sell : Side::buy; }

// Buys or sells up to `quantity`, at `price` or better. What finds nobody at once waits in the book.
struct Limit {
  std::uint64_t id = 0;  // The gateway that sent it, and how many that had sent before.
  std::uint32_t trader = 0;
  Side side = Side::buy;
  std::uint32_t price = 0;
  std::uint32_t quantity = 0;

  friend bool operator==(const Limit&, const Limit&) = default;
};

// Takes back what is left of an order of the same trader. Too late if nothing is.
struct Cancel {
  std::uint64_t id = 0;
  std::uint32_t trader = 0;

  friend bool operator==(const Cancel&, const Cancel&) = default;
};

using Order = std::variant<Limit, Cancel>;

// Always at the price of the one who waited.
struct Trade {
  std::uint64_t waited = 0;  // The order that was in the book.
  std::uint64_t came = 0;    // The order that met it.
  std::uint32_t buyer = 0;
  std::uint32_t seller = 0;
  std::uint32_t price = 0;
  std::uint32_t quantity = 0;

  friend bool operator==(const Trade&, const Trade&) = default;
};

// To the two traders of a trade, one each.
struct Fill {
  std::uint64_t order = 0;
  Side side = Side::buy;
  std::uint32_t price = 0;
  std::uint32_t quantity = 0;
};

// To the trader who took an order back. Of zero: it was too late.
struct Cancelled {
  std::uint64_t order = 0;
  std::uint32_t quantity = 0;
};

// To the ticker.
struct Print {
  std::uint32_t instrument = 0;
  std::uint64_t number = 0;  // Of the instrument's trades, from 1 on.
  std::uint32_t price = 0;
  std::uint32_t quantity = 0;
};

}  // namespace order_book
