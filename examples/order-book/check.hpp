// Whether the exchange has done what it should: against a second one, which is slow and simple.
#pragma once

#include <cstdint>
#include <string>

#include "exchange.hpp"

namespace order_book {

// What was counted on the way in.
struct Sent {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
};

struct Totals {
  std::uint64_t handled = 0;
  std::uint64_t trades = 0;
  std::uint64_t waiting = 0;  // In the books.
  std::string mistake;        // What is wrong, or nothing.
};

// Once the exchange is closed.
Totals check(const Exchange& exchange, const Options& options, const Sent& sent);

// The rules of a book one by one, and many random orders through both kinds of book. What is wrong, or nothing.
std::string check_book();

}  // namespace order_book
