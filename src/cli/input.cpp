#include "cli/input.hpp"

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>

#include "cli/failure.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

namespace {

Failure cannot_read(const std::string& path) {
  const int error = errno;
  const std::string what = path == "-" ? "standard input" : tasks::quoted(path, 200);
  return Failure(Exit::usage,
                 "cannot read " + what + ": " + std::generic_category().message(error));
}

}  // namespace

Input::Input(const std::string& path) : path_(path), stream_(path == "-" ? std::cin : file_) {
  if (path_ == "-") return;
  std::error_code error;
  if (std::filesystem::is_directory(path_, error)) {
    errno = EISDIR;
    throw cannot_read(path_);
  }
  file_.open(path_, std::ios::binary);
  if (!file_) throw cannot_read(path_);
  const auto size = std::filesystem::file_size(path_, error);
  if (!error && size > 0) size_ = static_cast<double>(size);
}

std::optional<std::string> Input::line() {
  std::string line;
  if (!std::getline(stream_, line)) {
    check();
    return std::nullopt;
  }
  ++lines_read_;
  return line;
}

std::string Input::all() {
  std::string text{std::istreambuf_iterator<char>(stream_), {}};
  check();
  return text;
}

void Input::check() const {
  if (stream_.bad()) throw cannot_read(path_);
}

std::optional<double> Input::part_read() {
  if (!size_) return std::nullopt;
  const auto at = file_.tellg();
  return at < 0 ? 1.0 : static_cast<double>(at) / *size_;
}

std::string text_or_content(const std::string& text) {
  if (text == "-") return Input("-").all();
  return text.starts_with('@') ? Input(text.substr(1)).all() : text;
}

}  // namespace handoff::cli
