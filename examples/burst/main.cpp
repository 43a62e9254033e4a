// A marketing e-mail sends 50,000 clicks in half a second at workers that do 4,000 a second. A bounded
// queue stands between them: what fits waits its turn, what does not is refused at once, and at the end every click
// is accounted for. See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/queue.hpp"
#include "handoff/waits.hpp"
#include "options.hpp"
#include "screen.hpp"
#include "stop_on_signal.hpp"

namespace {

using namespace std::chrono_literals;
using burst::for_people;
using burst::Options;
using burst::Screen;

struct Click {
  std::uint64_t visitor;
  handoff::TimePoint arrived;
};

// What happened in one run. Nothing is lost if accepted == processed + handed_back.
struct Outcome {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t processed = 0;
  std::uint64_t handed_back = 0;
  handoff::Stats queue;
  handoff::Duration elapsed{};
  handoff::Duration longest_wait{};
  std::uint64_t most_resident = 0;  // Bytes.
  bool stopped = false;

  bool nothing_lost() const {
    return accepted == processed + handed_back && accepted == queue.puts &&
           refused == queue.refused && queue.high_water <= queue.capacity;
  }
};

// Stands for a service that takes its time: the caller sleeps until the answer is due.
class SlowService {
 public:
  void answers_at(handoff::TimePoint due) { (void)answer_.wait({.deadline = due}); }

 private:
  handoff::Event answer_{{.name = "slow service"}};  // Never set: only the deadline ends the wait.
};

// The web server's threads offer clicks, the workers take them, and the caller's thread shows it all.
class Run {
 public:
  Run(const Options& options, Screen& screen, std::stop_token stop)
      : options_(options), screen_(screen), stop_(std::move(stop)) {}

  Outcome operator()();

 private:
  void serve_visitors(std::uint64_t visitors);
  handoff::Duration work();
  handoff::Duration watch_until_workers_finish();
  burst::Picture picture();

  const Options& options_;
  Screen& screen_;
  const std::stop_token stop_;
  const handoff::TimePoint began_ = handoff::now();
  handoff::BlockingQueue<Click> clicks_{{.capacity = options_.capacity, .name = "clicks"}};
  // Each worker's last word: the longest time a click of its had waited.
  handoff::BlockingQueue<handoff::Duration> finished_{
      {.capacity = options_.workers, .name = "finished"}};
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> processed_ = 0;
  std::atomic<handoff::Duration> oldest_ = handoff::Duration{};
  std::uint64_t most_resident_ = 0;
};

// A thread of the web server. It never waits for room: a visitor gets an answer at once.
void Run::serve_visitors(std::uint64_t visitors) {
  SlowService network;
  std::uint64_t come = 0;
  while (come < visitors && !stop_.stop_requested()) {
    const std::chrono::duration<double> elapsed = handoff::now() - began_;
    const double part = std::min(1.0, elapsed / options_.seconds);
    const auto due = static_cast<std::uint64_t>(part * static_cast<double>(visitors));
    for (; come < due; ++come) {
      const auto added = clicks_.offer({.visitor = come, .arrived = handoff::now()});
      ++(added ? accepted_ : refused_);  // Refused: the visitor reads "try again later".
    }
    network.answers_at(handoff::now() + 2ms);
  }
}

// Works clicks off until the queue is closed and drained, or a stop is requested. The click in hand is finished.
handoff::Duration Run::work() {
  SlowService database;
  const auto time_per_click = std::chrono::duration_cast<handoff::Duration>(
      1s * static_cast<double>(options_.workers) / static_cast<double>(options_.rate));
  auto due = handoff::now();
  handoff::Duration longest_wait{};
  while (const auto click = clicks_.take({.stop = stop_})) {
    const auto taken = handoff::now();
    oldest_ = taken - click->arrived;
    longest_wait = std::max(longest_wait, taken - click->arrived);
    due = std::max(due + time_per_click, taken - 10ms);  // Makes up for waking late, within reason.
    database.answers_at(due);
    ++processed_;
  }
  return longest_wait;
}

Outcome Run::operator()() {
  handoff::Duration longest_wait{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i <= options_.workers; ++i) {
      threads.emplace_back([this, i] {
        handoff::name_this_thread(fmt::format("worker {}", i));
        (void)finished_.put(work());  // Cannot be refused: there is room for every worker.
      });
    }
    threads.emplace_back([this] {
      const auto half = options_.clicks / 2;
      std::jthread first([&] { serve_visitors(half); });
      serve_visitors(options_.clicks - half);
      first.join();
      clicks_.close();  // Nobody adds any more. The workers end once they have drained it.
    });
    longest_wait = watch_until_workers_finish();
  }

