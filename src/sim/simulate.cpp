#include "handoff/testing/simulate.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "handoff/detail/core/operation.hpp"
#include "sim/carrier.hpp"
#include "sim/scheduler.hpp"
#include "sim/strategy.hpp"
#include "sim/table.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail::sim;

namespace testing {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t table_lines = 200;

// What a failing run leaves behind is never freed, its threads above all: there are not too many of them.
constexpr std::size_t most_threads_left = 400;
constexpr auto longest_shortening = 10s;
constexpr unsigned most_depth = 1000;

struct Outcome {
  std::optional<std::string> failure;
  RunResult result;
  Schedule schedule;
  std::size_t threads = 0;
  std::string table;
};

// "shop.cpp:12" and more digits to come.
bool is_in_line_number(std::string_view text) {
  const auto before = text.find_last_not_of("0123456789");
  return before != text.npos && before + 1 < text.size() && text[before] == ':';
}

// Its first line without numbers, but for lines of the source: two deadlocks at different steps are the same failure.
std::string kind_of(std::string_view failure) {
  std::string kind;
  for (const char each : failure.substr(0, failure.find('\n'))) {
    const bool is_digit = each >= '0' && each <= '9';
    if (!is_digit || kind.ends_with(':') || (!kind.empty() && is_in_line_number(kind)))
      kind += each;
  }
  return kind;
}
bool is_same(std::string_view one, std::string_view other) {
  return kind_of(one) == kind_of(other);
}

class Simulation {
 public:
  Simulation(const SimulateOptions& options, const std::function<void()>& body)
      : body_(body),
        limits_{.most_steps = options.max_steps,
                .patience = options.patience,
                .faults = options.faults} {}

  Outcome run(const std::shared_ptr<detail::sim::Strategy>& strategy, bool keeps_events = false) {
    auto scheduler = std::make_unique<Scheduler>(strategy, limits_, keeps_events);
    Outcome outcome;
    outcome.result = scheduler->run(body_);
    outcome.failure = outcome.result.failure;
    outcome.schedule = scheduler->schedule();
    outcome.threads = scheduler->threads().size();
    if (keeps_events) outcome.table = table_of(*scheduler, table_lines);
    // The threads of a run that failed still stand in it.
    if (outcome.failure) static_cast<void>(scheduler.release());
    return outcome;
  }

  Outcome replay(const Schedule& schedule, std::uint64_t draws_seed, bool keeps_events = false) {
    const std::shared_ptr<detail::sim::Strategy> strategy = replay_strategy(schedule, draws_seed);
    static_cast<void>(strategy->begin_run());
    return run(strategy, keeps_events);
  }

  // Leaves out changes of threads that were not forced, many at once and then fewer, as long as it fails the same way.
  Schedule shorten(Schedule schedule, std::uint64_t draws_seed, const std::string& failure) {
    const auto end = std::chrono::steady_clock::now() + longest_shortening;
    std::size_t threads_left = 0;
    for (std::size_t chunk = schedule.changes.size(); chunk > 0; chunk /= 2) {
      for (std::size_t from = 0; from < schedule.changes.size();) {
        if (threads_left >= most_threads_left || std::chrono::steady_clock::now() > end)
          return schedule;
        Schedule without = leave_out(schedule, from, chunk);
        if (without.changes.size() == schedule.changes.size()) {
          from += chunk;
          continue;
        }
        Outcome outcome = replay(without, draws_seed);
        const bool fails = outcome.failure && is_same(*outcome.failure, failure);
        if (outcome.failure) threads_left += outcome.threads;
        if (fails && outcome.schedule.changes.size() < schedule.changes.size()) {
          schedule =
              std::move(outcome.schedule);  // As it went, which may differ from what was asked.
        } else {
          from += chunk;
        }
      }
    }
    return schedule;
  }

 private:
  static Schedule leave_out(const Schedule& schedule, std::size_t from, std::size_t count) {
    Schedule without{.changes = {}, .draws = schedule.draws};
    for (std::size_t i = 0; i < schedule.changes.size(); ++i) {
      const bool is_meant = i >= from && i < from + count;
      if (!is_meant || schedule.changes[i].is_forced)
        without.changes.push_back(schedule.changes[i]);
    }
    return without;
  }

