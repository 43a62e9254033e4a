#include "screen.hpp"

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
#include <string_view>

namespace burst {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

constexpr std::size_t bar_width = 40;
constexpr std::size_t least_columns = 72;
constexpr std::size_t least_rows = 18;

constexpr auto begin_panel = "\x1b[?25l\x1b[?7l"sv;  // No cursor, and no wrapping of long lines.
constexpr auto end_panel = "\x1b[?25h\x1b[?7h"sv;
constexpr auto clear_to_end_of_line = "\x1b[K"sv;
constexpr auto clear_below = "\x1b[J"sv;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Whether the panel fits. A terminal that does not say how large it is has the usual 80 columns and 24 lines.
bool terminal_is_large_enough() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return true;
  return size.ws_col >= least_columns && size.ws_row >= least_rows;
}

bool terminal_speaks_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string for_people(handoff::Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds >= 5400) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 100) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds >= 0.95) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.0f} ms", seconds * 1e3);
}

std::string for_people(std::uint64_t number) {
  auto digits = fmt::format("{}", number);
  for (auto end = static_cast<std::ptrdiff_t>(digits.size()) - 3; end > 0; end -= 3) {
    digits.insert(static_cast<std::size_t>(end), 1, ',');
  }
  return digits;
}

std::uint64_t resident_bytes() {
  std::uint64_t pages_in_all = 0;
  std::uint64_t pages_resident = 0;
  std::ifstream("/proc/self/statm") >> pages_in_all >> pages_resident;
  return pages_resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

Screen::Mode Screen::best_mode() {
  const char* terminal = std::getenv("TERM");
  const bool can_redraw = terminal != nullptr && terminal != "dumb"sv;
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  return is_terminal && can_redraw && terminal_is_large_enough() ? Mode::panel : Mode::lines;
}

Screen::Screen(Mode mode)
    : mode_(mode),
      colours_(mode == Mode::panel && !is_set("NO_COLOR")),
      unicode_(mode == Mode::panel && terminal_speaks_utf8()) {
  if (mode_ == Mode::panel) fmt::print("{}", begin_panel);
}

Screen::~Screen() {
  if (mode_ == Mode::panel) fmt::print("{}", end_panel);
}

void restore_terminal() {
  if (isatty(STDOUT_FILENO) == 0) return;
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, end_panel.data(), end_panel.size());
}

handoff::Duration Screen::time_between_pictures() const { return mode_ == Mode::panel ? 50ms : 1s; }

void Screen::show(const Picture& picture) {
  if (mode_ == Mode::silent) return;
  if (mode_ == Mode::lines) {
    fmt::print("{:>7}  queue {:>6} of {}  accepted {:>6}  refused {:>6}  processed {:>6}  {}\n",
               for_people(picture.elapsed), picture.waiting, picture.capacity, picture.accepted,
               picture.refused, picture.processed, mebibytes(picture.resident));
    std::fflush(stdout);
    return;
  }
  remember(picture);
  std::string frame;
  if (lines_drawn_ > 0) frame += fmt::format("\x1b[{}A\r", lines_drawn_);
  const auto lines = panel(picture);
  for (const auto& line : lines) frame += fmt::format("{}{}\n", line, clear_to_end_of_line);
  frame += clear_below;  // What Ctrl-C leaves behind, for example.
  lines_drawn_ = lines.size();
  fmt::print("{}", frame);  // All at once, so that it does not flicker.
  std::fflush(stdout);
}

std::vector<std::string> Screen::panel(const Picture& picture) const {
  const auto come = picture.accepted + picture.refused;
  const auto state = picture.is_over && picture.stopping ? yellow("stopped")
                     : picture.is_over                   ? green("done")
                     : picture.stopping                  ? yellow("stopping")
                     : come < picture.clicks             ? red("the burst is on")
                                                         : yellow("working it off");
  const auto full = share(picture.waiting, picture.capacity);
  const auto depth = full >= 0.99  ? red(bar(full))
                     : full >= 0.5 ? yellow(bar(full))
                                   : green(bar(full));

  std::vector<std::string> lines{
      fmt::format("{}  {}  {}", bold("A burst of clicks"),
                  dim(fmt::format("{:>7}", for_people(picture.elapsed))), state),
      "",
      fmt::format("  queue      {} {:>3.0f} %  {} of {}", depth, full * 100,
                  for_people(static_cast<std::uint64_t>(picture.waiting)),
                  for_people(static_cast<std::uint64_t>(picture.capacity))),
      fmt::format("  processed  {} {:>3.0f} %",
                  green(bar(share(picture.processed, picture.accepted))),
                  share(picture.processed, picture.accepted) * 100),
      fmt::format("  over time  {}", dim(history())),
      "",
      fmt::format("  clicks     {:>9}   of {}", for_people(come), for_people(picture.clicks)),
      fmt::format("  accepted   {}   {}", green(fmt::format("{:>9}", for_people(picture.accepted))),
                  dim("will be worked on, in the order they came")),
      fmt::format("  refused    {}   {}", red(fmt::format("{:>9}", for_people(picture.refused))),
                  dim("told at once: try again later")),
      fmt::format("  processed  {:>9}", for_people(picture.processed)),
      "",
      fmt::format("  oldest     {:>9}   {}", for_people(picture.oldest),
                  dim("the click taken last had waited this long")),
      fmt::format("  new click  {:>9}   {}", for_people(picture.estimate),
                  dim("would wait about this long")),
      fmt::format("  memory     {:>9}   {}", mebibytes(picture.resident),
                  dim("resident, all of the process")),
  };
  if (picture.is_over) return lines;
  lines.push_back("");
  lines.push_back(picture.stopping
                      ? yellow("  Finishing the clicks in hand; Ctrl-C again ends at once.")
                      : dim("  Ctrl-C stops and hands back what is queued."));
  return lines;
}

std::string Screen::bar(double part) const {
  const auto cells = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * bar_width + 0.5);
  return repeated(unicode_ ? "█" : "#", cells) + repeated(unicode_ ? "░" : ".", bar_width - cells);
}

void Screen::remember(const Picture& picture) {
  if (pictures_++ % pictures_per_depth_ != 0) return;
  depths_.push_back(share(picture.waiting, picture.capacity));
  if (depths_.size() <= bar_width) return;
  // The line is full: every second look is enough from now on.
  for (std::size_t i = 0; 2 * i < depths_.size(); ++i) depths_[i] = depths_[2 * i];
  depths_.resize((depths_.size() + 1) / 2);
  pictures_per_depth_ *= 2;
}

std::string Screen::history() const {
  constexpr std::array blocks{"▁"sv, "▂"sv, "▃"sv, "▄"sv, "▅"sv, "▆"sv, "▇"sv, "█"sv};
  constexpr std::array letters{"_"sv, "."sv, "."sv, "-"sv, "-"sv, "="sv, "="sv, "#"sv};
  const auto& levels = unicode_ ? blocks : letters;
  std::string line;
  for (const double depth : depths_) {
    line += levels[std::min(levels.size() - 1, static_cast<std::size_t>(depth * 8))];
  }
  return line;
}

std::string Screen::coloured(std::string_view text, std::string_view code) const {
  return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace burst
