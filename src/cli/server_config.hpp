// How `handoff serve` is set: by flags, then the environment, then a file. `handoff doctor` looks at the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.hpp"
#include "server/config.hpp"

namespace handoff::cli {

struct ServerFlags {
  std::string config{};  // The file; empty: HANDOFF_CONFIG, or handoff.toml if it is here.
  bool has_demo = false;
  // One for each of server::config_keys(): what was given counts, also if it is what it would be anyway.
  std::vector<std::optional<std::string>> values =
      std::vector<std::optional<std::string>>(server::config_keys().size());
};

// "payload_limit" as --payload-limit.
std::string server_flag(std::string_view key);
// Empty if there is none.
std::string config_file(const ServerFlags& flags);
// HANDOFF_STORE, if it names a server and so is not for us: it is what the other commands go by. Empty otherwise.
std::string store_elsewhere();
// Throws Failure, saying what is wrong and where.
server::Config server_config(const Session& session, const ServerFlags& flags);

}  // namespace handoff::cli
