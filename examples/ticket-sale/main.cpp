// 800 people a second want one of 5,000 tickets, and we had planned for 600. The queue is sized for the plan; who finds no
// place within 100 ms is told to try again later, and everybody is told exactly one thing. See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "handoff/signals.hpp"
#include "handoff/sizing.hpp"
#include "handoff/waits.hpp"
#include "sale.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/stop_when_busy.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;
using example::share;
using example::Terminal;
using ticket_sale::Answer;
using ticket_sale::Options;
using ticket_sale::Sale;

// Threads of the web server: enough for those who wait for a place at the same time.
std::uint64_t web_threads(const Options& options) {
  return std::min<std::uint64_t>(512, 8 + options.peak * 3 / 20);
}

// Every `step`-th buyer from `first` on, each at his time.
void serve_some(Sale& sale, const Options& options, handoff::TimePoint began, std::uint64_t first,
                std::uint64_t step, const std::stop_token& stop) {
  handoff::name_this_thread("web server");
  example::SlowService network;
  for (auto buyer = first; buyer < options.buyers(); buyer += step) {
    const auto comes = began + handoff::Duration(1s) * static_cast<std::int64_t>(buyer) /
                                   static_cast<std::int64_t>(options.peak);
    if (!network.answers_at(comes, stop)) return;
    sale.serve(buyer, stop);
  }
}

void show(const Sale& sale, const Options& options, handoff::Duration elapsed, bool stopping,
          Terminal& terminal) {
  const auto queued = sale.pool().queued;
  const auto left = sale.tickets_left();
  if (terminal.mode() == Terminal::Mode::lines) {
    fmt::print("{:>7}  came {:>6}  in line {:>5}  tickets left {:>5}  try again later {:>5}\n",
               for_people(elapsed), sale.came(), queued, left, sale.told(Answer::try_later));
    std::fflush(stdout);
  }
  if (terminal.mode() != Terminal::Mode::panel) return;
  if (stopping) terminal.restore();  // A second Ctrl-C may come at any time.
  const auto count = [](std::uint64_t number) { return fmt::format("{:>7}", for_people(number)); };
  constexpr std::size_t width = 40;
  const double full = share(queued, options.capacity());
  const auto in_line = terminal.bar(full, width);
  terminal.draw(
      {fmt::format("{}  {:>7}  {}", terminal.bold("A ticket sale"), for_people(elapsed),
                   stopping                         ? terminal.yellow("stopping")
                   : sale.came() < options.buyers() ? terminal.red("everybody comes")
                                                    : terminal.yellow("serving those in line")),
       "",
       fmt::format("  in line       {} {} of {}",
                   full > 0.99 ? terminal.red(in_line) : terminal.yellow(in_line), count(queued),
                   for_people(options.capacity())),
       fmt::format("  tickets left  {} {} of {}",
                   terminal.green(terminal.bar(share(left, options.tickets), width)), count(left),
                   for_people(options.tickets)),
       "", fmt::format("  came             {}", count(sale.came())),
       fmt::format("  got a ticket     {}", count(sale.told(Answer::ticket))),
       fmt::format("  card declined    {}", count(sale.told(Answer::declined))),
       fmt::format("  sold out         {}", count(sale.told(Answer::sold_out))),
       fmt::format("  try again later  {}", count(sale.told(Answer::try_later)))});
}

void watch(const Sale& sale, const Options& options, const std::stop_token& stop,
           Terminal& terminal) {
  example::SlowService next_picture;
  const auto began = handoff::now();
  bool goes_on = true;
  while (goes_on && sale.told() < options.buyers()) {
    show(sale, options, handoff::now() - began, false, terminal);
    goes_on = next_picture.answers_after(
        terminal.mode() == Terminal::Mode::silent ? 20ms : terminal.time_between_pictures(), stop);
  }
  show(sale, options, handoff::now() - began, !goes_on, terminal);
}

