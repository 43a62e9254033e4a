// A marketing e-mail sends 50,000 clicks in half a second at eight workers that do 100 a second. The pool's queue holds
// 1,000: what fits waits its turn, what does not is refused at once, and at the end every click is accounted for. Beside
// it the same burst meets a queue without a limit. See README.md.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "handoff/signals.hpp"
#include "handoff/sizing.hpp"
#include "options.hpp"
#include "run.hpp"
#include "screen.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/stop_when_busy.hpp"
#include "support/terminal.hpp"
#include "unbounded.hpp"

namespace {

using namespace std::chrono_literals;
using burst::Options;
using burst::Outcome;
using burst::Run;
using burst::Unbounded;
using example::for_people;
using example::Terminal;

void compare(const Options& options, const Outcome& outcome) {
  const auto row = [](std::string_view what, const std::string& pool, const std::string& unbounded,
                      std::string_view remark) {
    fmt::print("  {:<22}{:>12}   {:>12}{}{}\n", what, pool, unbounded, remark.empty() ? "" : "   ",
               remark);
  };
  const auto& other = outcome.unbounded;
  const auto left = other.accepted - other.processed;
  const auto rate = handoff::per_second(static_cast<double>(options.rate));
  row("", "WorkerPool", "std::queue", "");
  row("answered at once", for_people(outcome.refused), for_people(other.capped),
      fmt::format("\"try again later\", after {} at most", for_people(outcome.longest_answer)));
  row("served", for_people(outcome.processed), for_people(other.processed), "");
  row("handed back", for_people(outcome.handed_back), "-", "");
  row("left waiting", "0", for_people(left), "nobody knows whether they still want an answer");
  row("half waited up to", for_people(outcome.half_waited), "", "of those served");
  row("the last waited", for_people(outcome.longest_wait),
      for_people(other.last_wait + handoff::waiting_time(left, rate)),
      left > 0 ? "or would have, without a limit" : "");
  row("memory at most", example::mebibytes(outcome.most_resident),
      example::mebibytes(outcome.most_resident_unbounded), "resident, the whole process");
}

void tell(const Options& options, const Outcome& outcome, const Terminal& terminal) {
  fmt::print("\n{} clicks came in {}; {} workers do {} a second.{}\n\n", for_people(options.clicks),
             for_people(options.time_of_burst()), options.workers, for_people(options.rate),
             outcome.stopped ? " You stopped it." : "");
  compare(options, outcome);
  fmt::print("\n");
  if (outcome.handed_back > 0) fmt::print("The pool's report: {}\n", outcome.report);
  const auto sum =
      fmt::format("{} accepted = {} processed + {} handed back", for_people(outcome.accepted),
                  for_people(outcome.processed), for_people(outcome.handed_back));
  fmt::print("{}\n", outcome.nothing_lost()
                         ? terminal.green("Nothing was lost: " + sum)
                         : terminal.red("THE COUNTS DO NOT AGREE: " + sum + "?"));
}

// The clicks come to the other process in its own time.
Unbounded::Look look_once_all_came(const Unbounded& unbounded, const Options& options) {
  example::SlowService pause;
  const auto end = handoff::within(1min);
  auto look = unbounded.look();
  while (look.accepted + look.capped < options.clicks && !end.has_passed()) {
    pause.answers_after(1ms);
    look = unbounded.look();
  }
  return look;
}

// A run to the end beside a queue without a limit, and one that is stopped in the middle.
int self_test() {
  const Options options{
      .clicks = 5'000, .seconds = 0.1, .capacity = 200, .rate = 1'000, .patience = 30};
  Unbounded unbounded(options);
  Terminal silent(Terminal::Mode::silent);
  auto whole = Run(options, silent, {}, &unbounded)();
  whole.unbounded = look_once_all_came(unbounded, options);
  tell(options, whole, silent);
  unbounded.end();
  const bool all_done = whole.handed_back == 0 &&
                        whole.accepted + whole.refused == options.clicks &&
                        whole.pool.finished == whole.processed;
  const bool the_other_grew = whole.unbounded.accepted > options.capacity + whole.accepted;

  std::stop_source source;
  const std::jthread stopper([&] { example::stop_when_busy(source, 50); });
  const Options slow{.clicks = 5'000, .seconds = 0.1, .capacity = 200, .rate = 20};
  const auto stopped = Run(slow, silent, source.get_token(), nullptr)();
  tell(slow, stopped, silent);

  const bool nothing_lost = whole.nothing_lost() && stopped.nothing_lost();
  return nothing_lost && all_done && the_other_grew && stopped.handed_back > 0 ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "burst",
      "a marketing e-mail goes out, and everybody clicks at once.\n\n"
      "A pool with a bounded queue takes the clicks. What fits waits its turn; what does not is\n"
      "told at once to try again later. Beside it, in another process, the same clicks meet a\n"
      "queue without a limit.");
  line.add("--clicks", "clicks that come", options.clicks, 1, 1'000'000);
  line.add("--seconds", "how long they take to come", options.seconds, 0.01, 600);
  line.add("--capacity", "clicks that may wait in the pool", options.capacity, 1, 1'000'000);
  line.add("--workers", "threads that work them off", options.workers, 1, 256);
  line.add("--rate", "clicks all workers do in a second", options.rate, 10, 100'000);
  line.add("--payload", "KiB that a click holds while it waits", options.kibibytes, 1, 1'024);
  line.add("--cap", "MiB that the queue without a limit may hold", options.mebibytes, 1, 4'096);
  line.add("--patience", "seconds until what still waits is handed back", options.patience, 0.1,
           3'600);
  line.add_note(
      "Ctrl-C hands back what has not begun; a second one ends at once.\n"
      "Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.");
  line.add_example("burst", "the default: about eleven seconds");
  line.add_example("burst --capacity 100", "a small queue: nobody waits much longer than a second");
  line.add_example("burst --capacity 5000",
                   "a large one: 50 s of waiting, so some are handed back");
  line.add_example("burst --rate 5000", "faster workers: over in less than two seconds");
  line.add_example("burst --clicks 500 --seconds 5", "no burst at all: nobody waits");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return self_test();

  Unbounded unbounded(options);  // It forks, so before the thread that waits for signals.
  const auto stop = handoff::stop_on_signals(SIGTERM, SIGINT);
  const auto outcome = [&] {
    Terminal terminal(Terminal::best_mode(burst::Screen::columns, burst::Screen::rows));
    const auto result = Run(options, terminal, stop, &unbounded)();
    tell(options, result, terminal);
    return result;
  }();
  return outcome.nothing_lost() ? 0 : 1;
}