  const std::function<void()>& body_;
  const RunLimits limits_;
};

std::atomic<std::uint64_t> schedules{0};

SimThread& this_thread(std::string_view caller) {
  if (SimThread* const self = carried_here()) return *self;
  throw std::logic_error(fmt::format("{} is for simulated threads", caller));
}

// For people who wait at a terminal.
class Progress {
 public:
  explicit Progress(std::uint64_t of) : of_(of), is_shown_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (has_shown_) fmt::print(stderr, "\r{:<40}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done) {
    if (!is_shown_ || done % 256 != 0) return;
    const auto time = std::chrono::steady_clock::now();
    if (time < next_) return;
    next_ = time + 200ms;
    has_shown_ = true;
    fmt::print(stderr, "\r{} of {} schedules ", done, of_);
  }

 private:
  const std::uint64_t of_;
  const bool is_shown_;
  bool has_shown_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + 1s;
};

void refuse(const char* what, const std::string& got, const char* allowed) {
  throw std::invalid_argument(fmt::format("simulate: {} is {}; it must be {}", what, got, allowed));
}

void refuse_nonsense(const SimulateOptions& options) {
  if (options.runs == 0) refuse("runs", "0", "1 or more");
  if (options.max_steps == 0) refuse("max_steps", "0", "1 or more");
  if (options.patience <= Duration::zero()) {
    refuse("patience", fmt::format("{} ns", options.patience.count()), "more than nothing");
  }
  const Strategy& strategy = options.strategy;
  if (strategy.kind == Strategy::Kind::pct &&
      (strategy.depth == 0 || strategy.depth > most_depth)) {
    refuse("the depth of pct", std::to_string(strategy.depth), "from 1 to 1000");
  }
  const Faults& faults = options.faults;
  for (const auto& [name, probability] : {std::pair{"faults.spurious_wake", faults.spurious_wake},
                                          {"faults.weak_failure", faults.weak_failure},
                                          {"faults.slow_thread", faults.slow_thread},
                                          {"faults.clock_jump", faults.clock_jump},
                                          {"faults.refusal", faults.refusal}}) {
    if (!(probability >= 0 && probability <= 1)) {
      refuse(name, fmt::format("{}", probability), "a probability, from 0 to 1");
    }
  }
}

// FNV-1a, number by number, on top of what came before.
std::uint64_t digest_of(const Schedule& schedule, std::uint64_t before) {
  std::uint64_t digest = before == 0 ? 0xcbf29ce484222325ULL : before;
  const auto add = [&](std::uint64_t number) { digest = (digest ^ number) * 0x100000001b3ULL; };
  for (const Change& each : schedule.changes) {
    add(each.from);
    add(each.step);
    add(each.to);
  }
  for (const std::uint64_t each : schedule.draws) add(each);
  add(schedule.changes.size());
  return digest;
}

std::unique_ptr<detail::sim::Strategy> strategy_of(const SimulateOptions& options) {
  switch (options.strategy.kind) {
    case Strategy::Kind::random: return random_strategy(options.first_seed, options.runs);
    case Strategy::Kind::pct:
      return pct_strategy(options.strategy.depth, options.first_seed, options.runs);
    case Strategy::Kind::exhaustive: break;
  }
  return exhaustive_strategy(options.strategy.depth, options.runs);
}

std::optional<std::uint64_t> seed_asked_for() {
  const char* const text = std::getenv("HANDOFF_SEED");
  if (text == nullptr || *text == '\0') return std::nullopt;
  std::uint64_t seed = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, seed);
  if (error != std::errc() || stop != end) {
    throw std::invalid_argument(fmt::format("HANDOFF_SEED must be a number, got \"{}\"", text));
  }
  return seed;
}

void check_table_asked_for() {
  const char* const text = std::getenv("HANDOFF_TABLE");
  if (text == nullptr || *text == '\0' || std::string_view(text) == "all") return;
  throw std::invalid_argument(fmt::format("HANDOFF_TABLE must be all, got \"{}\"", text));
}

