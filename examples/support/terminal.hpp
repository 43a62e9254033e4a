// What a person sees of an example: a panel redrawn in place on a terminal, plain lines anywhere else.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"

namespace example {

std::string for_people(handoff::Duration time);  // 10.5 s
std::string for_people(std::uint64_t number);    // 50,000
std::string mebibytes(std::uint64_t bytes);      // 4.6 MiB

// The memory a process holds, in bytes; 0 where it cannot be known.
std::uint64_t resident_bytes();
std::uint64_t resident_bytes(pid_t process);

// part / whole, and 0 of nothing.
double share(std::uint64_t part, std::uint64_t whole);

class Terminal {
 public:
  enum class Mode { panel, lines, silent };

  explicit Terminal(Mode mode);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // What standard output is good for, if the panel needs this many columns and lines.
  static Mode best_mode(std::size_t columns, std::size_t rows);

  Mode mode() const { return mode_; }
  handoff::Duration time_between_pictures() const;

  // Draws the panel over the one before.
  void draw(const std::vector<std::string>& panel);
  // From here on the terminal is as it was, also if the program is killed: for the time after a first Ctrl-C.
  void restore();

  // `width` cells, of which this part is filled.
  std::string bar(double part, std::size_t width) const;
  // One character a value; each from 0 to 1.
  std::string curve(const std::vector<double>& values) const;

  // Text in a colour, if colours are wanted.
  std::string bold(std::string_view text) const { return coloured(text, "1"); }
  std::string green(std::string_view text) const { return coloured(text, "32"); }
  std::string yellow(std::string_view text) const { return coloured(text, "33"); }
  std::string red(std::string_view text) const { return coloured(text, "31"); }
  std::string dim(std::string_view text) const { return coloured(text, "2"); }

 private:
  std::string coloured(std::string_view text, std::string_view code) const;

  const Mode mode_;
  const bool colours_;
  const bool unicode_;
  bool is_changed_ = false;  // The cursor is hidden.
  std::size_t lines_drawn_ = 0;
};

// The values of a whole run in a line of limited length: thinned out when it gets long.
class History {
 public:
  explicit History(std::size_t length) : length_(length) {}
  void add(double value);
  const std::vector<double>& values() const { return values_; }

 private:
  const std::size_t length_;
  std::vector<double> values_;
  std::size_t looks_per_value_ = 1;
  std::size_t looks_ = 0;
};

}  // namespace example
