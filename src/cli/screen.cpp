#include "cli/screen.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

namespace handoff::cli {

namespace {

// Another screen, without a cursor and without wrapping of long lines.
constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

}  // namespace

struct Screen::Saved {
  termios settings{};
};

Screen::Screen(Output& out) : out_(out) {
  termios settings{};
  if (::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &settings) == 0) {
    saved_ = std::make_unique<Saved>(Saved{settings});
    // Keys come at once and are not shown. Ctrl-C stays a signal; Ctrl-Z would leave the screen as it is.
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    settings.c_cc[VSUSP] = _POSIX_VDISABLE;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
  }
  out_.write(enter);
}

Screen::~Screen() {
  try {
    out_.write(leave);
    out_.flush();
  } catch (...) {  // The terminal is gone.
  }
  if (saved_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_->settings);
}

void Screen::draw(const std::vector<std::string>& lines) {
  std::string frame = "\x1b[H";
  const std::size_t count = std::min(lines.size(), out_.rows());
  for (std::size_t i = 0; i < count; ++i) {
    frame += lines[i] + "\x1b[K" + (i + 1 < count ? "\n" : "");
  }
  out_.write(frame + "\x1b[J");  // All at once, so that it does not flicker.
  out_.flush();
}

std::optional<char> Screen::key(std::chrono::milliseconds patience) {
  pollfd one{.fd = saved_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
  if (::poll(&one, 1, static_cast<int>(patience.count())) <= 0) return std::nullopt;
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) != 1) return 'q';  // The terminal is gone.
  return key;
}

}  // namespace handoff::cli
