// The rules of a book, one by one.
#include <fmt/core.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "book.hpp"
#include "check.hpp"
#include "order_stream.hpp"

namespace order_book {

namespace {

Limit buy(std::uint64_t id, std::uint32_t price, std::uint32_t quantity) {
  return {.id = id, .trader = 1, .side = Side::buy, .price = price, .quantity = quantity};
}
Limit sell(std::uint64_t id, std::uint32_t price, std::uint32_t quantity) {
  return {.id = id, .trader = 2, .side = Side::sell, .price = price, .quantity = quantity};
}
// Of buyer 1 and seller 2.
Trade trade(std::uint64_t waited, std::uint64_t came, std::uint32_t price, std::uint32_t quantity) {
  return {waited, came, 1, 2, price, quantity};
}

struct Rule {
  const char* name;
  std::vector<Order> orders;
  std::vector<Trade> trades;
  std::vector<Limit> waiting;  // At the end: buyers, then sellers.
};

std::vector<Rule> rules() {
  return {
      {.name = "who finds nobody waits",
       .orders = {buy(1, 99, 10), sell(2, 101, 10)},
       .trades = {},
       .waiting = {buy(1, 99, 10), sell(2, 101, 10)}},
      {.name = "prices that meet trade",
       .orders = {sell(1, 100, 10), buy(2, 100, 10)},
       .trades = {trade(1, 2, 100, 10)},
       .waiting = {}},
      {.name = "the price is that of who waited",
       .orders = {buy(1, 105, 10), sell(2, 100, 10)},
       .trades = {trade(1, 2, 105, 10)},
       .waiting = {}},
      {.name = "what is left of the one who came waits",
       .orders = {sell(1, 100, 4), buy(2, 100, 10)},
       .trades = {trade(1, 2, 100, 4)},
       .waiting = {buy(2, 100, 6)}},
      {.name = "what is left of the one who waited stays",
       .orders = {sell(1, 100, 10), buy(2, 100, 4)},
       .trades = {trade(1, 2, 100, 4)},
       .waiting = {sell(1, 100, 6)}},
      {.name = "the lowest price is bought first",
       .orders = {sell(1, 102, 5), sell(2, 101, 5), sell(3, 103, 5), buy(4, 103, 15)},
       .trades = {trade(2, 4, 101, 5), trade(1, 4, 102, 5), trade(3, 4, 103, 5)},
       .waiting = {}},
      {.name = "the highest price is sold to first",
       .orders = {buy(1, 98, 5), buy(2, 99, 5), sell(3, 98, 8)},
       .trades = {trade(2, 3, 99, 5), trade(1, 3, 98, 3)},
       .waiting = {buy(1, 98, 2)}},
      {.name = "at one price, who came first is served first",
       .orders = {sell(1, 100, 5), sell(2, 100, 5), buy(3, 100, 7)},
       .trades = {trade(1, 3, 100, 5), trade(2, 3, 100, 2)},
       .waiting = {sell(2, 100, 3)}},
      {.name = "who was served in part keeps the first place",
       .orders = {sell(1, 100, 5), sell(2, 100, 5), buy(3, 100, 2), buy(4, 100, 4)},
       .trades = {trade(1, 3, 100, 2), trade(1, 4, 100, 3), trade(2, 4, 100, 1)},
       .waiting = {sell(2, 100, 4)}},
      {.name = "nobody pays more than the limit",
       .orders = {sell(1, 100, 5), sell(2, 102, 5), buy(3, 101, 10)},
       .trades = {trade(1, 3, 100, 5)},
       .waiting = {buy(3, 101, 5), sell(2, 102, 5)}},
      {.name = "a cancelled order does not trade",
       .orders = {sell(1, 100, 5), sell(2, 100, 5), Cancel{1, 2}, buy(3, 100, 5)},
       .trades = {trade(2, 3, 100, 5)},
       .waiting = {}},
      {.name = "a cancel comes too late for what was traded",
       .orders = {sell(1, 100, 5), buy(2, 100, 3), Cancel{1, 2}, Cancel{2, 1}},
       .trades = {trade(1, 2, 100, 3)},
       .waiting = {}},
      {.name = "nobody cancels an order of another",
       .orders = {sell(1, 100, 5), Cancel{1, 1}, Cancel{9, 2}},
       .trades = {},
       .waiting = {sell(1, 100, 5)}},
  };
}

template <typename AnyBook>
struct Handled {
  AnyBook book;
  std::vector<Trade> trades;
  std::uint64_t cancelled = 0;

  void handle(const Order& order) {
    if (const auto* const cancel = std::get_if<Cancel>(&order)) {
      cancelled += book.cancel(*cancel);
    } else {
      book.add(std::get<Limit>(order), trades);
    }
  }
};

template <typename AnyBook>
bool keeps(const Rule& rule) {
  Handled<AnyBook> handled;
  for (const Order& order : rule.orders) handled.handle(order);
  return handled.trades == rule.trades && handled.book.waiting() == rule.waiting;
}

// The same random orders through both, compared after each.
bool both_books_agree(std::uint64_t seed) {
  Handled<Book> fast;
  Handled<SlowBook> slow;
  OrderStream stream(seed, 1, 5);
  for (int i = 0; i < 1'000; ++i) {
    const auto [instrument, order] = stream.next();
    fast.handle(order);
    slow.handle(order);
    const bool is_equal = fast.trades == slow.trades && fast.cancelled == slow.cancelled &&
                          fast.book.waiting() == slow.book.waiting();
    if (!is_equal) return false;
    fast.trades.clear();
    slow.trades.clear();
  }
  return true;
}

}  // namespace

std::string check_book() {
  for (const Rule& rule : rules()) {
    if (!keeps<Book>(rule)) return fmt::format("the book breaks a rule: {}", rule.name);
    if (!keeps<SlowBook>(rule)) return fmt::format("the slow book breaks a rule: {}", rule.name);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    if (!both_books_agree(seed)) return fmt::format("the books differ with seed {}", seed);
  }
  return {};
}

}  // namespace order_book
