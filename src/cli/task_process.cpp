#include "cli/task_process.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "handoff/tasks/limits.hpp"
#include "handoff/tasks/payload.hpp"
#include "tasks/utf8.hpp"

namespace handoff::cli {

namespace {

constexpr std::size_t most_said = 64 * 1024;  // Of standard error, that is kept.
constexpr std::size_t most_logged = 200;      // Lines of it.
constexpr std::string_view white_space = " \t\r\n";

std::vector<std::string> environment_of(const TaskProgram& program, const tasks::Context& context) {
  return {fmt::format("HANDOFF_TASK_ID={}", context.id()),
          fmt::format("HANDOFF_QUEUE={}", context.queue()),
          fmt::format("HANDOFF_KIND={}", context.kind()),
          fmt::format("HANDOFF_ATTEMPT={}", context.attempt()),
          fmt::format("HANDOFF_MAX_ATTEMPTS={}", context.max_attempts()),
          fmt::format("HANDOFF_GROUP={}", context.group()),
          fmt::format("HANDOFF_TRACE={}", context.trace()),
          fmt::format("HANDOFF_STORE={}", program.store)};
}

ProcessCommand command_for(const TaskProgram& program, const tasks::Json& payload,
                           const tasks::Context& context) {
  ProcessCommand command{.arguments = program.arguments};
  command.input = payload.text() + "\n";  // `read` of a shell wants the end of the line.
  command.environment = environment_of(program, context);
  command.grace = program.grace;
  command.output_limit = tasks::limits::result_size;
  command.answers_when_stopped = true;
  return command;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

// What it said is kept with the task.
void log_lines(tasks::Context& context, std::string_view text) {
  const std::string kept = last_lines(text, most_logged);
  for (std::string_view rest = kept; !rest.empty();) {
    const auto end = rest.find('\n');
    context.log(tasks::readable_utf8(rest.substr(0, end), tasks::limits::log_line_size));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
}

std::string failure_of(const ProcessResult& result) {
  const std::string lines = last_lines(result.errors);
  return lines.empty() ? result.to_string() : fmt::format("{}: {}", result.to_string(), lines);
}

tasks::Finish finish_of(const TaskProgram& program, const ProcessResult& result) {
  if (result.succeeded() && result.output_truncated) {
    return tasks::Fail{fmt::format("it wrote {} bytes to its standard output; a result may have {}",
                                   result.output_bytes, tasks::limits::result_size)};
  }
  if (result.succeeded()) return result_of(result.output);
  if (result.end == ProcessEnd::exited && result.exit_code == exit_to_defer) {
    return tasks::Defer{program.defer_for};
  }
  throw std::runtime_error(failure_of(result));
}

}  // namespace

tasks::Finish run_as_process(ProcessPool& processes, const TaskProgram& program,
                             const tasks::Json& payload, tasks::Context& context) {
  const auto result = processes.run(command_for(program, payload, context),
                                    {.deadline = {}, .stop = context.stop()});
  if (!result) throw std::runtime_error("it was stopped before it began");
  log_lines(context, result->errors);
  return finish_of(program, *result);
}

tasks::Json result_of(std::string_view output) {
  if (trimmed(output).empty()) return {};
  if (auto json = tasks::Json::parse(std::string(trimmed(output)))) return *std::move(json);
  if (output.ends_with('\n')) output.remove_suffix(1);
  auto text = tasks::to_json(tasks::readable_utf8(output, output.size()));
  return text ? *std::move(text) : tasks::Json();
}

std::string last_lines(std::string_view text, std::size_t most) {
  text = trimmed(text);
  if (text.size() > most_said) text.remove_prefix(text.size() - most_said);
  std::size_t begin = text.size();
  for (std::size_t lines = 0; lines < most && begin != 0; ++lines) {
    const auto before = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
    if (before == std::string_view::npos) return std::string(text);
    begin = before;
  }
  return std::string(text.substr(begin == text.size() ? begin : begin + 1));
}

}  // namespace handoff::cli
