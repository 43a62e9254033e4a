#include "cli/session.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "handoff/tasks/limits.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";

bool has_scheme(std::string_view store) {
  for (const std::string_view each : {"sqlite:", "http://", "https://"}) {
    if (store.starts_with(each) && store.size() > each.size()) return true;
  }
  return false;
}

void check_scheme(const std::string& store) {
  if (has_scheme(store)) return;
  const bool is_path = store.find(':') == std::string::npos && !store.empty();
  throw Failure(Exit::usage,
                fmt::format("--store must be sqlite:<path> or http://<host>:<port>, got {}{}",
                            tasks::quoted(store),
                            is_path ? fmt::format("; did you mean \"sqlite:{}\"?", store) : ""));
}

void check_file(const std::string& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::exists(path, error)) return;
  throw Failure(
      Exit::unavailable,
      fmt::format("there is no store {}; choose another with --store or HANDOFF_STORE, or "
                  "make it: `handoff enqueue` does",
                  tasks::quoted(path, 200)));
}

}  // namespace

namespace {

std::string variable(const char* name, std::string otherwise = {}) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : std::move(otherwise);
}

// The first line of the file: so a token is in no command line, which everybody on the machine can read.
std::string token_in(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token)) {
    throw Failure(Exit::usage, fmt::format("--token-file: {} cannot be read, or is empty",
                                           tasks::quoted(path, 200)));
  }
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  return token;
}

}  // namespace

std::string usual_store() { return variable("HANDOFF_STORE", "sqlite:handoff.db"); }

Session::Session()
    : store(usual_store()),
      token_file(variable("HANDOFF_TOKEN_FILE")),
      ca_file(variable("HANDOFF_CA_FILE")),
      out(STDOUT_FILENO),
      talk(STDERR_FILENO) {}

tasks::Tasks Session::open(StoreUse use) const {
  check_scheme(store);
  if (use == StoreUse::look) check_file(file_of(store));
  tasks::OpenOptions options;
  if (is_server(store)) {
    if (!token_file.empty()) options.token = token_in(token_file);
    options.ca_file = ca_file;
  }
  auto tasks = tasks::open(store, options);
  if (tasks) return *std::move(tasks);
  const Exit code = exit_code_of(tasks.error().code);
  throw Failure(code == Exit::usage ? code : Exit::unavailable,
                fmt::format("cannot open the store {}: {}", shown(store), tasks.error().message));
}

void Session::say_line(const std::string& message) {
  out.flush();  // So that they come in order.
  talk.line("handoff: {}", shown_lines(message));
  talk.flush();
}

std::string file_of(std::string_view store) {
  return store.starts_with(sqlite_scheme) ? std::string(store.substr(sqlite_scheme.size())) : "";
}

bool is_server(std::string_view store) {
  return store.starts_with("http://") || store.starts_with("https://");
}

void must_be_here(std::string_view store, std::string_view what) {
  if (!is_server(store)) return;
  throw Failure(Exit::usage,
                fmt::format("{} where the store is, not by a server: on its machine, with --store "
                            "sqlite:<path>; got {}",
                            what, shown(store)));
}

Failure no_such_task(const tasks::TaskId& id) {
  return Failure(Exit::not_found,
                 fmt::format("there is no task {}; `handoff ls` lists those that there are", id));
}

void confirm(Session& session, bool is_agreed, std::string_view question) {
  if (is_agreed) return;
  if (::isatty(STDIN_FILENO) != 1 || !session.talk.is_terminal()) {
    throw Failure(Exit::usage, "nobody is there to be asked; say --yes if that is meant");
  }
  session.talk.write(fmt::format("{} [y/N] ", question));
  session.talk.flush();
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "Y" && answer != "yes") {
    throw Failure(Exit::failed, "nothing was changed");
  }
}

}  // namespace handoff::cli
