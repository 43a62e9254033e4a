// Runs commands in processes of their own, so many at once and no more: for work that may crash, leak or never return.
//
//   handoff::ProcessPool converters{{.processes = 4, .capacity = 100, .name = "converters"}};
//   auto result = converters.run({.arguments = {"convert", "-", "-resize", "200x", "png:-"},
//                                 .input = photo, .timeout = 10s});
//   if (!result) return result.error();                        // refused: full, closed, ...
//   if (!result->succeeded()) log(result->to_string());        // it ran, and did not end well: a value as well
//
// run() waits on the caller's thread, first for a place and then for the process: call it from any thread, or from a job.
//
//   what ends it                            what run() answers          what the process gets
//   the program ends, or crashes            exited, killed              -
//   the program cannot be started           could_not_start             -
//   `timeout` of the command                timed_out, with its output  SIGTERM, after `grace` SIGKILL
//   Wait::deadline                          refused: timed_out          the same
//   Wait::stop, stop_all(), ~ProcessPool    refused: stopped            the same
//
// What you can rely on:
// - At most `processes` run at once; at most `capacity` callers have been let in to wait for a place, first come, first
//   served. Past that, when_full decides.
// - When run() returns, the program and all it started are gone and reaped, even what moved to another process group or
//   session; nothing it opened is left open here. Signals go to the program's whole process group. What is left
//   running when the program itself has ended gets SIGKILL: nothing stays in the background.
// - If this process dies, by SIGKILL too, everything it runs is killed.
// - No shell: the arguments arrive as they are given. The program gets no descriptors but its three, an empty signal
//   mask, default signal dispositions, and a session without a terminal.
// - Input and output flow at once, whatever their size. Of output more than `output_limit` is read and counted, not kept.
// - No signal handler or disposition of this process is changed, and no SIGPIPE reaches it. It does get a SIGCHLD a run.
//
// The price: each run forks a process that stands between us and the program, sees to all this, and lives as long as
// the program. Forking takes longer the more memory this process uses, and pages written meanwhile are copied.
// It cannot kill what it may not: a set-user-ID program of another user outlives its time.
//
// Thread safety: any member, any thread, until the destructor begins. Linux only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct ProcessPoolOptions {
  std::size_t processes;                 // How many may run at once. At least 1.
  std::size_t capacity = 0;              // How many callers may be let in to wait for a place.
  WhenFull when_full = WhenFull::block;  // block: the others wait outside; reject: refused `full`.
  std::string_view name = {};            // How waits() and snapshot() call its lines; copied.
};

struct ProcessCommand {
  static constexpr Duration no_timeout = Duration::max();

  // The program and its arguments. A name without a slash is searched in the PATH that the program will see; relative paths, there
  // too, count from `directory`: do not run programs by name in a folder that others write to with such a PATH.
  std::vector<std::string> arguments;
  std::string input = {};                     // What it reads from its standard input.
  std::vector<std::string> environment = {};  // "NAME=value", added to ours or in place of it.
  bool inherit_environment = true;            // Otherwise it gets `environment` and nothing else.
  std::string directory = {};                 // Where it runs; empty: where we do.
  Duration timeout = no_timeout;              // How long it may run. More than zero.
  Duration grace = std::chrono::seconds(2);   // From SIGTERM to SIGKILL; zero: SIGKILL at once.
  // Who was stopped while it ran is not refused with `stopped`, but told how the program ended: it may have finished its work when it was asked to go.
  bool answers_when_stopped = false;
  std::size_t output_limit = 1 << 20;  // Bytes kept of its output, and of its errors.
};

enum class ProcessEnd : std::uint8_t {
  exited,           // By itself, with an exit code.
  killed,           // By a signal that we did not send: a crash, for example.
  could_not_start,  // There was no process, or it never became the program.
  timed_out,        // Killed by us: it took longer than its `timeout`.
};

constexpr std::string_view to_string(ProcessEnd end) {
  switch (end) {
    case ProcessEnd::exited: return "exited";
    case ProcessEnd::killed: return "killed";
    case ProcessEnd::could_not_start: return "could_not_start";
    case ProcessEnd::timed_out: return "timed_out";
  }
  return "unknown";
}

struct ProcessResult {
  ProcessEnd end = ProcessEnd::could_not_start;
  int exit_code = 0;         // If it exited; perhaps also if it timed out, and exited on SIGTERM.
  int signal = 0;            // What killed it, if anything did.
  bool dumped_core = false;  // Whether it left a core dump.
  int error_number = 0;      // If it could not start: the errno.
  std::string error = {};    // If it could not start: what could not be done, and why.

  std::string output = {};         // What it wrote to its standard output, up to the limit.
  std::string errors = {};         // What it wrote to its standard error, up to the limit.
  std::uint64_t output_bytes = 0;  // How much it wrote.
  std::uint64_t errors_bytes = 0;
  bool output_truncated = false;  // Whether it wrote more than was kept.
  bool errors_truncated = false;

  Duration wall_time{};  // From before it was started until after it was reaped.
  Duration user_time{};  // Of the program and the children it has waited for.
  Duration system_time{};
  std::uint64_t peak_memory_bytes =
      0;  // Of the largest of them; at least what we had when it began.

  bool succeeded() const { return end == ProcessEnd::exited && exit_code == 0; }
  // For people: "exited with code 3", "killed by signal 11 (Segmentation fault)", ...
  std::string to_string() const;
};

// A snapshot. At rest every call of run() is counted once, in refused or in one of the five ends.
struct ProcessPoolStats {
  std::size_t running = 0;     // Callers that have a place.
  std::size_t waiting = 0;     // Callers that wait: for a place, or outside to be let in.
  std::size_t high_water = 0;  // The most that ever had a place at once.
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;  // Exited with another code than 0, or killed.
  std::uint64_t could_not_start = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t cancelled = 0;  // Killed for a deadline or a stop.
  std::uint64_t refused = 0;    // Never had a place, or never started for a deadline or a stop.
};

namespace detail::process {
class PoolState;
}

class ProcessPool {
 public:
  // Throws std::invalid_argument if there are no processes, if there are 2^31 of them and those who wait or more, or if
  // when_full would drop something: there is nothing to drop but the caller.
  explicit ProcessPool(ProcessPoolOptions options);
  // stop_all(), and then waits until every caller of run() has left: at most the longest `grace`. None may come any more.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  // Runs a command to its end. Refused with `full`, `closed`, `timed_out` or `stopped`; the table above says when.
  // A deadline that has passed starts nothing, even if there is a place. Throws std::invalid_argument if the command
  // cannot mean anything: no arguments, a NUL byte in one, an environment entry without a name, a timeout that is not
  // positive, a negative grace.
  [[nodiscard]] std::expected<ProcessResult, Refusal> run(
      const ProcessCommand& command, const Wait& wait = {},
      std::source_location where = std::source_location::current());

  // Refuses all who call run() from now on, and those who wait outside; who was let in is served. Closing again does
  // nothing.
  void close();
  bool is_closed() const;

  // close(), and ends all that runs or was let in to wait: they are told `stopped`. Does not wait for them.
  void stop_all();

  ProcessPoolStats stats() const;

 private:
  std::shared_ptr<detail::process::PoolState> state_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
