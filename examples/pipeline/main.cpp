// A large log goes through a line of stages: read, parse by several workers, summarise in order. See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/pipeline.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/signals.hpp"
#include "log.hpp"
#include "log_file.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;
using example::Terminal;
using log_pipeline::BlockReader;
using log_pipeline::Generator;
using log_pipeline::LogFile;
using log_pipeline::Record;
using log_pipeline::Summary;

struct Options {
  std::uint64_t lines = 3'000'000;
  std::uint64_t seed = 1;
  std::uint64_t workers = std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t kibibytes = 64;  // Of a block.
};

// What goes from stage to stage: worth the trip. A line of its own would not be.
using Block = std::string;
using Records = std::vector<std::optional<Record>>;  // None for a broken line.

Records parse_block(const Block& block) {
  Records records;
  std::string_view rest = block;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    records.push_back(log_pipeline::parse(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return records;
}

// How far it has come.
struct Progress {
  std::atomic<std::uint64_t> bytes_read = 0;
  std::atomic<std::uint64_t> lines_done = 0;
};

struct Outcome {
  Summary summary;
  std::expected<void, handoff::Refusal> ended;
  std::vector<handoff::StageStats> stages;
  handoff::Duration took{};
  std::uint64_t most_resident = 0;
};

// -- What people see ------------------------------------------------------------------------------

void show(std::string_view what, std::uint64_t done, std::uint64_t all, std::string_view more,
          Terminal& terminal) {
  const double part = example::share(done, all);
  if (terminal.mode() == Terminal::Mode::lines) {
    fmt::print("{:<8} {:>3.0f} %  {}\n", what, part * 100, more);
    std::fflush(stdout);
  }
  terminal.draw({fmt::format("{}  {} {:>3.0f} %", terminal.bold(fmt::format("{:<8}", what)),
                             terminal.green(terminal.bar(part, 50)), part * 100),
                 fmt::format("          {}", more)});
}

void watch(const Progress& progress, const LogFile& file, Outcome& outcome, Terminal& terminal,
           const std::stop_token& end) {
  example::SlowService next_picture;
  bool goes_on = true;
  while (goes_on) {
    goes_on = next_picture.answers_after(terminal.time_between_pictures(), end);
    const auto resident = example::resident_bytes();
    outcome.most_resident = std::max(outcome.most_resident, resident);
    if (terminal.mode() == Terminal::Mode::silent) continue;
    show("reading", progress.bytes_read, file.bytes(),
         fmt::format("{:>10} lines summarised   {}", for_people(progress.lines_done.load()),
                     example::mebibytes(resident)),
         terminal);
  }
}

void tell(const Outcome& outcome, const LogFile& file) {
  const auto& summary = outcome.summary;
  const auto seconds = std::chrono::duration<double>(outcome.took).count();
  fmt::print("\n{} lines in {}: {} a second, with {} of memory at most for a log of {}\n\n",
             for_people(summary.lines()), for_people(outcome.took),
             for_people(static_cast<std::uint64_t>(static_cast<double>(summary.lines()) / seconds)),
             example::mebibytes(outcome.most_resident), example::mebibytes(file.bytes()));
  fmt::print("  {:>11}  failures, at most {} in a row\n", for_people(summary.failures()),
             for_people(summary.longest_outage()));
  fmt::print("  {:>11}  broken lines\n", for_people(summary.broken()));
  fmt::print("  {:>11}  was the longest time without a request\n",
             for_people(std::chrono::milliseconds(summary.longest_pause())));
  for (std::size_t i = 0; i < log_pipeline::pages.size(); ++i) {
    fmt::print("  {:>11}  {}\n", for_people(summary.by_page()[i]), log_pipeline::pages[i]);
  }
  fmt::print("\n  {:<10} {:>9} {:>9} {:>9}\n", "stage", "received", "sent", "dropped");
  for (const auto& stage : outcome.stages) {
    fmt::print("  {:<10} {:>9} {:>9} {:>9}\n", stage.name, for_people(stage.received),
               for_people(stage.sent), for_people(stage.dropped));
  }
}

// -- The run --------------------------------------------------------------------------------------

Outcome run(const LogFile& file, const Options& options, Progress& progress,
            const std::stop_token& stop, Terminal& terminal) {
  handoff::WorkerPool pool{{.workers = options.workers, .capacity = 64, .name = "log"}};
  handoff::Channel<Block> blocks{{.capacity = 2 * options.workers, .name = "blocks"}};
  handoff::Channel<Records> parsed{{.capacity = 2 * options.workers, .name = "parsed"}};
  BlockReader reader(file, options.kibibytes * 1024);
  Outcome outcome;

  const auto read = [&] {
    auto block = reader.next();
    if (block) progress.bytes_read += block->size();
    return block;
  };
  const auto summarise = [&](const Records& records) {
    for (const auto& each : records) {
      if (each) {
        outcome.summary.add(*each);
      } else {
        outcome.summary.add_broken();
      }
    }
    progress.lines_done += records.size();
  };
  handoff::Pipeline line{pool, {.name = "log"}};
  line.source(blocks, read, {.name = "read"});
  line.stage(blocks, parsed, options.workers, parse_block, {.keep_order = true, .name = "parse"});
  line.sink(parsed, 1, summarise, {.name = "summarise"});

  handoff::Scope drawing(std::stop_token(), {.name = "drawing"});
  drawing.spawn([&](const std::stop_token& end) { watch(progress, file, outcome, terminal, end); });
  const auto began = handoff::now();
  outcome.ended = line.run({.stop = stop});
  outcome.took = handoff::now() - began;
  drawing.request_stop();
  drawing.join();
  outcome.stages = line.stats();
  return outcome;
}

// What the generator knows of the first so many lines.
Summary known(std::uint64_t lines, std::uint64_t seed) {
  Generator generator(seed);
  for (std::uint64_t i = 0; i < lines; ++i) generator.next();
  return generator.so_far();
}

// What is wrong, or nothing. Stopped or not: what was summarised is the beginning of the log, in order.
std::string mistake(const Outcome& outcome, const Options& options) {
  const auto lines = outcome.summary.lines();
  if (outcome.ended && lines != options.lines) return "lines are missing";
  if (outcome.summary != known(lines, options.seed)) return "the summary is wrong";
  for (const auto& stage : outcome.stages) {
    if (stage.received != stage.sent + stage.filtered + stage.dropped) {
      return fmt::format("the stage \"{}\" has lost something", stage.name);
    }
  }
  return {};
}

// False if something is wrong.
bool show_all(const Options& options, const std::stop_token& stop, Terminal& terminal,
              Progress& progress) {
  LogFile file;
  auto last_shown = handoff::now();
  const bool is_written = file.write(options.lines, options.seed, stop, [&](std::uint64_t lines) {
    if (terminal.mode() == Terminal::Mode::silent) return;
    if (handoff::now() - last_shown < terminal.time_between_pictures()) return;
    last_shown = handoff::now();
    show("writing", lines, options.lines, fmt::format("{:>10} lines", for_people(lines)), terminal);
  });
  if (!is_written) {
    fmt::print("\nYou stopped it before the log was written.\n");
    return true;
  }
  const auto outcome = run(file, options, progress, stop, terminal);
  tell(outcome, file);
  if (!outcome.ended) {
    fmt::print("\nYou stopped it after {} of {} lines.\n", for_people(outcome.summary.lines()),
               for_people(options.lines));
  }
  const auto wrong = mistake(outcome, options);
  fmt::print("\n{}\n", wrong.empty()
                           ? terminal.green("The summary is what the generator knows of these "
                                            "lines, in their order.")
                           : terminal.red(fmt::format("SOMETHING IS WRONG: {}", wrong)));
  return wrong.empty();
}

// A run to the end, and one that is stopped in the middle.
int self_test() {
  Terminal silent(Terminal::Mode::silent);
  Progress progress;
  const Options options{.lines = 20'000, .workers = 4, .kibibytes = 1};
  const bool whole_is_right =
      show_all(options, {}, silent, progress) && progress.lines_done == options.lines;

  std::stop_source source;
  Progress stopped;
  const std::jthread stopper([&] {
    example::SlowService pause;
    const auto end = handoff::now() + 1min;
    while (stopped.lines_done == 0 && handoff::now() < end) pause.answers_after(1ms);
    source.request_stop();
  });
  const Options long_one{.lines = 100'000, .workers = 2, .kibibytes = 1};
  return whole_is_right && show_all(long_one, source.get_token(), silent, stopped) ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line(
      "pipeline",
      "a large log, read, parsed by several workers and summarised in order.\n\n"
      "The log is written to a temporary file first, by a generator that knows what is in it; the "
      "summary\nhas to agree.");
  line.add("--lines", "lines of the log", options.lines, 1, 100'000'000);
  line.add("--workers", "threads, and blocks parsed at once", options.workers, 1, 256);
  line.add("--block", "kibibytes that go from stage to stage at once", options.kibibytes, 1,
           16'384);
  line.add("--seed", "for the contents of the log", options.seed, 0, 1'000'000'000);
  line.add_note(
      "Ctrl-C stops it: what was summarised until then is checked all the same.\n"
      "Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.");
  line.add_example("pipeline", "the default: some seconds");
  line.add_example("pipeline --workers 1", "one thread for all stages");
  line.add_example("pipeline --block 1", "small blocks: more trips from stage to stage");
  line.add_example("pipeline --lines 50000000", "a large log in the same memory");
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
  Progress progress;
  return show_all(options, stop, terminal, progress) ? 0 : 1;
}
