#include "cli/people.hpp"

#include <langinfo.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>

namespace handoff::cli {

using namespace std::chrono_literals;

namespace {

bool terminal_speaks_utf8() {
  static const bool does = [] {
    std::setlocale(LC_CTYPE, "");
    return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  }();
  return does;
}

}  // namespace

tasks::Time now_time() { return tasks::to_time(std::chrono::system_clock::now()); }

std::string for_people(Millis time) {
  if (time < 0ms) return "-" + for_people(-time);
  if (time < 1s) return fmt::format("{}ms", time.count());
  if (time < 10s) return fmt::format("{:.1f}s", static_cast<double>(time.count()) / 1000);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{}d", seconds / 86400);
}

std::string for_people(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto end = std::ssize(digits) - 3; end > first; end -= 3) {
    digits.insert(static_cast<std::size_t>(end), 1, ',');
  }
  return digits;
}

std::string bytes_for_people(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < units.size(); ++unit) number /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", number, units[unit]);
}

std::string age_of(std::optional<tasks::Time> time) {
  if (!time) return "-";
  return for_people(std::max(now_time() - *time, 0ms));
}

std::string when(std::optional<tasks::Time> time) {
  if (!time) return "-";
  const Millis since = now_time() - *time;
  return since < 0ms ? "in " + for_people(-since) : for_people(since) + " ago";
}

Colour colour_of(tasks::TaskState state) {
  switch (state) {
    case tasks::TaskState::running: return Colour::blue;
    case tasks::TaskState::done: return Colour::green;
    case tasks::TaskState::dead: return Colour::red;
    case tasks::TaskState::cancelled: return Colour::yellow;
    case tasks::TaskState::scheduled:
    case tasks::TaskState::waiting: return Colour::dim;
    case tasks::TaskState::ready: break;
  }
  return Colour::plain;
}

std::string bar(double part, std::size_t cells) {
  const double filled = std::clamp(part, 0.0, 1.0) * static_cast<double>(cells);
  const auto full = static_cast<std::size_t>(std::floor(filled));
  return "[" + std::string(full, '#') + std::string(cells - full, '.') + "]";
}

std::string sparkline(const std::vector<double>& values) {
  constexpr std::array blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array letters{"_", ".", "-", ":", "=", "+", "*", "#"};
  const auto& steps = terminal_speaks_utf8() ? blocks : letters;
  const double most = values.empty() ? 0 : *std::ranges::max_element(values);
  std::string line;
  for (const double each : values) {
    const double part = most <= 0 ? 0 : each / most * static_cast<double>(steps.size() - 1);
    line += steps[static_cast<std::size_t>(std::lround(std::max(part, 0.0)))];
  }
  return line;
}

}  // namespace handoff::cli