void tell(Sale& sale, const Options& options, const handoff::ShutdownReport& report,
          const Terminal& terminal) {
  const auto capacity = options.capacity();
  fmt::print(
      "\nThe plan: {} buyers a second for {} s, {:.0f} of them served meanwhile: a queue of {}.\n"
      "The last in it waits for {}. Then {} a second came.\n\n",
      for_people(options.planned), options.seconds, options.drain_rate().per_second,
      for_people(capacity), for_people(handoff::waiting_time(capacity, options.drain_rate())),
      for_people(options.peak));
  const auto row = [&](std::string_view what, Answer answer) {
    const auto told = sale.told(answer);
    if (told == 0) return;
    fmt::print("  {:>7}  {:<16} half were told within {:>6}, the last after {:>6}\n",
               for_people(told), what, for_people(sale.waited(answer, 0.5)),
               for_people(sale.waited(answer, 1)));
  };
  fmt::print("  {:>7}  came\n", for_people(sale.came()));
  row("got a ticket", Answer::ticket);
  row("card declined", Answer::declined);
  row("sold out", Answer::sold_out);
  row("try again later", Answer::try_later);
  row("sale stopped", Answer::sale_stopped);
  if (!report.is_complete()) fmt::print("\nThe pool's report: {}\n", to_string(report));
  const auto mistake = sale.mistake();
  fmt::print("\n{}\n", mistake.empty()
                           ? terminal.green("No ticket was sold twice, and everybody who came was "
                                            "told one thing.")
                           : terminal.red(fmt::format("SOMETHING IS WRONG: {}", mistake)));
}

// False if a ticket or a buyer is not accounted for.
bool run(Sale& sale, const Options& options, const std::stop_token& stop, Terminal& terminal) {
  std::vector<std::jthread> web;
  const auto threads = web_threads(options);
  const auto began = handoff::now();
  for (std::uint64_t i = 0; i < threads; ++i) {
    web.emplace_back([&, i] { serve_some(sale, options, began, i, threads, stop); });
  }
  watch(sale, options, stop, terminal);
  web.clear();  // Joins them: nobody comes any more.
  const auto report = sale.end(stop);
  tell(sale, options, report, terminal);
  return sale.mistake().empty();
}

// A sale to the end that more people come to than were planned for, and one that is stopped in the middle.
int self_test() {
  Terminal silent(Terminal::Mode::silent);
  const Options options{.tickets = 60, .planned = 120, .peak = 1'000, .seconds = 0.5, .workers = 2};
  Sale whole(options);
  const bool whole_is_right = run(whole, options, {}, silent);
  const bool all_answers = whole.told(Answer::ticket) > 0 && whole.told(Answer::try_later) > 0 &&
                           whole.told() == options.buyers() &&
                           whole.pool().high_water <= options.capacity();

  std::stop_source source;
  const std::jthread stopper([&] { example::stop_when_busy(source, 200); });
  const Options slow{.tickets = 150, .planned = 500, .peak = 1'000, .seconds = 1, .workers = 1};
  Sale stopped(slow);
  const bool stopped_is_right = run(stopped, slow, source.get_token(), silent);
  return whole_is_right && all_answers && stopped_is_right && stopped.told(Answer::sale_stopped) > 0
             ? 0
             : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "ticket-sale",
      "more people want tickets than we had planned for.\n\n"
      "The queue is sized for the plan. Who finds no place in it within 100 ms "
      "is told to try\nagain later.");
  line.add("--tickets", "tickets to sell", options.tickets, 1, 1'000'000);
  line.add("--planned", "buyers a second we are ready for", options.planned, 1, 100'000);
  line.add("--peak", "buyers a second who come", options.peak, 1, 3'000);
  line.add("--seconds", "how long they come", options.seconds, 0.1, 600);
  line.add("--workers", "threads that sell", options.workers, 1, 256);
  line.add("--payment", "milliseconds that a payment takes", options.milliseconds, 1, 10'000);
  line.add_note(
      "Ctrl-C stops the sale: who is in line is told so, and every ticket is accounted for.\n"
      "Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.");
  line.add_example("ticket-sale", "the default: about thirteen seconds");
  line.add_example("ticket-sale --planned 800", "planned well: nobody is told to try again later");
  line.add_example("ticket-sale --tickets 1000", "few tickets: sold out, and told so at once");
  line.add_example("ticket-sale --workers 16", "more workers: no queue");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return self_test();

  const auto stop = handoff::stop_on_signals(SIGTERM, SIGINT);
  Terminal terminal(Terminal::best_mode(72, 12));
  Sale sale(options);
  return run(sale, options, stop, terminal) ? 0 : 1;
}
