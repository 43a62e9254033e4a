#include "handoff/detail/pool/process_run.hpp"

#include <fmt/core.h>
#include <string.h>
#include <sys/wait.h>

#include <memory>
#include <stop_token>
#include <system_error>

#include "handoff/detail/pool/process_child.hpp"
#include "handoff/detail/pool/process_pump.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail::process {

namespace {

struct SignalWakeup {
  const Wakeup* wakeup;
  void operator()() const noexcept { wakeup->signal(); }
};

std::string why(int error) { return std::generic_category().message(error); }

std::string describe(const ProcessCommand& command, const Report& report) {
  const std::string& program = command.arguments.front();
  if (report.stage == Stage::enter_directory) {
    return fmt::format("cannot run \"{}\" in directory \"{}\": {}", program, command.directory,
                       why(report.error_number));
  }
  if (report.stage == Stage::fork) {
    return fmt::format("cannot make a process for \"{}\": {}", program, why(report.error_number));
  }
  const bool is_searched = program.find('/') == std::string::npos;
  return fmt::format("cannot execute \"{}\"{}: {}", program, is_searched ? " from PATH" : "",
                     why(report.error_number));
}

Duration as_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

void set_end(ProcessResult& result, const ProcessCommand& command, const Report& report) {
  if (report.stage != Stage::ended) {
    result.end = ProcessEnd::could_not_start;
    result.error_number = report.error_number;
    result.error = describe(command, report);
    return;
  }
  result.end = WIFEXITED(report.status) ? ProcessEnd::exited : ProcessEnd::killed;
  if (WIFEXITED(report.status)) result.exit_code = WEXITSTATUS(report.status);
  if (WIFSIGNALED(report.status)) result.signal = WTERMSIG(report.status);
  result.dumped_core = WIFSIGNALED(report.status) && WCOREDUMP(report.status);
}

ProcessResult make_result(const ProcessCommand& command, Pumped&& pumped) {
  ProcessResult result;
  set_end(result, command, pumped.report);
  const bool ran = result.end != ProcessEnd::could_not_start;
  if (ran && pumped.cut == Cut::timeout) result.end = ProcessEnd::timed_out;
  result.output = std::move(pumped.output.bytes);
  result.errors = std::move(pumped.errors.bytes);
  result.output_bytes = pumped.output.total;
  result.errors_bytes = pumped.errors.total;
  result.output_truncated = result.output_bytes > result.output.size();
  result.errors_truncated = result.errors_bytes > result.errors.size();
  result.user_time = as_duration(pumped.report.usage.ru_utime);
  result.system_time = as_duration(pumped.report.usage.ru_stime);
  result.peak_memory_bytes = static_cast<std::uint64_t>(pumped.report.usage.ru_maxrss) * 1024;
  return result;
}

Pumped pump(const ProcessCommand& command, const Wait& wait) {
  const Wakeup wakeup;
  const std::stop_callback on_stop(wait.stop, SignalWakeup{&wakeup});
  Child child(command);
  // Its buffer is too large for a small stack.
  return std::make_unique<Pump>(child, command, wait, wakeup)->run();
}

ProcessResult could_not_start(const ProcessCommand& command, const std::system_error& error) {
  ProcessResult result;
  result.error_number = error.code().value();
  result.error =
      fmt::format("cannot make a process for \"{}\": {}", command.arguments.front(), error.what());
  return result;
}

}  // namespace

std::expected<ProcessResult, Refusal> run_to_the_end(const ProcessCommand& command,
                                                     const Wait& wait) {
  const TimePoint start = now();
  try {
    Pumped pumped = pump(command, wait);
    const bool is_stopped = pumped.cut == Cut::stop && !command.answers_when_stopped;
    if (is_stopped) return std::unexpected(Refusal::stopped);
    if (pumped.cut == Cut::deadline) return std::unexpected(Refusal::timed_out);
    ProcessResult result = make_result(command, std::move(pumped));
    result.wall_time = now() - start;
    return result;
  } catch (const std::system_error& error) {  // No processes or descriptors left.
    return could_not_start(command, error);
  }
}

}  // namespace detail::process

std::string ProcessResult::to_string() const {
  const auto by_signal = [this] {
    const char* description = ::sigdescr_np(signal);
    return fmt::format("signal {} ({}){}", signal, description ? description : "unknown",
                       dumped_core ? ", core dumped" : "");
  };
  switch (end) {
    case ProcessEnd::exited: return fmt::format("exited with code {}", exit_code);
    case ProcessEnd::killed: return fmt::format("killed by {}", by_signal());
    case ProcessEnd::could_not_start: return error;
    case ProcessEnd::timed_out:
      return signal == 0 ? fmt::format("timed out, and exited with code {}", exit_code)
                         : fmt::format("timed out, and was killed by {}", by_signal());
  }
  return "unknown";
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
