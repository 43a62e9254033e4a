// Where the program writes: standard output is data, standard error is talk.
//
//   session.out.line("{}  {}", out.paint(Colour::green, "done"), shown(task.note));
//
// Colours only on a terminal, and not if NO_COLOR is set. What is written is held back until 64 KiB are together, flush() or the end.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "cli/escape.hpp"
#include "cli/failure.hpp"
#include "handoff/tasks/payload.hpp"

namespace handoff::cli {

enum class Colour { plain, bold, dim, red, green, yellow, blue };

class Output {
 public:
  explicit Output(int file);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  bool is_terminal() const { return is_terminal_; }
  // Whether it can be drawn over: a terminal that is not dumb.
  bool can_redraw() const { return can_redraw_; }
  // Of the terminal; 80 if it does not say.
  std::size_t columns() const;
  std::size_t rows() const;

  // Throws ReaderGone if nobody reads it any more, Failure if it cannot be written.
  void write(std::string_view text);
  void flush();
  template <typename... Parts>
  void line(fmt::format_string<Parts...> format, Parts&&... parts) {
    write(fmt::format(format, std::forward<Parts>(parts)...) + "\n");
  }
  // A document on one line.
  template <typename T>
  void json(const T& value) {
    const auto json = tasks::to_json(value);
    if (!json)
      throw Failure(Exit::failed, "cannot be written as JSON: " + json.error().to_string());
    json_text(json->text());
  }
  void json_text(std::string_view json) { write(one_line(json) + "\n"); }

  std::string paint(Colour colour, std::string_view text) const;

 private:
  const int file_;
  const bool is_terminal_;
  const bool can_redraw_;
  const bool has_colours_;
  std::string held_;
};

// Wipes the line that the cursor is in, before anything else is written. Throws nothing: for destructors.
void clear_line(Output& output) noexcept;

}  // namespace handoff::cli
