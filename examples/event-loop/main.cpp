// A server's event loop stays responsive while clients ask for heavy work, because a pool does it; without the pool it freezes.
// See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <future>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "clients.hpp"
#include "handoff/signals.hpp"
#include "server.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using event_loop::Hashes;
using event_loop::Pings;
using event_loop::Server;
using event_loop::Where;
using example::for_people;
using example::Terminal;

struct Options {
  std::string mode = "both";
  double seconds = 2;  // Of each way.
  std::uint64_t clients = 2;
  std::uint64_t rounds = 30'000'000;  // Of a hash.
  std::uint64_t workers = std::max(2U, std::thread::hardware_concurrency()) - 1;
  std::uint64_t milliseconds = 5;  // From one ping to the next.
};

struct Outcome {
  Where where{};
  Pings pings;
  Hashes hashes;
  std::uint64_t pings_during_work = 0;
  std::uint64_t computed = 0;

  // The time within which this part of the pings was answered. They are sorted.
  handoff::Duration within(double part) const {
    if (pings.took.empty()) return {};
    const auto last = static_cast<double>(pings.took.size() - 1);
    return pings.took[static_cast<std::size_t>(part * last + 0.5)];
  }
};

// -- The run --------------------------------------------------------------------------------------

// True once the run has shown what it is to show, however slow the machine is.
bool has_shown_it(const Server& server, Where where, std::uint64_t clients) {
  if (server.hashes() < 2 * clients || server.pings() == 0) return false;
  return where == Where::on_loop || server.pings_during_work() > 0;
}

// Waits for the time of the run, and until it has shown what it is to show.
void wait_for_the_end(const Server& server, Where where, const Options& options,
                      const std::stop_token& stop) {
  example::SlowService clock;
  const auto began = handoff::now();
  const auto seconds = std::chrono::duration<double>(options.seconds);
  bool goes_on = clock.answers_after(std::chrono::duration_cast<handoff::Duration>(seconds), stop);
  while (goes_on && !has_shown_it(server, where, options.clients)) {
    goes_on = handoff::now() - began < 1min && clock.answers_after(10ms, stop);
  }
}

Outcome run(Where where, const Options& options, const std::stop_token& stop) {
  Server server(where, options.workers);
  std::stop_source end;
  auto pings = std::async(std::launch::async, event_loop::send_pings, server.port(),
                          std::chrono::milliseconds(options.milliseconds), end.get_token());
  std::vector<std::future<Hashes>> heavy;
  for (std::uint64_t i = 0; i < options.clients; ++i) {
    heavy.push_back(std::async(std::launch::async, event_loop::send_hashes, server.port(),
                               options.rounds, end.get_token()));
  }
  wait_for_the_end(server, where, options, stop);
  end.request_stop();

  Outcome outcome;
  outcome.where = where;
  outcome.pings = pings.get();
  for (auto& each : heavy) {
    const Hashes hashes = each.get();
    outcome.hashes.sent += hashes.sent;
    outcome.hashes.right += hashes.right;
    outcome.hashes.busy += hashes.busy;
  }
  outcome.pings_during_work = server.pings_during_work();
  outcome.computed = server.hashes();
  std::ranges::sort(outcome.pings.took);
  return outcome;
}

// -- What people see ------------------------------------------------------------------------------

struct Class {
  std::string_view name;
  handoff::Duration below;
};
constexpr std::array classes{Class{"under 1 ms", 1ms}, Class{"under 10 ms", 10ms},
                             Class{"under 100 ms", 100ms},
                             Class{"longer", handoff::Duration::max()}};

void tell(const Outcome& outcome, const Options& options, const Terminal& terminal) {
  const bool on_pool = outcome.where == Where::on_pool;
  fmt::print("\n{}\n",
             terminal.bold(on_pool ? fmt::format("Hashes on a pool of {}", options.workers)
                                   : std::string("Hashes on the event loop itself")));
  fmt::print("  {} pings: half were answered within {}, 99 % within {}, the last after {}\n",
             for_people(outcome.pings.took.size()), for_people(outcome.within(0.5)),
             for_people(outcome.within(0.99)), for_people(outcome.within(1)));
  auto from = outcome.pings.took.begin();
  for (const auto& [name, below] : classes) {
    const auto to = std::lower_bound(from, outcome.pings.took.end(), below);
    const auto part =
        example::share(static_cast<std::uint64_t>(to - from), outcome.pings.took.size());
    const auto bar = terminal.bar(part, 50);
    fmt::print("  {:<12}  {} {:>5.1f} %\n", name,
               below <= 10ms ? terminal.green(bar) : terminal.red(bar), part * 100);
    from = to;
  }
  fmt::print("  {} hashes meanwhile; {} pings were answered while one was being computed\n",
             for_people(outcome.hashes.right), for_people(outcome.pings_during_work));
  std::fflush(stdout);
}

