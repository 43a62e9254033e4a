// 60,000 page views a second for an event store that takes 20,000. A page must not wait for its statistics, so what is too
// much is dropped and logged; and the count of what was dropped is exact. See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "event_store.hpp"
#include "handoff/log.hpp"
#include "handoff/pool.hpp"
#include "handoff/signals.hpp"
#include "handoff/waits.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/stop_when_busy.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using analytics::Event;
using analytics::EventStore;
using example::for_people;

struct Options {
  std::uint64_t views = 60'000;  // A second.
  double seconds = 3;
  std::uint64_t store = 20'000;  // What the event store takes, a second.
  std::uint64_t capacity = 2'000;
  std::string drop = "oldest";

  std::uint64_t events() const {
    return static_cast<std::uint64_t>(static_cast<double>(views) * seconds);
  }
};

constexpr std::uint64_t web_threads = 4;

class Analytics {
 public:
  explicit Analytics(const Options& options) : options_(options) {}

  // A page was viewed. Never waits; whether the event is dropped is no concern of the page.
  void view(std::uint64_t number) {
    const Event event{.number = number, .viewed = handoff::now()};
    pool_.post([this, event] { store(event); });
    ++sent_;
  }
  handoff::ShutdownReport end(const std::stop_token& stop) {
    auto report =
        pool_.shutdown(stop.stop_requested() ? handoff::interrupt() : handoff::finish_within(1min));
    store_.flush();
    return report;
  }

  std::uint64_t sent() const { return sent_; }
  std::uint64_t dropped_by_hook() const { return dropped_by_hook_; }
  handoff::PoolStats pool() const { return pool_.stats(); }
  handoff::Duration oldest() const { return oldest_; }
  const EventStore& file() const { return store_; }

 private:
  // There is one worker, so the file needs no lock.
  void store(const Event& event) {
    oldest_ = std::max(oldest_.load(), handoff::now() - event.viewed);
    store_.add(event);
  }

  const Options& options_;
  EventStore store_;
  std::atomic<std::uint64_t> sent_ = 0;
  std::atomic<std::uint64_t> dropped_by_hook_ = 0;
  std::atomic<handoff::Duration> oldest_ = handoff::Duration{};
  handoff::WorkerPool pool_{
      {.workers = 1,
       .capacity = options_.capacity,
       .when_full = options_.drop == "oldest" ? handoff::WhenFull::drop_oldest
                                              : handoff::WhenFull::drop_newest,
       .name = "analytics",
       .rate = handoff::per_second(static_cast<double>(options_.store)),
       .rate_burst = std::max<std::uint64_t>(1, options_.store / 100)},
      {.on_drop = [this](handoff::Job&) { ++dropped_by_hook_; }}};  // Of drop_oldest only.
};

// Every fourth view from `first` on, each at its time.
void serve_pages(Analytics& analytics, const Options& options, std::uint64_t first,
                 const std::stop_token& stop) {
  handoff::name_this_thread("web server");
  example::SlowService network;
  const auto began = handoff::now();
  auto next = first;
  while (next < options.events() && !stop.stop_requested()) {
    const std::chrono::duration<double> elapsed = handoff::now() - began;
    const auto due =
        static_cast<std::uint64_t>(elapsed.count() * static_cast<double>(options.views));
    for (; next < std::min(due, options.events()); next += web_threads) analytics.view(next);
    network.answers_after(2ms);
  }
}

// What the file says, compared with what the pool says.
struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t stored = 0;
  std::uint64_t dropped = 0;
  std::uint64_t handed_back = 0;
  std::uint64_t stored_of_last = 0;  // Of the last events, as many as the queue has places.
  handoff::Duration oldest{};
  bool none_twice = true;
  bool in_order = true;  // Those of one web thread.
  bool hook_agrees = true;

  bool is_exact() const {
    return sent == stored + dropped + handed_back && none_twice && in_order && hook_agrees;
  }
};

