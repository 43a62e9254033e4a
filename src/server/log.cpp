#include "server/log.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <unistd.h>

#include "handoff/tasks/json.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::server {

namespace {

constexpr std::string_view names[] = {"debug", "info", "warning", "error", "off"};

spdlog::level::level_enum to_level(LogSeverity severity) {
  switch (severity) {
    case LogSeverity::debug: return spdlog::level::debug;
    case LogSeverity::info: return spdlog::level::info;
    case LogSeverity::warning: return spdlog::level::warn;
    case LogSeverity::error: return spdlog::level::err;
    case LogSeverity::off: break;
  }
  return spdlog::level::off;
}

// A text as JSON; what is no UTF-8 is left out.
std::string quoted(std::string_view text) {
  tasks::JsonWriter writer;
  if (!writer.string(text)) return "\"(not UTF-8)\"";
  return std::move(writer).finish().text();
}

std::string json_line(LogSeverity severity, std::string_view message, Log::Fields fields) {
  const auto at = tasks::to_time(std::chrono::system_clock::now());
  std::string line = fmt::format(R"({{"at":"{}","level":"{}","message":{})", tasks::to_text(at),
                                 names[static_cast<std::size_t>(severity)], quoted(message));
  for (const auto& [name, value] : fields) {
    line += fmt::format(",\"{}\":{}", name, quoted(value));
  }
  return line + "}";
}

// On one line, whatever it is: a client must not be able to write lines of its own.
std::string text_line(std::string_view message, Log::Fields fields) {
  std::string line(message);
  for (const auto& [name, value] : fields) {
    const bool is_plain = value.find_first_of(" \"=\\") == std::string_view::npos && !value.empty();
    line += fmt::format(" {}={}", name, is_plain ? std::string(value) : quoted(value));
  }
  for (char& each : line) {
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) each = '?';
  }
  return line;
}

}  // namespace

std::optional<LogFormat> parse_log_format(std::string_view text) {
  if (text == "auto") return LogFormat::automatic;
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return std::nullopt;
}

std::optional<LogSeverity> parse_severity(std::string_view text) {
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (names[i] == text) return static_cast<LogSeverity>(i);
  }
  return std::nullopt;
}

struct Log::Sink {
  spdlog::logger logger{"handoff", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
};

Log::Log(LogOptions options) : sink_(std::make_unique<Sink>()) {
  is_json_ = options.format == LogFormat::json ||
             (options.format == LogFormat::automatic && ::isatty(STDERR_FILENO) == 0);
  sink_->logger.set_pattern(is_json_ ? "%v" : "%H:%M:%S.%e %^%-7l%$ %v");
  sink_->logger.set_level(to_level(options.least));
  sink_->logger.flush_on(spdlog::level::debug);
}

Log::~Log() = default;

void Log::write(LogSeverity severity, std::string_view message, Fields fields) {
  const auto level = to_level(severity);
  if (!sink_->logger.should_log(level)) return;
  const std::string line =
      is_json_ ? json_line(severity, message, fields) : text_line(message, fields);
  sink_->logger.log(level, spdlog::string_view_t(line));
}

}  // namespace handoff::server