// What is wrong, or nothing. Facts, not times: a slow machine is not a mistake.
std::string mistake(const Outcome& outcome, bool was_stopped) {
  if (outcome.pings.took.size() != outcome.pings.sent) return "a ping was not answered";
  if (outcome.hashes.right + outcome.hashes.busy != outcome.hashes.sent) return "a hash is wrong";
  if (outcome.hashes.right != outcome.computed) return "a hash was computed for nobody";
  if (outcome.where == Where::on_loop && outcome.pings_during_work > 0) {
    return "one thread has done two things at once";
  }
  if (outcome.where == Where::on_pool && outcome.pings_during_work == 0 && !was_stopped) {
    return "the loop has answered nobody while the pool was at work";
  }
  return {};
}

// False if something is wrong.
bool show(const Options& options, const std::stop_token& stop, const Terminal& terminal) {
  std::string wrong;
  for (const auto where : {Where::on_pool, Where::on_loop}) {
    if (options.mode == (where == Where::on_pool ? "inline" : "pool")) continue;
    if (stop.stop_requested()) break;
    const auto outcome = run(where, options, stop);
    tell(outcome, options, terminal);
    if (wrong.empty()) wrong = mistake(outcome, stop.stop_requested());
  }
  if (stop.stop_requested()) fmt::print("\nYou stopped it.\n");
  fmt::print("\n{}\n", wrong.empty()
                           ? terminal.green("Every ping was answered, and every hash is right.")
                           : terminal.red(fmt::format("SOMETHING IS WRONG: {}", wrong)));
  return wrong.empty();
}

// Both ways, and one that is stopped in the middle.
int self_test() {
  const Terminal silent(Terminal::Mode::silent);
  const Options options{.seconds = 0.2, .rounds = 1'000'000, .workers = 1, .milliseconds = 1};
  const bool whole_is_right = show(options, {}, silent);

  std::stop_source source;
  const Options long_one{.seconds = 600, .rounds = 1'000'000, .workers = 1};
  const std::jthread stopper([&] {
    example::SlowService pause;
    pause.answers_after(100ms);
    source.request_stop();
  });
  return whole_is_right && show(long_one, source.get_token(), silent) ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "event-loop",
      "a server's event loop, with and without a pool for the heavy work.\n\n"
      "One client sends pings, others ask for hashes that keep a processor busy. Measured is how "
      "long\na ping takes: with the hashes on a worker pool, and with the hashes on the loop.");
  line.add("--mode", "where hashes are computed", options.mode, {"both", "pool", "inline"});
  line.add("--seconds", "how long each way is measured", options.seconds, 0.1, 600);
  line.add("--clients", "clients that want hashes", options.clients, 1, 16);
  line.add("--rounds", "rounds of a hash: a million take about 1 ms", options.rounds, 1'000,
           10'000'000'000);
  line.add("--workers", "threads of the pool", options.workers, 1, 256);
  line.add("--period", "milliseconds from one ping to the next", options.milliseconds, 1, 1'000);
  line.add_note(
      "Ctrl-C stops it: what was asked is still answered.\n"
      "Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.");
  line.add_example("event-loop", "both ways, two seconds each");
  line.add_example("event-loop --mode inline", "only the loop that freezes");
  line.add_example("event-loop --rounds 500000000", "long freezes");
  line.add_example("event-loop --clients 16 --workers 1", "more than the pool can do");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return self_test();

  const auto stop = handoff::stop_on_signals(SIGTERM, SIGINT);
  const Terminal terminal(Terminal::best_mode(72, 4));
  return show(options, stop, terminal) ? 0 : 1;
}
