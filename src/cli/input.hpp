// What a command is given to read: a file, or standard input for "-".
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace handoff::cli {

class Input {
 public:
  // Throws Failure if it cannot be opened.
  explicit Input(const std::string& path);

  // The next line, without its end. Throws Failure if it cannot be read.
  std::optional<std::string> line();
  std::string all();

  std::size_t lines_read() const { return lines_read_; }
  // How much of it was read, 0 to 1; nothing if nobody can know.
  std::optional<double> part_read();

 private:
  void check() const;

  const std::string path_;
  std::ifstream file_;
  std::istream& stream_;
  std::size_t lines_read_ = 0;
  std::optional<double> size_;
};

// The text itself; the content of a file for "@path", standard input for "-".
std::string text_or_content(const std::string& text);

}  // namespace handoff::cli
