#include "sale.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace ticket_sale {

using namespace std::chrono_literals;

Sale::Sale(const Options& options)
    : options_(options),
      buyers_(options.buyers()),
      times_sold_(options.tickets),
      tickets_({.capacity = options.tickets, .name = "tickets"}),
      pool_({.workers = options.workers, .capacity = options.capacity(), .name = "sale"}) {
  for (std::uint64_t ticket = 0; ticket < options.tickets; ++ticket) give_back(ticket);
}

void Sale::serve(std::uint64_t buyer, std::stop_token stop) {
  ++came_;
  buyers_[buyer].came = handoff::now();
  const auto posted =
      pool_.post([this, buyer](const std::stop_token& interrupted) { sell_to(buyer, interrupted); },
                 {.deadline = handoff::within(patience), .stop = std::move(stop)});
  if (posted) return;
  const bool is_late = posted.error() == handoff::Refusal::timed_out;
  tell(buyer, is_late ? Answer::try_later : Answer::sale_stopped);
}

// A ticket is in the queue or in one worker's hands, so nobody else can sell it.
void Sale::sell_to(std::uint64_t buyer, const std::stop_token& stop) {
  if (stop.stop_requested()) return tell(buyer, Answer::sale_stopped);
  const auto ticket = tickets_.poll();
  if (!ticket) return tell(buyer, Answer::sold_out);

  // Not cut short by a stop: the card may have been charged, and only the bank's answer tells.
  bank_.answers_after(std::chrono::milliseconds(options_.milliseconds));
  if (buyer % 50 == 49) {  // Every fiftieth card is declined.
    give_back(*ticket);
    return tell(buyer, Answer::declined);
  }
  ++times_sold_[*ticket];
  tell(buyer, Answer::ticket);
}

void Sale::give_back(std::uint64_t ticket) {
  if (!tickets_.offer(std::move(ticket))) throw std::logic_error("more tickets than there are");
}

void Sale::tell(std::uint64_t buyer, Answer answer) {
  ++buyers_[buyer].times_told;
  waits_[static_cast<std::size_t>(answer)].add(handoff::now() - buyers_[buyer].came);
  ++told_[static_cast<std::size_t>(answer)];
}

std::uint64_t Sale::told() const {
  return std::accumulate(told_.begin(), told_.end(), std::uint64_t{0});
}

handoff::ShutdownReport Sale::end(const std::stop_token& stop) {
  auto report = pool_.shutdown(stop.stop_requested() ? handoff::interrupt(10s)
                                                     : handoff::finish_within(10min));
  // A job that did not begin is ours again. Run with a stop it sells nothing, but its buyer gets an answer.
  for (handoff::Job& job : report.handed_back) job(stop);
  return report;
}

std::string_view Sale::mistake() const {
  const auto is_sold_twice = [](const auto& times) { return times > 1; };
  if (std::ranges::any_of(times_sold_, is_sold_twice)) return "a ticket was sold twice";
  std::uint64_t silent = 0;
  for (const Buyer& buyer : buyers_) {
    if (buyer.times_told > 1) return "a buyer was told two things";
    if (buyer.times_told == 0) ++silent;
  }
  if (silent + came_ != buyers_.size()) return "a buyer was told nothing";
  const auto sold = std::accumulate(times_sold_.begin(), times_sold_.end(), std::uint64_t{0});
  if (sold != told(Answer::ticket)) return "a buyer was promised a ticket that is not his";
  if (sold + tickets_.size() != options_.tickets) return "a ticket was lost";
  return {};
}

}  // namespace ticket_sale