Outcome examine(const Analytics& analytics, const Options& options, std::size_t handed_back) {
  const auto pool = analytics.pool();
  Outcome outcome{.sent = analytics.sent(),
                  .dropped = pool.dropped,
                  .handed_back = handed_back,
                  .oldest = analytics.oldest()};
  const auto by_hook = options.drop == "oldest" ? pool.dropped : 0;
  outcome.hook_agrees = analytics.dropped_by_hook() == by_hook;

  std::array<std::uint64_t, web_threads> next{0, 1, 2,
                                              3};  // By web thread: no smaller number may come.
  std::vector<bool> seen(options.events());
  analytics.file().read([&](std::uint64_t number) {
    ++outcome.stored;
    outcome.none_twice = outcome.none_twice && !seen.at(number);
    seen.at(number) = true;
    outcome.in_order = outcome.in_order && number >= next[number % web_threads];
    next[number % web_threads] = number;
    if (number + options.capacity >= options.events()) ++outcome.stored_of_last;
  });
  return outcome;
}

Outcome run(const Options& options, const std::stop_token& stop) {
  Analytics analytics(options);
  {
    std::vector<std::jthread> web;
    for (std::uint64_t i = 0; i < web_threads; ++i) {
      web.emplace_back([&, i] { serve_pages(analytics, options, i, stop); });
    }
  }
  const auto report = analytics.end(stop);
  return examine(analytics, options, report.handed_back.size());
}

void tell(const Options& options, const Outcome& outcome) {
  const auto row = [](std::uint64_t number, std::string_view what) {
    fmt::print("  {:>9}  {}\n", for_people(number), what);
  };
  fmt::print("\n{} page views a second, and a store that takes {}.\n\n", for_people(options.views),
             for_people(options.store));
  row(outcome.sent, "events sent; no page waited for one");
  row(outcome.stored,
      fmt::format("stored, each once and in order, at most {} late", for_people(outcome.oldest)));
  row(outcome.dropped, options.drop == "oldest" ? "dropped: the oldest made room for the newest"
                                                : "dropped: they found the queue full");
  if (outcome.handed_back > 0) {
    row(outcome.handed_back, "handed back when it was stopped");
  } else {
    row(outcome.stored_of_last, fmt::format("stored of the last {}", for_people(options.capacity)));
  }
  fmt::print("\n{}: {} sent = {} stored + {} dropped + {} handed back\n",
             outcome.is_exact() ? "The count is exact" : "THE COUNTS DO NOT AGREE",
             for_people(outcome.sent), for_people(outcome.stored), for_people(outcome.dropped),
             for_people(outcome.handed_back));
}

// Both policies, each with more than the store takes; and one run that is stopped.
int self_test() {
  bool is_right = true;
  for (const std::string drop : {"oldest", "newest"}) {
    const Options options{.seconds = 0.3, .store = 2'000, .capacity = 100, .drop = drop};
    const auto outcome = run(options, {});
    tell(options, outcome);
    is_right = is_right && outcome.is_exact() && outcome.sent == options.events() &&
               outcome.dropped > 0 && outcome.stored >= options.capacity;
  }
  std::stop_source source;
  const std::jthread stopper([&] { example::stop_when_busy(source, 1'000); });
  const Options options{.seconds = 10, .store = 100};
  const auto outcome = run(options, source.get_token());
  tell(options, outcome);
  return is_right && outcome.is_exact() && outcome.handed_back > 0 ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "analytics",
      "more page views than the event store takes.\n\n"
      "A page must not wait for its statistics. What is too much is dropped and "
      "logged, and the\ncount of what was dropped is exact.");
  line.add("--views", "page views a second", options.views, 1, 1'000'000);
  line.add("--seconds", "how long they come", options.seconds, 0.1, 60);
  line.add("--store", "events a second the store takes", options.store, 1, 1'000'000);
  line.add("--capacity", "events that may wait", options.capacity, 1, 1'000'000);
  line.add("--drop", "what makes room", options.drop, {"oldest", "newest"});
  line.add_note(
      "Ctrl-C ends it early: what still waits is handed back, and the count is exact too.");
  line.add_example("analytics", "the default: three seconds, two of three events are dropped");
  line.add_example("analytics --drop newest", "the same, but the latest events are the ones lost");
  line.add_example("analytics --views 15000", "a store that keeps up: nothing is dropped");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  handoff::set_log([](std::string_view text) { fmt::print("log: {}\n", text); });
  if (line.is_test()) return self_test();

  const auto outcome = run(options, handoff::stop_on_signals(SIGTERM, SIGINT));
  tell(options, outcome);
  return outcome.is_exact() ? 0 : 1;
}
