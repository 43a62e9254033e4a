#include "check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "order_stream.hpp"

namespace order_book {

namespace {

// What the slow book makes of a journal.
struct Expected {
  std::vector<Trade> trades;
  std::vector<Limit> book;
};

// Every trader's account, by the slow book; and that of each.
class Replay {
 public:
  explicit Replay(std::uint64_t traders) : accounts_(traders) {}

  Expected run(const std::vector<Order>& journal) {
    Expected expected;
    SlowBook book;
    for (const Order& order : journal) {
      if (const auto* const cancel = std::get_if<Cancel>(&order)) {
        accounts_[cancel->trader].cancelled += book.cancel(*cancel);
      } else {
        book.add(std::get<Limit>(order), expected.trades);
      }
    }
    for (const Trade& each : expected.trades) {
      accounts_[each.buyer].add({0, Side::buy, each.price, each.quantity});
      accounts_[each.seller].add({0, Side::sell, each.price, each.quantity});
    }
    expected.book = book.waiting();
    return expected;
  }

  const std::vector<Account>& accounts() const { return accounts_; }

 private:
  std::vector<Account> accounts_;
};

// Those of one gateway must stand in the journal in the order it has sent them. Its limit orders are numbered.
bool is_in_order(const std::vector<Order>& journal, std::uint64_t gateways) {
  std::vector<std::uint64_t> least(gateways);
  for (const Order& order : journal) {
    const auto* const limit = std::get_if<Limit>(&order);
    if (limit == nullptr) continue;
    auto& next = least[OrderStream::gateway_of(limit->id)];
    if (limit->id < next) return false;
    next = limit->id + 1;
  }
  return true;
}

}  // namespace

Totals check(const Exchange& exchange, const Options& options, const Sent& sent) {
  Totals totals;
  const auto wrong = [&](std::string what) {
    if (totals.mistake.empty()) totals.mistake = std::move(what);
  };
  Replay replay(options.traders);
  for (std::size_t i = 0; i < options.instruments; ++i) {
    const InstrumentRecord& record = exchange.instrument(i);
    const Expected expected = replay.run(record.journal);
    if (record.trades != expected.trades) wrong(fmt::format("the trades of instrument {}", i));
    if (record.book != expected.book) wrong(fmt::format("the book of instrument {}", i));
    if (!is_in_order(record.journal, options.gateways)) {
      wrong(fmt::format("instrument {} has got a gateway's orders out of order", i));
    }
    if (record.untold > 0) wrong(fmt::format("instrument {} could not tell everything", i));
    if (exchange.tape().last[i].number != record.trades.size()) {
      wrong(fmt::format("the ticker has not heard of all trades of instrument {}", i));
    }
    totals.handled += record.journal.size();
    totals.trades += record.trades.size();
    totals.waiting += record.book.size();
  }
  for (std::size_t i = 0; i < options.traders; ++i) {
    if (exchange.account(i) != replay.accounts()[i]) {
      wrong(fmt::format("the account of trader {}", i));
    }
  }
  if (!exchange.tape().is_in_order) wrong("the ticker has heard of trades out of order");
  if (exchange.tape().trades != totals.trades) wrong("the number of trades on the ticker");
  if (totals.handled != sent.accepted) wrong("not every accepted order was handled");
  if (sent.refused > 0) wrong("orders were refused");
  return totals;
}

}  // namespace order_book
