#include "cli/output.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace handoff::cli {

namespace {

constexpr std::size_t most_held = 64 * 1024;

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool terminal_can_redraw() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

winsize size_of(int file) {
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::plain: return "0";
    case Colour::bold: return "1";
    case Colour::dim: return "2";
    case Colour::red: return "31";
    case Colour::green: return "32";
    case Colour::yellow: return "33";
    case Colour::blue: return "34";
  }
  return "0";
}

// Somebody has made it non-blocking: it is shared with others.
void wait_until_writable(int file) {
  pollfd one{.fd = file, .events = POLLOUT, .revents = 0};
  ::poll(&one, 1, -1);
}

}  // namespace

Output::Output(int file)
    : file_(file),
      is_terminal_(::isatty(file) == 1),
      can_redraw_(is_terminal_ && terminal_can_redraw()),
      has_colours_(can_redraw_ && !is_set("NO_COLOR")) {}

Output::~Output() {
  try {
    flush();
  } catch (...) {  // Those who care have flushed.
  }
}

std::size_t Output::columns() const { return size_of(file_).ws_col; }
std::size_t Output::rows() const { return size_of(file_).ws_row; }

void Output::write(std::string_view text) {
  held_ += text;
  if (held_.size() >= most_held) flush();
}

void Output::flush() {
  const std::string all = std::exchange(held_, {});
  for (std::string_view rest = all; !rest.empty();) {
    const ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      wait_until_writable(file_);
    } else if (errno == EPIPE) {
      throw ReaderGone();
    } else if (errno != EINTR) {
      const int error = errno;
      throw Failure(Exit::failed,
                    "cannot write its output: " + std::generic_category().message(error));
    }
  }
}

void clear_line(Output& output) noexcept {
  try {
    output.write("\r\x1b[K");
    output.flush();
  } catch (...) {  // Nobody sees it.
  }
}

std::string Output::paint(Colour colour, std::string_view text) const {
  if (!has_colours_ || colour == Colour::plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(colour), text);
}

}  // namespace handoff::cli