[[noreturn]] void report(Simulation& simulation, Outcome outcome, std::uint64_t seed,
                         std::uint64_t runs, const SimulateOptions& options) {
  const std::size_t length = outcome.schedule.real_changes();
  Schedule schedule = outcome.schedule;
  if (options.shorten) schedule = simulation.shorten(schedule, seed, *outcome.failure);
  Outcome shown = simulation.replay(schedule, seed, true);
  const bool is_shown = shown.failure && is_same(*shown.failure, *outcome.failure);
  const std::string& what = is_shown ? *shown.failure : *outcome.failure;
  std::string text;
  if (!is_shown) {
    text = fmt::format(
        "{}\n\nfound in run {}, but not when it was repeated: the body depends on something "
        "besides its schedule\n",
        what, runs);
  } else {
    text = fmt::format(
        "{}\n\nfound in run {}, seed {}; {} changes of threads{}\n\n{}\n", what, runs, seed, length,
        options.shorten ? fmt::format(", {} after shortening", schedule.real_changes())
                        : std::string(),
        shown.table);
  }
  if (options.strategy.kind != Strategy::Kind::exhaustive) {
    text += fmt::format("again:      HANDOFF_SEED={}\n", seed);
  }
  if (is_shown) {
    text += fmt::format("{}:  HANDOFF_SEED={} HANDOFF_SCHEDULE='{}'\n",
                        options.shorten ? "shortened" : "schedule ", seed, to_text(schedule));
  }
  throw SimulationFailed(text,
                         {.what = what, .seed = seed, .runs = runs, .schedule = to_text(schedule)});
}

}  // namespace

Simulated simulate(const SimulateOptions& options, const std::function<void()>& body) {
  if (is_simulated()) throw std::logic_error("simulate() was called inside a simulation");
  refuse_nonsense(options);
  Simulation simulation(options, body);
  const auto seed_asked = seed_asked_for();
  check_table_asked_for();
  if (const char* const text = std::getenv("HANDOFF_SCHEDULE"); text != nullptr && *text != '\0') {
    const std::uint64_t seed = seed_asked.value_or(options.first_seed);
    const Schedule asked = schedule_from(text);
    Outcome outcome = simulation.replay(asked, seed, true);
    if (outcome.failure) {
      throw SimulationFailed(fmt::format("{}\n\n{}", *outcome.failure, outcome.table),
                             {.what = *outcome.failure, .seed = seed, .runs = 1, .schedule = text});
    }
    fmt::print(
        stderr,
        "HANDOFF_SCHEDULE: the run did not fail; {} of its {} changes of threads were used\n",
        std::min(outcome.schedule.real_changes(), asked.real_changes()), asked.real_changes());
    return {.runs = 1, .steps = outcome.result.steps, .switches = outcome.result.switches};
  }
  SimulateOptions chosen = options;
  if (seed_asked) {
    chosen.first_seed = *seed_asked;
    chosen.runs = 1;
  }
  const std::shared_ptr<detail::sim::Strategy> strategy = strategy_of(chosen);
  Simulated done;
  Progress progress(chosen.runs);
  while (strategy->begin_run()) {
    ++schedules;
    Outcome outcome = simulation.run(strategy);
    progress.show(++done.runs);
    done.steps += outcome.result.steps;
    done.switches += outcome.result.switches;
    done.digest = digest_of(outcome.schedule, done.digest);
    if (outcome.failure) {
      report(simulation, std::move(outcome), strategy->draws_seed(), done.runs, chosen);
    }
  }
  done.is_complete = chosen.strategy.kind == Strategy::Kind::exhaustive && strategy->was_all();
  return done;
}

void check(bool is_true, std::string_view what_is_wrong) {
  if (is_true) return;
  if (SimThread* const self = carried_here()) {
    self->run.note(Event::Kind::other, "fails");
    self->run.fail(std::string(what_is_wrong));
  }
  throw std::logic_error(fmt::format("check() outside of a simulation: {}", what_is_wrong));
}

void fail_soon(std::string_view what_is_wrong) {
  Scheduler& run = this_thread("fail_soon()").run;
  run.note(Event::Kind::other, "fails");
  run.fail_soon(std::string(what_is_wrong));
}

std::stop_token sudden_stop() { return this_thread("sudden_stop()").run.sudden_stop(); }

std::uint64_t schedules_so_far() { return schedules; }

void pause(Duration time) {
  SimThread* const self = &this_thread("pause()");
  const Operation here(fmt::format("{} us", time / 1us), "pause");
  self->run.point(self, Access::other, std::source_location::current());
  const TimePoint start = self->run.now();
  const TimePoint end = time > TimePoint::max() - start ? TimePoint::max() : start + time;
  while (self->run.block(self, end)) {
  }
}

}  // namespace testing
}  // namespace handoff::inline HANDOFF_FLAVOUR
