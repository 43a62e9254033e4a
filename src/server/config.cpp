#include "server/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <filesystem>

#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/limits.hpp"
#include "tasks/ascii.hpp"
#include "tasks/nearest.hpp"

namespace handoff::server {

namespace {

using Problem = std::optional<std::string>;

template <typename Number>
Problem read_number(std::string_view text, Number least, Number most, Number& number) {
  Number read = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, read);
  if (result.ec != std::errc() || result.ptr != end || read < least || read > most) {
    return fmt::format("must be a whole number from {} to {}, got \"{}\"", least, most, text);
  }
  number = read;
  return std::nullopt;
}

Problem set_store(Config& config, std::string_view value) {
  if (value != "memory:" && !value.starts_with("sqlite:")) {
    return fmt::format("must be \"sqlite:<path>\" or \"memory:\", got \"{}\"", value);
  }
  config.store = value;
  return std::nullopt;
}

Problem set_flag(std::string_view value, bool& flag) {
  if (value != "true" && value != "false") {
    return fmt::format("must be true or false, got \"{}\"", value);
  }
  flag = value == "true";
  return std::nullopt;
}

// As the one who listens reads it: whoever only checks must not call good what is refused then.
bool can_be_listened_on(std::string_view address) {
  if (address == "localhost") return true;
  boost::system::error_code error;
  boost::asio::ip::make_address(address, error);
  return !error;
}

// "127.0.0.1:8077", "[::1]:8077", ":8077" for the usual address, "8077".
Problem set_listen(Config& config, std::string_view value) {
  const auto colon = value.rfind(':');
  std::string_view address = colon == std::string_view::npos ? "" : value.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? value : value.substr(colon + 1);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  if (read_number<std::uint16_t>(port, 0, 65535, config.port)) {
    return fmt::format("must be an address and a port, as in \"127.0.0.1:8077\", got \"{}\"",
                       value);
  }
  if (!address.empty() && !can_be_listened_on(address)) {
    return fmt::format(
        "must be an address and a port, as in \"127.0.0.1:8077\"; \"{}\" is no IP address to "
        "listen on",
        address);
  }
  if (!address.empty()) config.address = address;
  return std::nullopt;
}

std::vector<std::string> list_of(std::string_view value) {
  std::vector<std::string> list;
  while (!value.empty()) {
    const auto comma = std::min(value.find(','), value.size());
    if (comma > 0) list.emplace_back(value.substr(0, comma));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return list;
}

// As a browser sends it, without its port: of "[::1]:8077" that is "::1".
bool is_host_name(std::string_view name) {
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
  });
  return is_plain && std::ranges::count(name, ':') != 1;
}

Problem set_hosts(Config& config, std::string_view value) {
  auto hosts = list_of(value);
  for (std::string& each : hosts) {
    each.erase(0, std::min(each.find_first_not_of(' '), each.size()));
    each.erase(each.find_last_not_of(' ') + 1);
    if (each.empty() || !is_host_name(each)) {
      return fmt::format("must be names with commas between them, without ports, got \"{}\"",
                         value);
    }
  }
  config.hosts = std::move(hosts);
  return std::nullopt;
}

Problem set_push_hosts(Config& config, std::string_view value) {
  auto hosts = PushHosts::parse(list_of(value));
  if (!hosts) return hosts.error();
  config.push_hosts = *std::move(hosts);
  return std::nullopt;
}

Problem set_grace(Config& config, std::string_view value) {
  const auto duration = tasks::parse_duration(value);
  if (!duration) return duration.error();
  config.grace = *duration;
  return std::nullopt;
}

Problem set_log_format(Config& config, std::string_view value) {
  const auto format = parse_log_format(value);
  if (!format) return fmt::format("must be auto, text or json, got \"{}\"", value);
  config.log.format = *format;
  return std::nullopt;
}

Problem set_log_level(Config& config, std::string_view value) {
  const auto severity = parse_severity(value);
  if (!severity)
    return fmt::format("must be debug, info, warning, error or off, got \"{}\"", value);
  config.log.least = *severity;
  return std::nullopt;
}

