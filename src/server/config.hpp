// How the server is set: by flags, by the environment (HANDOFF_LISTEN=...), and by a TOML file, in that precedence.
//
//   # handoff.toml
//   store = "sqlite:/var/lib/handoff/handoff.db"
//   listen = "0.0.0.0:8077"
//   tls_cert = "/etc/handoff/cert.pem"
//   tls_key = "/etc/handoff/key.pem"
//   hosts = ["jobs.example.org"]
//
// An unknown key is an error that names the nearest known one.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/log.hpp"
#include "server/push/push_hosts.hpp"

namespace handoff::server {

struct Config {
  std::string store = "sqlite:handoff.db";
  bool fast = false;  // See tasks.hpp: OpenOptions::fast.
  std::string address = "127.0.0.1";
  std::uint16_t port = 8077;
  std::string tls_certificate{};
  std::string tls_key{};
  std::vector<std::string> hosts{};
  int threads = 0;
  std::size_t connections = 10'000;
  std::size_t payload_limit = std::size_t{1} << 20;
  std::size_t body_limit = std::size_t{8} << 20;
  std::chrono::milliseconds grace = std::chrono::seconds(30);
  LogOptions log{};
  bool has_demo = false;  // See demo/demo.hpp.
  PushHosts push_hosts{};
  std::size_t push_threads = 32;
  std::string notify_secret{};
};

// One that can be set.
struct ConfigKey {
  std::string_view name;     // "payload_limit": --payload-limit, HANDOFF_PAYLOAD_LIMIT.
  std::string_view value;    // What stands for it in a help text: "BYTES".
  std::string_view meaning;  // For people.
  // Nothing if it was good; otherwise what is allowed, so that the name of the key can stand before it.
  std::optional<std::string> (*set)(Config& config, std::string_view value);
};
std::span<const ConfigKey> config_keys();

// Where a value comes from is said in errors: "handoff.toml:3: ...".
using Configured = std::expected<void, std::string>;
[[nodiscard]] Configured set(Config& config, std::string_view key, std::string_view value,
                             std::string_view source);
[[nodiscard]] Configured set_from_file(Config& config, const std::string& path);
// HANDOFF_<KEY>, for all keys; `get` is getenv, or what a test gives.
[[nodiscard]] Configured set_from_environment(Config& config,
                                              const std::function<const char*(const char*)>& get);
// What belongs together.
[[nodiscard]] Configured check(const Config& config);

}  // namespace handoff::server
