// Three mirrors are asked at once. The first answer wins, the others are cancelled, and nothing is left over. See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/signals.hpp"
#include "handoff/sync_wait.hpp"
#include "mirror.hpp"
#include "poller.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;
using example::Terminal;
using fan_out::Client;
using fan_out::Ending;
using fan_out::Fetched;
using fan_out::Mirror;
using fan_out::Poller;

struct Options {
  std::uint64_t mirrors = 3;
  std::uint64_t requests = 20;
  std::uint64_t seed = 1;
  std::uint64_t milliseconds = 120;  // What a mirror takes at most.
};

// What became of all pages, counted.
struct Totals {
  std::uint64_t pages = 0;
  std::uint64_t won = 0;
  std::uint64_t stopped = 0;  // Nobody had answered before we were asked to stop.
  std::uint64_t still_asked = 0;
  std::vector<std::array<std::uint64_t, fan_out::endings>> asked;  // By mirror.
  std::vector<std::uint64_t> first;                                // By mirror.

  void add(const Fetched& fetched) {
    ++pages;
    won += fetched.has_winner;
    stopped += fetched.was_stopped;
    still_asked += fetched.still_asked;
    for (std::size_t i = 0; i < fetched.asked.size(); ++i) {
      ++asked[i][static_cast<std::size_t>(fetched.asked[i])];
    }
    if (fetched.has_winner) ++first[fetched.winner];
  }
  std::uint64_t ended(std::size_t mirror, Ending how) const {
    return asked[mirror][static_cast<std::size_t>(how)];
  }
};

std::deque<Mirror> mirrors_of(const Options& options, Poller& poller) {
  std::deque<Mirror> mirrors;  // They cannot be moved.
  for (std::uint64_t i = 0; i < options.mirrors; ++i) {
    mirrors.emplace_back(
        fan_out::MirrorOptions{.seed = options.seed,
                               .number = i + 1,
                               .longest = std::chrono::milliseconds(options.milliseconds),
                               .is_broken = i + 1 == options.mirrors},
        poller);
  }
  return mirrors;
}

// -- What people see ------------------------------------------------------------------------------

void tell_heading(const Options& options) {
  fmt::print("{:>6}  {:>8}", "page", "after");
  for (std::uint64_t i = 1; i <= options.mirrors; ++i)
    fmt::print("  {:<11}", fmt::format("mirror {}", i));
  fmt::print("\n");
}