constexpr std::size_t most_bytes = std::size_t{1} << 30;

constexpr auto keys = std::to_array<ConfigKey>({
    {"store", "STORE", "Where tasks are kept: sqlite:<path>, or memory: (gone at the end)",
     set_store},
    {"fast", "BOOL", "Commits are not synced: a power cut may lose the last moments",
     [](Config& config, std::string_view value) { return set_flag(value, config.fast); }},
    {"listen", "ADDRESS:PORT", "Where to listen; other than loopback needs tokens", set_listen},
    {"tls_cert", "FILE", "The certificate, with its chain, as PEM",
     [](Config& config, std::string_view value) -> Problem {
       config.tls_certificate = value;
       return std::nullopt;
     }},
    {"tls_key", "FILE", "Its key, as PEM",
     [](Config& config, std::string_view value) -> Problem {
       config.tls_key = value;
       return std::nullopt;
     }},
    {"hosts", "NAMES", "Names by which clients may call it, beside localhost", set_hosts},
    {"threads", "N", "For connections; 0: one for each core",
     [](Config& config, std::string_view value) {
       return read_number(value, 0, 256, config.threads);
     }},
    {"connections", "N", "That may be open; those past them are refused with 503",
     [](Config& config, std::string_view value) {
       return read_number<std::size_t>(value, 1, 1'000'000, config.connections);
     }},
    {"waiting_limit", "N", "Requests that may wait for the store; those past them get 503",
     [](Config& config, std::string_view value) {
       return read_number<std::size_t>(value, 1, 1'000'000, config.waiting_limit);
     }},
    {"payload_limit", "BYTES", "Of the payload of one task; 1048576 (1 MiB) at most",
     [](Config& config, std::string_view value) {
       return read_number<std::size_t>(value, 1, tasks::limits::payload_size, config.payload_limit);
     }},
    {"body_limit", "BYTES", "Of one request",
     [](Config& config, std::string_view value) {
       return read_number<std::size_t>(value, 1024, most_bytes, config.body_limit);
     }},
    {"push_hosts", "NAMES",
     "Whom deliver_to and notify may call: names, addresses, networks; usually this machine only",
     set_push_hosts},
    {"push_threads", "N", "Requests that deliver tasks, at a time",
     [](Config& config, std::string_view value) {
       return read_number<std::size_t>(value, 1, 1000, config.push_threads);
     }},
    {"notify_secret", "SECRET",
     "Notices that a task has ended are signed with it; better set by file or environment",
     [](Config& config, std::string_view value) -> Problem {
       config.notify_secret = value;
       return std::nullopt;
     }},
    {"grace", "TIME", "How long open requests may take after SIGTERM", set_grace},
    {"log_format", "FORMAT", "auto (text on a terminal, else JSON), text or json", set_log_format},
    {"log_level", "LEVEL", "debug, info, warning, error or off", set_log_level},
});

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const ConfigKey& each : keys) all.push_back(each.name);
  return all;
}

std::string unknown_key(std::string_view key, std::string_view source) {
  return fmt::format("{}: unknown key \"{}\"{}", source, key, tasks::did_you_mean(key, names()));
}

// A list is written with commas.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  const auto* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::string text;
  for (const toml::node& each : *list) {
    const auto part = text_of(each);
    if (!part || each.is_array()) return std::nullopt;
    text += text.empty() ? *part : "," + *part;
  }
  return text;
}

}  // namespace

std::span<const ConfigKey> config_keys() { return keys; }

Configured set(Config& config, std::string_view key, std::string_view value,
               std::string_view source) {
  const auto found = std::ranges::find(keys, key, &ConfigKey::name);
  if (found == keys.end()) return std::unexpected(unknown_key(key, source));
  if (const auto problem = found->set(config, value)) {
    return std::unexpected(fmt::format("{}: {} {}", source, key, *problem));
  }
  return {};
}

