// What a person sees of a run: a panel redrawn in place on a terminal, plain lines anywhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"

namespace burst {

// One look at the run.
struct Picture {
  handoff::Duration elapsed{};
  std::uint64_t clicks = 0;  // Of how many.
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t processed = 0;
  std::size_t waiting = 0;  // In the queue.
  std::size_t capacity = 0;
  handoff::Duration oldest{};    // How long the click taken last had waited: the oldest there was.
  handoff::Duration estimate{};  // How long a click accepted now will wait.
  std::uint64_t resident = 0;    // Bytes.
  bool stopping = false;
  bool is_over = false;
};

std::string for_people(handoff::Duration time);
std::string for_people(std::uint64_t number);  // 50,000

// The memory this process holds, in bytes; 0 where it cannot be known.
std::uint64_t resident_bytes();
std::string mebibytes(std::uint64_t bytes);

class Screen {
 public:
  enum class Mode { panel, lines, silent };

  explicit Screen(Mode mode);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // What standard output is good for.
  static Mode best_mode();

  handoff::Duration time_between_pictures() const;
  void show(const Picture& picture);

  // Text in a colour, if colours are wanted.
  std::string bold(std::string_view text) const { return coloured(text, "1"); }
  std::string green(std::string_view text) const { return coloured(text, "32"); }
  std::string yellow(std::string_view text) const { return coloured(text, "33"); }
  std::string red(std::string_view text) const { return coloured(text, "31"); }
  std::string dim(std::string_view text) const { return coloured(text, "2"); }

 private:
  std::string coloured(std::string_view text, std::string_view code) const;
  std::vector<std::string> panel(const Picture& picture) const;
  std::string bar(double part) const;
  std::string history() const;
  void remember(const Picture& picture);

  const Mode mode_;
  const bool colours_;
  const bool unicode_;
  std::size_t lines_drawn_ = 0;
  std::vector<double>
      depths_;  // How full the queue was at each picture; thinned out when it gets long.
  std::size_t pictures_per_depth_ = 1;
  std::size_t pictures_ = 0;
};

// For a program about to end in the middle of a panel. Safe in any state.
void restore_terminal();

}  // namespace burst
