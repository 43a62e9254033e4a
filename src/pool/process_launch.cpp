#include "handoff/detail/pool/process_launch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

namespace {

constexpr std::string_view default_path = "/usr/local/bin:/bin:/usr/bin";

void refuse_nul(std::string_view field, std::string_view value) {
  const auto at = value.find('\0');
  if (at == std::string_view::npos) return;
  throw std::invalid_argument(fmt::format("{} must not contain a NUL byte, got one after \"{}\"",
                                          field, value.substr(0, at)));
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// "NAME=", or nothing if the entry has no name.
std::string_view name_of(std::string_view entry) {
  const auto equals = entry.find('=');
  if (equals == 0 || equals == std::string_view::npos) return {};
  return entry.substr(0, equals + 1);
}

char* as_argument(const std::string& text) {
  return const_cast<char*>(text.c_str());  // execve() does not write to it, whatever its type says.
}

}  // namespace

void validate(const ProcessCommand& command) {
  if (command.arguments.empty() || command.arguments.front().empty()) {
    throw std::invalid_argument("arguments must begin with the name of a program, got none");
  }
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    refuse_nul(fmt::format("arguments[{}]", i), command.arguments[i]);
  }
  for (std::size_t i = 0; i < command.environment.size(); ++i) {
    refuse_nul(fmt::format("environment[{}]", i), command.environment[i]);
    if (!name_of(command.environment[i]).empty()) continue;
    throw std::invalid_argument(fmt::format("environment[{}] must be \"NAME=value\", got \"{}\"", i,
                                            command.environment[i]));
  }
  refuse_nul("directory", command.directory);
  if (command.timeout <= Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("timeout must be positive, got {}s", seconds(command.timeout)));
  }
  if (command.grace < Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("grace must not be negative, got {}s", seconds(command.grace)));
  }
}

Launch::Launch(const ProcessCommand& command)
    : directory_(command.directory.empty() ? nullptr : command.directory.c_str()) {
  for (const std::string& argument : command.arguments) arguments_.push_back(as_argument(argument));
  arguments_.push_back(nullptr);
  collect_environment(command);
  collect_candidates(command.arguments.front());
}

void Launch::collect_environment(const ProcessCommand& command) {
  const auto is_replaced = [&](std::string_view entry) {
    const auto name = name_of(entry);
    return std::ranges::any_of(command.environment, [&](const std::string& ours) {
      return !name.empty() && name_of(ours) == name;
    });
  };
  // Like getenv(): whoever changes the environment while threads run, races with this.
  // It is null after clearenv().
  char** const ours = command.inherit_environment ? environ : nullptr;
  for (char** entry = ours; entry != nullptr && *entry != nullptr; ++entry) {
    if (!is_replaced(*entry)) environment_.push_back(*entry);
  }
  for (const std::string& entry : command.environment) environment_.push_back(as_argument(entry));
  environment_.push_back(nullptr);
}

// As execvp() would search, by the PATH of the program's own environment; but it may not be used after fork(), and it
// would give what it cannot execute to a shell.
void Launch::collect_candidates(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    paths_.push_back(program);
  } else {
    std::string_view path = default_path;
    for (const char* entry : environment_) {
      if (entry == nullptr || !std::string_view(entry).starts_with("PATH=")) continue;
      path = entry + 5;
      break;  // The first, as for getenv() in the program.
    }
    while (true) {
      const auto folder = path.substr(0, path.find(':'));
      paths_.push_back(folder.empty() ? program : fmt::format("{}/{}", folder, program));
      if (folder.size() == path.size()) break;
      path.remove_prefix(folder.size() + 1);
    }
  }
  for (const std::string& each : paths_) candidates_.push_back(each.c_str());
  candidates_.push_back(nullptr);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
