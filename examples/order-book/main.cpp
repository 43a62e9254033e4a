// An exchange with an actor for each instrument: each has its book to itself, and needs no lock. Afterwards every trade and every book is compared with
// those of a slow, simple exchange that was given the same orders. See README.md.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "check.hpp"
#include "exchange.hpp"
#include "handoff/signals.hpp"
#include "handoff/waits.hpp"
#include "order_stream.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;
using order_book::Exchange;
using order_book::Options;
using order_book::OrderStream;
using order_book::Sent;
using order_book::Totals;

struct Counters {
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
};

// Sends its share of the orders, and waits where an instrument cannot follow.
void run_gateway(Exchange& exchange, const Options& options, std::uint64_t number,
                 Counters& counters, const std::stop_token& stop) {
  handoff::name_this_thread("gateway");
  OrderStream stream(number, static_cast<std::uint32_t>(options.instruments),
                     static_cast<std::uint32_t>(options.traders));
  for (auto i = number; i < options.orders; i += options.gateways) {
    const auto [instrument, order] = stream.next();
    const auto sent = exchange.send(instrument, order, stop);
    if (sent) {
      counters.accepted.fetch_add(1, std::memory_order_relaxed);  // A counter.
    } else if (sent.error() == handoff::Refusal::stopped) {
      return;
    } else {
      ++counters.refused;  // The instrument was halted.
    }
  }
}

struct Outcome {
  Sent sent;
  Totals totals;
  handoff::Duration took{};
  handoff::Duration check_took{};
};

Outcome run(const Options& options, Counters& counters, const std::stop_token& stop) {
  Exchange exchange(options);
  const auto began = handoff::now();
  {
    std::vector<std::jthread> gateways;
    for (std::uint64_t i = 0; i < options.gateways; ++i) {
      gateways.emplace_back([&, i] { run_gateway(exchange, options, i, counters, stop); });
    }
  }
  const std::string wrong = exchange.close();
  Outcome outcome;
  outcome.took = handoff::now() - began;
  outcome.sent = {.accepted = counters.accepted, .refused = counters.refused};
  outcome.totals = check(exchange, options, outcome.sent);
  if (!wrong.empty()) outcome.totals.mistake = wrong;
  outcome.check_took = handoff::now() - began - outcome.took;
  return outcome;
}

void tell(const Options& options, const Outcome& outcome) {
  const auto& [sent, totals, took, check_took] = outcome;
  const auto row = [](std::uint64_t number, std::string_view what) {
    fmt::print("  {:>10}  {}\n", for_people(number), what);
  };
  const double rate = static_cast<double>(totals.handled) /
                      std::max(1e-9, std::chrono::duration<double>(took).count());
  fmt::print("\n{} instruments, {} traders, {} gateways; mailboxes of {}, {} workers.\n\n",
             for_people(options.instruments), for_people(options.traders),
             for_people(options.gateways), for_people(options.mailbox),
             for_people(options.workers));
  row(sent.accepted, "orders accepted");
  row(totals.handled, fmt::format("orders handled, in {}: {} a second", for_people(took),
                                  for_people(static_cast<std::uint64_t>(rate))));
  row(totals.trades, "trades, each told to both traders and the ticker");
  row(totals.waiting, "orders wait in the books");
  if (totals.mistake.empty()) {
    fmt::print(
        "\nEvery trade and every book is what a slow, simple book makes of the same orders"
        " ({}).\n",
        for_people(check_took));
  } else {
    fmt::print("\nSOMETHING IS WRONG: {}\n", totals.mistake);
  }
}

bool is_right(const Options& options, const std::stop_token& stop, bool is_whole) {
  Counters counters;
  const auto outcome = run(options, counters, stop);
  tell(options, outcome);
  return outcome.totals.mistake.empty() && outcome.totals.trades > 0 &&
         (outcome.sent.accepted == options.orders) == is_whole;
}

// The rules of a book; an exchange as usual; one where everybody waits for everybody; and one that is stopped in the middle.
int self_test() {
  if (const auto wrong = order_book::check_book(); !wrong.empty()) {
    fmt::print("{}\n", wrong);
    return 1;
  }
  const bool usual = is_right({.instruments = 20, .orders = 50'000}, {}, true);
  const bool narrow = is_right(
      {.instruments = 3, .orders = 20'000, .gateways = 4, .traders = 3, .mailbox = 1}, {}, true);

  Counters counters;
  std::stop_source source;
  const std::jthread stopper([&] {
    example::SlowService pause;
    while (counters.accepted < 10'000) pause.answers_after(1ms);
    source.request_stop();
  });
  const Options endless{.instruments = 20, .orders = 1'000'000'000};
  const auto stopped = run(endless, counters, source.get_token());
  tell(endless, stopped);
  const bool is_stopped = stopped.totals.mistake.empty() && stopped.sent.accepted < endless.orders;
  return usual && narrow && is_stopped ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line("order-book",
                            "an exchange with an actor for each instrument.\n\n"
                            "Each has its book to itself, and needs no lock. Afterwards all trades "
                            "and books are compared\nwith those of a slow, simple exchange.");
  line.add("--instruments", "what is traded", options.instruments, 1, 100'000);
  line.add("--orders", "limit orders and cancels, in all", options.orders, 1, 100'000'000);
  line.add("--gateways", "threads the orders come from", options.gateways, 1, 256);
  line.add("--traders", "who sends them", options.traders, 1, 100'000);
  line.add("--mailbox", "messages that may wait for an actor", options.mailbox, 1, 1'000'000);
  line.add("--workers", "threads that run the actors", options.workers, 1, 256);
  line.add_note("Ctrl-C stops the gateways; every order that was accepted is handled and checked.");
  line.add_example("order-book", "the default: two million orders for a hundred instruments");
  line.add_example("order-book --instruments 1", "one book: one actor at work at a time");
  line.add_example("order-book --mailbox 1", "everybody waits for everybody, and nothing is lost");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return self_test();

  options.shows_ticker = true;
  Counters counters;
  const auto outcome = run(options, counters, handoff::stop_on_signals(SIGTERM, SIGINT));
  tell(options, outcome);
  return outcome.totals.mistake.empty() ? 0 : 1;
}