Configured set_from_file(Config& config, const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return std::unexpected(fmt::format("{}: there is no such file", path));
  }
  if (std::filesystem::is_directory(path)) {  // It would be read as an empty file.
    return std::unexpected(fmt::format("{}: is a folder, and no file", path));
  }
  const toml::parse_result parsed = [&] {
    try {
      return toml::parse_file(path);
    } catch (const toml::parse_error& error) {
      throw std::runtime_error(
          fmt::format("{}:{}: {}", path, error.source().begin.line, error.description()));
    }
  }();
  for (const auto& [key, node] : parsed) {
    const std::string source = fmt::format("{}:{}", path, node.source().begin.line);
    const bool is_known = std::ranges::find(keys, key.str(), &ConfigKey::name) != keys.end();
    const auto text = text_of(node);
    if (!text && !is_known) {
      return std::unexpected(unknown_key(key.str(), source) +
                             (node.is_table() ? "; keys stand at the top, in no table" : ""));
    }
    if (!text) {
      return std::unexpected(
          fmt::format("{}: {} must be a text, a number, true, false or a list", source, key.str()));
    }
    if (auto good = set(config, key.str(), *text, source); !good) return good;
  }
  return {};
}

namespace {

constexpr std::string_view prefix = "HANDOFF_";

// "payload_limit" as HANDOFF_PAYLOAD_LIMIT.
std::string variable_of(std::string_view key) {
  std::string name(prefix);
  name += key;
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

// Of the command line, of programs that `handoff work` runs, and of Kubernetes.
bool is_of_others(std::string_view name) {
  constexpr auto others = std::to_array<std::string_view>(
      {"HANDOFF_CONFIG", "HANDOFF_TOKEN", "HANDOFF_SERVER", "HANDOFF_URL", "HANDOFF_TASK_ID",
       "HANDOFF_QUEUE", "HANDOFF_KIND", "HANDOFF_ATTEMPT", "HANDOFF_MAX_ATTEMPTS", "HANDOFF_GROUP",
       "HANDOFF_TRACE"});
  return std::ranges::find(others, name) != others.end() || name == "HANDOFF_PORT" ||
         name.starts_with("HANDOFF_PORT_") || name.starts_with("HANDOFF_SERVICE_");
}

}  // namespace

Configured check_environment(std::span<const std::string> names) {
  std::vector<std::string> known;
  for (const ConfigKey& each : keys) known.push_back(variable_of(each.name));
  std::vector<std::string_view> keys_known{"CONFIG"};
  for (const std::string& each : known) {
    keys_known.push_back(std::string_view(each).substr(prefix.size()));
  }
  for (const std::string& name : names) {
    if (!name.starts_with(prefix) || is_of_others(name)) continue;
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto meant = tasks::nearest(std::string_view(name).substr(prefix.size()), keys_known);
    if (!meant) continue;
    return std::unexpected(
        fmt::format("the environment has {}, which means nothing; did you mean "
                    "{}{}?",
                    name, prefix, *meant));
  }
  return {};
}

Configured set_from_environment(Config& config,
                                const std::function<const char*(const char*)>& get) {
  for (const ConfigKey& each : keys) {
    const std::string name = variable_of(each.name);
    const char* const value = get(name.c_str());
    if (value == nullptr || *value == '\0') continue;  // Set to nothing is not set.
    if (auto good = set(config, each.name, value, name); !good) return good;
  }
  return {};
}

Configured check(const Config& config) {
  if (config.tls_certificate.empty() != config.tls_key.empty()) {
    return std::unexpected("tls_cert and tls_key belong together: set both, or none");
  }
  for (const std::string& each : {config.tls_certificate, config.tls_key}) {
    if (!each.empty() && !std::filesystem::exists(each)) {
      return std::unexpected(fmt::format("{}: there is no such file", each));
    }
  }
  if (config.payload_limit > config.body_limit) {
    return std::unexpected(fmt::format("payload_limit ({}) must not be above body_limit ({})",
                                       config.payload_limit, config.body_limit));
  }
  return {};
}

}  // namespace handoff::server
