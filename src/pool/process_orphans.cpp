#include "handoff/detail/pool/process_orphans.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

namespace {

struct Adoption {
  const char* variable;
  std::span<char> arguments;
};

// Made once, and never destroyed: threads may run programs until the very end.
constinit atomic<const Adoption*> adoption{nullptr};

// As much of it as there is: a process may end between the opening of its file and the reading, and what then fails is thrown by an istreambuf_iterator.
std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

// The fields of /proc/<process>/stat behind the name, which may hold anything.
std::istringstream status_of(const std::string& process) {
  const std::string line = content("/proc/" + process + "/stat");
  const auto name_end = line.rfind(')');
  return std::istringstream(name_end == std::string::npos ? "" : line.substr(name_end + 1));
}

// As the kernel knows it, whoever has touched what main() was given.
std::span<char> own_arguments() {
  constexpr int fields_before = 45;  // From the third to the 47th.
  auto status = status_of("self");
  std::string ignored;
  for (int i = 0; i < fields_before; ++i) status >> ignored;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (!(status >> begin >> end) || begin == 0 || end <= begin) return {};
  return {reinterpret_cast<char*>(begin), end - begin};
}

struct Process {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t session = 0;
};

Process look_at(const std::string& number) {
  Process process;
  if (std::from_chars(number.data(), number.data() + number.size(), process.id).ec != std::errc()) {
    return {};
  }
  auto status = status_of(number);
  char state = 0;
  pid_t group = 0;
  if (!(status >> state >> process.parent >> group >> process.session)) return {};
  return process;
}

std::vector<Process> our_children() {
  std::vector<Process> children;
  std::error_code error;
  for (std::filesystem::directory_iterator each("/proc", error), end; !error && each != end;
       each.increment(error)) {
    const Process process = look_at(each->path().filename().string());
    if (process.id > 0 && process.parent == ::getpid()) children.push_back(process);
  }
  return children;
}

// Whether it began with that entry in its environment.
bool has_begun_with(pid_t process, const std::string& entry) {
  if (entry.empty()) return false;
  std::istringstream environment(content("/proc/" + std::to_string(process) + "/environ"));
  for (std::string each; std::getline(environment, each, '\0');) {
    if (each == entry) return true;
  }
  return false;
}

std::string entry_of(const ProcessCommand& command, std::string_view variable) {
  const auto found = std::ranges::find_if(command.environment, [&](const std::string& each) {
    return each.size() > variable.size() && each.starts_with(variable) &&
           each[variable.size()] == '=';
  });
  return found == command.environment.end() ? "" : *found;
}

// Returns whether there were any.
bool kill_orphans(pid_t supervisor, const std::string& entry) {
  std::vector<pid_t> killed;
  for (const Process& each : our_children()) {
    const bool is_of_the_run = each.session == supervisor || has_begun_with(each.id, entry);
    if (each.id == supervisor || !is_of_the_run) continue;
    if (::kill(each.id, SIGKILL) == 0) killed.push_back(each.id);  // Or it is another user's now.
  }
  for (const pid_t each : killed) {
    while (::waitpid(each, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return !killed.empty();
}

}  // namespace

void adopt_orphans(const char* variable) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  static const Adoption made{.variable = variable, .arguments = own_arguments()};
  adoption = &made;
}

std::span<char> arguments_to_hide() {
  const Adoption* const made = adoption;
  return made == nullptr ? std::span<char>() : made->arguments;
}

void end_orphans(pid_t supervisor, const ProcessCommand& command) {
  const Adoption* const made = adoption;
  if (made == nullptr) return;
  const std::string entry = entry_of(command, made->variable);
  while (kill_orphans(supervisor, entry)) {
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
