#include "exchange.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <variant>

#include "support/terminal.hpp"

namespace order_book {

using namespace std::chrono_literals;
using example::for_people;

void Account::add(const Fill& fill) {
  const std::int64_t sign = fill.side == Side::buy ? 1 : -1;
  shares += sign * std::int64_t{fill.quantity};
  money -= sign * std::int64_t{fill.quantity} * std::int64_t{fill.price};
  ++fills;
}

// -- The ticker -----------------------------------------------------------------------------------

void Ticker::on_start() {
  if (shows_) every(250ms, Show());
}

void Ticker::on(const Print& print) {
  Print& last = tape_->last[print.instrument];
  tape_->is_in_order = tape_->is_in_order && print.number == last.number + 1;
  last = print;
  ++tape_->trades;
}

void Ticker::on(Show) {
  fmt::print("{:>8}  {:>9} trades  last prices", for_people(handoff::now() - began_),
             for_people(tape_->trades));
  for (std::size_t i = 0; i < tape_->last.size() && i < 6; ++i) {
    fmt::print("  {:>4}", tape_->last[i].price);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// -- Instruments ----------------------------------------------------------------------------------

void Instrument::on(const Limit& order) {
  auto& trades = record_->trades;
  const std::size_t before = trades.size();
  record_->journal.emplace_back(order);
  book_.add(order, trades);
  for (std::size_t i = before; i < trades.size(); ++i) tell(trades[i], order.side, i + 1);
}

// A send of a handler does not wait. If a mailbox is full, the message waits in our outbox, and we take no order until it is gone. The outbox
// is larger than what one order can bring: at most `most_shares` trades.
void Instrument::tell(const Trade& trade, Side came, std::uint64_t number) {
  const bool is_bought = came == Side::buy;
  const Fill of_waiting{trade.waited, other(came), trade.price, trade.quantity};
  const Fill of_coming{trade.came, came, trade.price, trade.quantity};
  const auto& traders = listeners_->traders;
  if (!traders[trade.buyer].send(is_bought ? of_coming : of_waiting)) ++record_->untold;
  if (!traders[trade.seller].send(is_bought ? of_waiting : of_coming)) ++record_->untold;
  const Print print{number_, number, trade.price, trade.quantity};
  if (!listeners_->ticker.send(print)) ++record_->untold;
}

void Instrument::on(const Cancel& cancel) {
  record_->journal.emplace_back(cancel);
  const Cancelled cancelled{cancel.id, book_.cancel(cancel)};
  if (!listeners_->traders[cancel.trader].send(cancelled)) ++record_->untold;
}

// -- The exchange ---------------------------------------------------------------------------------

Exchange::Exchange(const Options& options)
    // A book that has failed is halted. Made anew it would be empty, and go on as if nobody had ever waited.
    : system_({.workers = options.workers,
               .name = "exchange",
               .supervision = {.directive = handoff::Directive::stop}}) {
  const handoff::MailboxOptions mailbox{.capacity = options.mailbox};
  const auto listeners = std::make_shared<Listeners>();
  for (std::uint64_t i = 0; i < options.traders; ++i) {
    accounts_.push_back(std::make_shared<Account>());
    const auto name = fmt::format("traders/{}", i);
    listeners->traders.push_back(
        system_.spawn<Trader>({.mailbox = mailbox, .name = name}, accounts_.back()));
  }
  tape_->last.resize(options.instruments);
  // It prints, which may take any time: not on a thread that others need.
  listeners->ticker = system_.spawn<Ticker>(
      {.mailbox = mailbox, .name = "ticker", .dedicated_thread = options.shows_ticker}, tape_,
      options.shows_ticker);

  for (std::uint32_t i = 0; i < options.instruments; ++i) {
    records_.push_back(std::make_shared<InstrumentRecord>());
    const auto name = fmt::format("instruments/{}", i);
    instruments_.push_back(system_.spawn<Instrument>({.mailbox = mailbox, .name = name}, i,
                                                     std::shared_ptr<const Listeners>(listeners),
                                                     records_.back()));
  }
}

std::expected<void, handoff::Refusal> Exchange::send(std::uint32_t instrument, const Order& order,
                                                     const std::stop_token& stop) {
  return std::visit(
      [&](const auto& each) { return instruments_[instrument].send(each, {.stop = stop}); }, order);
}

// First those who tell, then those who are told: an actor that is to stop takes nothing more.
std::string Exchange::close() {
  const handoff::Deadline deadline = handoff::within(30s);
  std::vector<handoff::Future<handoff::Terminated>> ends;
  for (const auto& each : instruments_) {
    ends.push_back(system_.watch(each));
    each.stop_when_drained();
  }
  std::string wrong;
  for (auto& each : ends) {
    const auto end = each.get({.deadline = deadline});
    if (!end) break;  // The report says who it is.
    if (!end->error.empty()) wrong += fmt::format("{} failed: {}\n", end->actor, end->error);
  }
  const auto report = system_.shutdown(handoff::finish_within(30s).then_interrupt());
  if (!report.is_complete()) wrong += handoff::to_string(report) + "\n";
  if (const auto lost = system_.dead_letter_count(); lost > 0) {
    wrong += fmt::format("{} messages were not delivered\n", lost);
  }
  return wrong;
}

}  // namespace order_book
