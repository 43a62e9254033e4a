#include "support/terminal.hpp"

#include <fmt/core.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace example {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

constexpr auto begin_panel = "\x1b[?25l\x1b[?7l"sv;  // No cursor, and no wrapping of long lines.
constexpr auto end_panel = "\x1b[?25h\x1b[?7h"sv;
constexpr auto clear_to_end_of_line = "\x1b[K"sv;
constexpr auto clear_below = "\x1b[J"sv;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A terminal that does not say how large it is has the usual 80 columns and 24 lines.
bool has_room_for(std::size_t columns, std::size_t rows) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return true;
  return size.ws_col >= columns && size.ws_row >= rows;
}

bool terminal_speaks_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string for_people(handoff::Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds >= 5400) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 100) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds >= 0.95) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 0.00095 || seconds <= 0) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", seconds * 1e6);
}

std::string for_people(std::uint64_t number) {
  auto digits = fmt::format("{}", number);
  for (auto end = static_cast<std::ptrdiff_t>(digits.size()) - 3; end > 0; end -= 3) {
    digits.insert(static_cast<std::size_t>(end), 1, ',');
  }
  return digits;
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

std::uint64_t resident_bytes() { return resident_bytes(getpid()); }

std::uint64_t resident_bytes(pid_t process) {
  std::uint64_t pages_in_all = 0;
  std::uint64_t pages_resident = 0;
  std::ifstream(fmt::format("/proc/{}/statm", process)) >> pages_in_all >> pages_resident;
  return pages_resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Terminal::Mode Terminal::best_mode(std::size_t columns, std::size_t rows) {
  const char* terminal = std::getenv("TERM");
  const bool can_redraw = terminal != nullptr && terminal != "dumb"sv;
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  return is_terminal && can_redraw && has_room_for(columns, rows) ? Mode::panel : Mode::lines;
}

Terminal::Terminal(Mode mode)
    : mode_(mode),
      colours_(mode == Mode::panel && !is_set("NO_COLOR")),
      unicode_(mode == Mode::panel && terminal_speaks_utf8()) {
  if (mode_ != Mode::panel) return;
  fmt::print("{}", begin_panel);
  is_changed_ = true;
}

Terminal::~Terminal() { restore(); }

void Terminal::restore() {
  if (!is_changed_) return;
  fmt::print("{}", end_panel);
  std::fflush(stdout);
  is_changed_ = false;
}

handoff::Duration Terminal::time_between_pictures() const {
  return mode_ == Mode::panel ? 50ms : 1s;
}

void Terminal::draw(const std::vector<std::string>& panel) {
  if (mode_ != Mode::panel) return;
  std::string frame;
  if (lines_drawn_ > 0) frame += fmt::format("\x1b[{}A\r", lines_drawn_);
  for (const auto& line : panel) frame += fmt::format("{}{}\n", line, clear_to_end_of_line);
  frame += clear_below;  // What Ctrl-C leaves behind, for example.
  lines_drawn_ = panel.size();
  fmt::print("{}", frame);  // All at once, so that it does not flicker.
  std::fflush(stdout);
}

std::string Terminal::bar(double part, std::size_t width) const {
  const double filled = std::clamp(part, 0.0, 1.0) * static_cast<double>(width);
  const auto cells = static_cast<std::size_t>(filled + 0.5);
  return repeated(unicode_ ? "█" : "#", cells) + repeated(unicode_ ? "░" : ".", width - cells);
}

std::string Terminal::curve(const std::vector<double>& values) const {
  constexpr std::array blocks{"▁"sv, "▂"sv, "▃"sv, "▄"sv, "▅"sv, "▆"sv, "▇"sv, "█"sv};
  constexpr std::array letters{"_"sv, "."sv, "."sv, "-"sv, "-"sv, "="sv, "="sv, "#"sv};
  const auto& levels = unicode_ ? blocks : letters;
  std::string line;
  for (const double value : values) {
    line += levels[std::min(levels.size() - 1, static_cast<std::size_t>(value * 8))];
  }
  return line;
}

std::string Terminal::coloured(std::string_view text, std::string_view code) const {
  return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void History::add(double value) {
  if (looks_++ % looks_per_value_ != 0) return;
  values_.push_back(value);
  if (values_.size() <= length_) return;
  // The line is full: every second look is enough from now on.
  for (std::size_t i = 0; 2 * i < values_.size(); ++i) values_[i] = values_[2 * i];
  values_.resize((values_.size() + 1) / 2);
  looks_per_value_ *= 2;
}

}  // namespace example
