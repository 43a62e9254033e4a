// Ten million notifications, half a million a second and no faster, in memory that does not grow. See README.md.
#include <fmt/core.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "campaign.hpp"
#include "handoff/signals.hpp"
#include "support/command_line.hpp"
#include "support/stop_when_busy.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;
using example::Terminal;
using notifications::Campaign;
using notifications::Options;
using notifications::Outcome;

void tell(const Options& options, const Outcome& outcome, const Terminal& terminal) {
  const auto row = [](const std::string& value, std::string_view what) {
    fmt::print("  {:>11}  {}\n", value, what);
  };
  fmt::print("\n");
  row(for_people(outcome.sent), fmt::format("sent, of {}", for_people(options.count)));
  row(for_people(outcome.arrived), "arrived at the gateway");
  row(for_people(static_cast<std::uint64_t>(outcome.rate())),
      fmt::format("a second on average; {} were allowed", for_people(options.rate)));
  row(for_people(outcome.elapsed), "from the first to the last");
  row(example::mebibytes(outcome.most_resident),
      fmt::format("of memory at most; {} at the beginning",
                  example::mebibytes(outcome.resident_at_first)));
  if (outcome.stopped) {
    fmt::print("\nYou stopped it. The pool's report, in packets of {}: {}\n", options.packet(),
               outcome.report);
  }
  fmt::print("\n{}\n", outcome.is_exact()
                           ? terminal.green("What was sent has arrived, each once.")
                           : terminal.red(fmt::format(
                                 "SOMETHING IS WRONG: {} arrived twice, {} packets failed",
                                 outcome.arrived_twice, outcome.failed)));
}

// No faster than allowed: in any time from the beginning at most one packet + rate x time.
bool kept_the_rate(const Options& options, const Outcome& outcome) {
  const auto seconds = std::chrono::duration<double>(outcome.elapsed).count();
  const auto allowed =
      static_cast<double>(options.packet()) + seconds * static_cast<double>(options.rate);
  return static_cast<double>(outcome.sent) <= allowed;
}

// A campaign to the end, and one that is stopped in the middle.
int self_test() {
  Terminal silent(Terminal::Mode::silent);
  const Options options{.count = 50'050, .rate = 100'000};
  const auto whole = Campaign(options, silent, {})();
  tell(options, whole, silent);
  const bool whole_is_right =
      whole.is_exact() && whole.sent == options.count && kept_the_rate(options, whole);

  std::stop_source source;
  const Options slow{.count = 1'000'000, .rate = 20};
  Campaign campaign(slow, silent, source.get_token());
  const std::jthread stopper([&] {
    const auto has_sent_some = [&] { return campaign.sent() > 0; };
    example::stop_when_busy(source, notifications::packets_waiting - 4, has_sent_some);
  });
  const auto stopped = campaign();
  tell(slow, stopped, silent);
  const bool stopped_is_right = stopped.is_exact() && stopped.sent > 0 && stopped.handed_back > 0 &&
                                kept_the_rate(slow, stopped);
  return whole_is_right && stopped_is_right ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "notifications",
      "ten million notifications at a controlled rate.\n\n"
      "They go through a real socket to a gateway, which checks that each came "
      "once. The pool\nkeeps to the rate, and its short queue keeps the memory "
      "flat.");
  line.add("--count", "notifications to send", options.count, 1, 100'000'000);
  line.add("--rate", "notifications a second", options.rate, 1, 10'000'000);
  line.add("--workers", "threads that send", options.workers, 1, 256);
  line.add_note(
      "Ctrl-C stops it: packets in hand are sent, and you are told how many were.\n"
      "Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.");
  line.add_example("notifications", "the default: twenty seconds");
  line.add_example("notifications --rate 10000000", "as fast as it goes");
  line.add_example("notifications --count 100 --rate 20", "slowly: one every 50 ms");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return self_test();

  const auto stop = handoff::stop_on_signals(SIGTERM, SIGINT);
  Terminal terminal(Terminal::best_mode(72, 4));
  const auto outcome = Campaign(options, terminal, stop)();
  tell(options, outcome, terminal);
  return outcome.is_exact() ? 0 : 1;
}