  const auto left = clicks_.drain();  // Accepted, but nobody got to them: they are ours again.
  auto last = picture();
  last.is_over = true;
  screen_.show(last);
  return {.accepted = accepted_,
          .refused = refused_,
          .processed = processed_,
          .handed_back = left.size(),
          .queue = clicks_.stats(),
          .elapsed = last.elapsed,
          .longest_wait = longest_wait,
          .most_resident = most_resident_,
          .stopped = stop_.stop_requested()};
}

handoff::Duration Run::watch_until_workers_finish() {
  handoff::Duration longest_wait{};
  screen_.show(picture());
  for (std::size_t done = 0; done < options_.workers;) {
    if (const auto waited = finished_.poll(screen_.time_between_pictures())) {
      longest_wait = std::max(longest_wait, *waited);
      ++done;
    } else {
      screen_.show(picture());
    }
  }
  return longest_wait;
}

burst::Picture Run::picture() {
  const auto resident = burst::resident_bytes();
  most_resident_ = std::max(most_resident_, resident);
  const auto waiting = clicks_.size();
  const std::chrono::duration<double> estimate(static_cast<double>(waiting) /
                                               static_cast<double>(options_.rate));
  return {.elapsed = handoff::now() - began_,
          .clicks = options_.clicks,
          .accepted = accepted_,
          .refused = refused_,
          .processed = processed_,
          .waiting = waiting,
          .capacity = clicks_.capacity(),
          .oldest = oldest_,
          .estimate = std::chrono::duration_cast<handoff::Duration>(estimate),
          .resident = resident,
          .stopping = stop_.stop_requested()};
}

void tell(const Options& options, const Outcome& outcome, const Screen& screen) {
  const auto number = [](std::uint64_t value) { return fmt::format("{:>9}", for_people(value)); };
  fmt::print("\n");
  if (outcome.stopped) {
    fmt::print("You stopped it after {}.\n", for_people(outcome.elapsed));
  } else {
    fmt::print("{} clicks came in {}; the workers do {} a second. It took {}.\n",
               for_people(options.clicks),
               for_people(std::chrono::duration_cast<handoff::Duration>(options.seconds)),
               for_people(options.rate), for_people(outcome.elapsed));
  }
  fmt::print("{} were accepted. The queue never held more than {}.\n", number(outcome.accepted),
             for_people(static_cast<std::uint64_t>(outcome.queue.high_water)));
  fmt::print("{} found it full and were told at once to try again later.\n",
             number(outcome.refused));
  fmt::print("{} were processed. The longest wait was {}.\n", number(outcome.processed),
             for_people(outcome.longest_wait));
  if (outcome.handed_back > 0) {
    fmt::print("{} were still queued and were handed back.\n", number(outcome.handed_back));
  }
  fmt::print("The process never held more than {} of memory.\n\n",
             burst::mebibytes(outcome.most_resident));

  const auto sum =
      fmt::format("{} accepted = {} processed + {} handed back", for_people(outcome.accepted),
                  for_people(outcome.processed), for_people(outcome.handed_back));
  fmt::print("{}\n", outcome.nothing_lost() ? screen.green("Nothing was lost: " + sum)
                                            : screen.red("THE COUNTS DO NOT AGREE: " + sum + "?"));
}

// For ctest: one run to the end, and one that is stopped half-way.
int self_test() {
  Screen silent(Screen::Mode::silent);
  const Options options{
      .clicks = 5'000, .seconds = 100ms, .capacity = 2'000, .workers = 4, .rate = 4'000};
  const auto whole = Run(options, silent, {})();
  tell(options, whole, silent);
  const bool all_done = whole.handed_back == 0 && whole.accepted + whole.refused == options.clicks;

  std::stop_source source;
  SlowService patience;
  const std::jthread stopper([&] {
    patience.answers_at(handoff::now() + 200ms);
    source.request_stop();
  });
  const Options slow{
      .clicks = 5'000, .seconds = 100ms, .capacity = 2'000, .workers = 4, .rate = 100};
  const auto stopped = Run(slow, silent, source.get_token())();
  tell(slow, stopped, silent);

  const bool rest_came_back = stopped.handed_back > 0 || stopped.accepted == stopped.processed;
  const bool nothing_lost = whole.nothing_lost() && stopped.nothing_lost();
  return nothing_lost && all_done && rest_came_back ? 0 : 1;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string_view> arguments(values + 1, values + count);
  const auto options = burst::parse(arguments);
  if (!options) {
    fmt::print(stderr, "burst: {}\nTry: burst --help\n", options.error());
    return 2;
  }
  if (options->help) {
    fmt::print("{}", burst::help_text());
    return 0;
  }
  if (options->test) return self_test();

  const burst::StopOnSignal stop_on_signal;
  Screen screen(Screen::best_mode());
  const auto outcome = Run(*options, screen, stop_on_signal.token())();
  tell(*options, outcome, screen);
  return outcome.nothing_lost() ? 0 : 1;
}