void tell_one(const Fetched& fetched, const Terminal& terminal) {
  fmt::print("{:>6}  {:>8}", fetched.page, for_people(fetched.took));
  for (std::size_t i = 0; i < fetched.asked.size(); ++i) {
    const bool is_first = fetched.has_winner && fetched.winner == i;
    switch (fetched.asked[i]) {
      case Ending::answered:
        fmt::print("  {}", terminal.green(fmt::format("{:<11}", is_first ? "FIRST" : "too late")));
        break;
      case Ending::cancelled: fmt::print("  {:<11}", "cancelled"); break;
      case Ending::failed: fmt::print("  {}", terminal.red(fmt::format("{:<11}", "failed"))); break;
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void tell_totals(const Totals& totals, const std::deque<Mirror>& mirrors) {
  fmt::print("\n{:<10} {:>6} {:>9} {:>10} {:>7}     {:>9} {:>8}\n", "", "first", "too late",
             "cancelled", "failed", "it told", "hung up");
  for (std::size_t i = 0; i < mirrors.size(); ++i) {
    fmt::print("{:<10} {:>6} {:>9} {:>10} {:>7}     {:>9} {:>8}\n", fmt::format("mirror {}", i + 1),
               totals.first[i], totals.ended(i, Ending::answered) - totals.first[i],
               totals.ended(i, Ending::cancelled), totals.ended(i, Ending::failed),
               mirrors[i].answered(), mirrors[i].hung_up());
  }
}

// -- What must hold -------------------------------------------------------------------------------

// What is wrong, or nothing. Once all has ended.
std::string mistake(const Totals& totals, const Client& client, const std::deque<Mirror>& mirrors,
                    std::size_t coroutines_left) {
  if (totals.won + totals.stopped != totals.pages) return "a page has no answer";
  if (totals.still_asked != 0) return "a cancelled asking went on after its page was there";
  if (client.asked_now() != 0) return "somebody is still asked";
  if (coroutines_left != 0) return fmt::format("{} coroutines are left over", coroutines_left);
  std::uint64_t came = 0;
  for (std::size_t i = 0; i < mirrors.size(); ++i) {
    const auto& asked = totals.asked[i];
    if (asked[0] + asked[1] + asked[2] != totals.pages) return "an asking has not ended";
    if (mirrors[i].left() != mirrors[i].came()) return "a mirror has lost a guest";
    came += mirrors[i].came();
  }
  // Who is cancelled while the connection comes about may or may not be seen by the mirror.
  if (came < client.connected() || came > client.dialled()) return "a connection is missing";
  return {};
}

// The mirrors learn a little later than the client that somebody has hung up.
bool all_guests_have_left(const std::deque<Mirror>& mirrors, const Client& client) {
  std::uint64_t came = 0;
  std::uint64_t left = 0;
  for (const auto& mirror : mirrors) {
    came += mirror.came();
    left += mirror.left();
  }
  return came >= client.connected() && left == came;
}

// -- The run --------------------------------------------------------------------------------------

// How far it has come, for those who look from outside.
using Progress = std::atomic<std::uint64_t>;

// False if something is not accounted for.
bool run(const Options& options, const std::stop_token& stop, const Terminal& terminal,
         Progress& pages_done) {
  const auto sockets_before = fan_out::Socket::open();
  std::string wrong;
  {
    Poller poller;
    handoff::WorkerPool pool{{.workers = 2, .capacity = 64, .name = "mirrors"}};
    auto mirrors = mirrors_of(options, poller);
    Client client(mirrors, poller);
    Totals totals;
    totals.asked.resize(mirrors.size());
    totals.first.resize(mirrors.size());

    // The mirrors do not end by our Ctrl-C: they end when the last guest has left.
    handoff::Scope serving(std::stop_token(), {.name = "mirrors"});
    for (auto& mirror : mirrors) {
      if (!serving.spawn(pool, mirror.serve(serving))) return false;
    }
    const bool is_silent = terminal.mode() == Terminal::Mode::silent;
    if (!is_silent) tell_heading(options);
    handoff::sync_wait(client.fetch_all(options.requests,
                                        [&](const Fetched& fetched) {
                                          totals.add(fetched);
                                          ++pages_done;
                                          if (!is_silent) tell_one(fetched, terminal);
                                        }),
                       stop);

    example::SlowService pause;
    const auto end = handoff::now() + 10s;
    while (!all_guests_have_left(mirrors, client) && handoff::now() < end) pause.answers_after(1ms);
    serving.request_stop();
    serving.join();
    pool.shutdown(handoff::finish_within(10s));
    tell_totals(totals, mirrors);
    if (stop.stop_requested()) {
      fmt::print("\nYou stopped it after {} of {} pages.\n", totals.pages, options.requests);
    }
    wrong = mistake(totals, client, mirrors, pool.stats().coroutines);
  }
  if (wrong.empty() && fan_out::Socket::open() != sockets_before) wrong = "a socket is left open";
  fmt::print("\n{}\n", wrong.empty()
                           ? terminal.green("Every page came once. Whoever was too slow has been "
                                            "cancelled: no asking, coroutine or\nsocket is left.")
                           : terminal.red(fmt::format("SOMETHING IS WRONG: {}", wrong)));
  return wrong.empty();
}

// A run to the end, and one that is stopped in the middle.
int self_test() {
  const Terminal silent(Terminal::Mode::silent);
  Progress whole_pages = 0;
  const Options options{.mirrors = 4, .requests = 40, .milliseconds = 20};
  const bool whole_is_right = run(options, {}, silent, whole_pages) && whole_pages == 40;

  std::stop_source source;
  Progress pages = 0;
  const std::jthread stopper([&] {
    example::SlowService pause;
    const auto end = handoff::now() + 1min;
    while (pages < 3 && handoff::now() < end) pause.answers_after(1ms);
    source.request_stop();
  });
  const Options long_one{.requests = 100'000, .milliseconds = 20};
  const bool stopped_is_right = run(long_one, source.get_token(), silent, pages) && pages < 100'000;
  return whole_is_right && stopped_is_right ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "fan-out",
      "several mirrors are asked at once, and the first answer wins.\n\n"
      "The mirrors are real servers on this machine, each with delays of its own; the last of "
      "them\nis broken. Whoever is too slow is cancelled, and it is checked that nothing is left "
      "over.");
  line.add("--mirrors", "mirrors to ask, of which the last is broken", options.mirrors, 2, 16);
  line.add("--requests", "pages to fetch, one after the other", options.requests, 1, 1'000'000);
  line.add("--seed", "for the delays of the mirrors", options.seed, 0, 1'000'000'000);
  line.add("--longest", "milliseconds that a mirror takes at most", options.milliseconds, 1,
           60'000);
  line.add_note(
      "Ctrl-C stops it: the askings of the moment are cancelled, and everything is accounted for.\n"
      "Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.");
  line.add_example("fan-out", "the default: about a second");
  line.add_example("fan-out --mirrors 8", "more mirrors: a faster first answer");
  line.add_example("fan-out --mirrors 2", "one that works, and one that is broken");
  line.add_example("fan-out --requests 1000 --longest 5", "many pages, soon there");
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
  Progress pages = 0;
  return run(options, stop, terminal, pages) ? 0 : 1;
}
