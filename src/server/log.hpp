// The log of the server: lines for people on a terminal, JSON otherwise.
//
//   Log log({.format = LogFormat::automatic, .level = "info"});
//   log.info("listening", {{"address", "127.0.0.1:8077"}});
//
//   12:30:01.250 info  listening address=127.0.0.1:8077
//   {"at":"2026-12-01T12:30:01.250Z","level":"info","message":"listening","address":"127.0.0.1:8077"}
//
// Never what a client has sent as a secret: tokens and payloads stay out of it.
// Thread safety: any member, any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace handoff::server {

enum class LogFormat : std::uint8_t { automatic, text, json };
enum class LogSeverity : std::uint8_t { debug, info, warning, error, off };

std::optional<LogFormat> parse_log_format(std::string_view text);
std::optional<LogSeverity> parse_severity(std::string_view text);

struct LogOptions {
  LogFormat format = LogFormat::automatic;
  LogSeverity least = LogSeverity::info;
};

class Log {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Log(LogOptions options = {});
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void debug(std::string_view message, Fields fields = {}) {
    write(LogSeverity::debug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) {
    write(LogSeverity::info, message, fields);
  }
  void warning(std::string_view message, Fields fields = {}) {
    write(LogSeverity::warning, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) {
    write(LogSeverity::error, message, fields);
  }
  void write(LogSeverity severity, std::string_view message, Fields fields);

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
  bool is_json_;
};

}  // namespace handoff::server
