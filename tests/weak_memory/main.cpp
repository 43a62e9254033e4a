// weak_memory_tests [--executions N] [--weaken] [KERNEL]...
//
// Runs these kernels, or all. What Relacy says of a failure is printed, with the history of the execution; then the exit code is 1.
//
// --weaken: instead, each memory order that a kernel's run meets is weakened, one at a time, and the kernel is to fail. Prints
// after how many executions it did. The exit code is 1 if a kernel never does: it proves nothing then. (That some do not matter
// is no fault: an order may be needed by code that no kernel runs, or by nobody.)
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "handoff/detail/core/clock_source.hpp"
#include "handoff/log.hpp"
#include "handoff/stats.hpp"
#include "weak_memory/kernel.hpp"
#include "weak_memory/orders.hpp"

namespace handoff::weak_memory {

namespace {

struct Entry {
  std::string_view name;
  Run run;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

// So that an execution can be repeated.
class StoppedClock : public detail::ClockSource {
  TimePoint now() const override { return TimePoint(Duration(1)); }
  void arm(detail::Timer&) override {}
  void disarm(detail::Timer&) override {}
};

struct Outcome {
  bool passed;
  unsigned executions;
  std::string said;
};

Outcome run(const Entry& entry, unsigned executions) {
  std::ostringstream said;
  std::ostringstream progress;
  rl::test_params params;
  params.iteration_count = executions;
  params.output_stream = &said;
  params.progress_stream = &progress;
  params.execution_depth_limit = 20'000;
  const bool passed = entry.run(params);
  return {passed, static_cast<unsigned>(params.stop_iteration), said.str()};
}

bool run_and_tell(const Entry& entry, unsigned executions) {
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = run(entry, executions);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
  fmt::print("{} {}: {} executions, {:.2f} s\n", outcome.passed ? "ok" : "FAILED", entry.name,
             outcome.executions, time.count());
  if (!outcome.passed) fmt::print("{}\n", outcome.said);
  return outcome.passed;
}

// -- With a memory order weakened -----------------------------------------------------------------

std::string_view name_of(std::memory_order order) {
  constexpr std::string_view names[] = {"relaxed", "consume", "acquire",
                                        "release", "acq_rel", "seq_cst"};
  return names[static_cast<std::size_t>(order)];
}

// In a process of its own: an execution that fails leaves locks behind. Returns true if the kernel failed.
bool is_noticed(const Entry& entry, const detail::weak::Site& site, std::memory_order order,
                unsigned executions) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    detail::weak::weaken(site, order);
    const Outcome outcome = run(entry, executions);
    const auto what = outcome.said.substr(outcome.said.find('\n') + 1);
    fmt::print("  {}:{}  {} -> {}: {}\n", site.file.substr(site.file.find_first_not_of("./")),
               site.line, name_of(site.order), name_of(order),
               outcome.passed ? "not noticed"
                              : fmt::format("{} after {}", what.substr(0, what.find('\n')),
                                            outcome.executions));
    std::fflush(stdout);
    _exit(outcome.passed ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

bool notices_weaker_orders(const Entry& entry, unsigned executions) {
  fmt::print("{}\n", entry.name);
  detail::weak::note_sites();
  (void)run(entry, std::min(executions, 2000U));
  unsigned noticed = 0;
  for (const auto& site : detail::weak::noted_sites()) {
    if (site.file.find("/weak_memory/") != std::string::npos) continue;  // The kernel's own.
    for (const auto order : detail::weak::weaker_than(site)) {
      noticed += is_noticed(entry, site, order, executions) ? 1 : 0;
    }
  }
  fmt::print("{} {}: {} weakened orders noticed\n", noticed > 0 ? "ok" : "FAILED", entry.name,
             noticed);
  return noticed > 0;
}

}  // namespace

Added add(std::string_view name, Run run) {
  entries().push_back({.name = name, .run = run});
  return {};
}

}  // namespace handoff::weak_memory

int main(int count, char** words) {
  using namespace handoff::weak_memory;
  StoppedClock clock;
  handoff::detail::install_clock(&clock);
  // What the process has one of is to be there before, and so plain.
  (void)handoff::snapshot();
  handoff::set_log([](std::string_view) {});
  unsigned executions = 100'000;
  bool weaken = false;
  std::vector<std::string_view> names;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--executions" && i + 1 < count) {
      executions = static_cast<unsigned>(std::atoi(words[++i]));
    } else if (word == "--weaken") {
      weaken = true;
    } else {
      names.push_back(word);
    }
  }

  std::size_t ran = 0;
  bool passed = true;
  for (const Entry& entry : entries()) {
    if (!names.empty() && std::ranges::find(names, entry.name) == names.end()) continue;
    ++ran;
    passed &= weaken ? notices_weaker_orders(entry, executions) : run_and_tell(entry, executions);
  }
  if (ran == 0) fmt::print(stderr, "there is no such kernel\n");
  return passed && ran > 0 ? 0 : 1;
}
