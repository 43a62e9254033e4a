#include "cli/server_config.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "cli/failure.hpp"

namespace handoff::cli {

namespace {

constexpr auto usual_file = "handoff.toml";

void must(const server::Configured& good) {
  if (!good) throw Failure(Exit::usage, good.error());
}

void read_file(server::Config& config, const std::string& file) {
  try {
    must(server::set_from_file(config, file));
  } catch (const Failure&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Failure(Exit::usage, error.what());
  }
}

std::vector<std::string> names_in_environment() {
  std::vector<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable = *each;
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

}  // namespace

std::string server_flag(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string config_file(const ServerFlags& flags) {
  if (!flags.config.empty()) return flags.config;
  const char* const named = std::getenv("HANDOFF_CONFIG");
  if (named != nullptr && *named != '\0') return named;  // Set to nothing is not set.
  return std::filesystem::exists(usual_file) ? usual_file : "";
}

std::string store_elsewhere() {
  const char* const store = std::getenv("HANDOFF_STORE");
  return store != nullptr && is_server(store) ? store : "";
}

// The weakest first: what comes later counts.
server::Config server_config(const Session& session, const ServerFlags& flags) {
  server::Config config;
  if (const std::string file = config_file(flags); !file.empty()) read_file(config, file);
  if (flags.has_demo) config.store = "memory:";
  config.has_demo = flags.has_demo;
  must(server::check_environment(names_in_environment()));
  const bool leaves_store = session.is_store_given || !store_elsewhere().empty();
  must(server::set_from_environment(config, [&](const char* name) -> const char* {
    if (leaves_store && std::string_view(name) == "HANDOFF_STORE") return nullptr;
    return std::getenv(name);
  }));
  if (session.is_store_given) must(server::set(config, "store", session.store, "--store"));
  const auto keys = server::config_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!flags.values[i]) continue;
    must(server::set(config, keys[i].name, *flags.values[i], server_flag(keys[i].name)));
  }
  must(server::check(config));
  return config;
}

}  // namespace handoff::cli
