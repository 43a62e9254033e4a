#include "log_file.hpp"

#include <stdlib.h>  // NOLINT: mkstemp() is POSIX, not in <cstdlib>.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace log_pipeline {

LogFile::LogFile() : path_(std::filesystem::temp_directory_path() / "handoff-log-XXXXXX") {
  const int file = mkstemp(path_.data());
  if (file < 0) throw std::system_error(errno, std::generic_category(), path_);
  close(file);
}

LogFile::~LogFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

bool LogFile::write(std::uint64_t lines, std::uint64_t seed, const std::stop_token& stop,
                    const std::function<void(std::uint64_t lines_written)>& tell) {
  constexpr std::uint64_t lines_at_a_time = 10'000;
  std::ofstream file(path_, std::ios::binary);
  Generator generator(seed);
  for (std::uint64_t i = 0; i < lines; ++i) {
    if (i % lines_at_a_time == 0) {
      if (stop.stop_requested()) return false;
      tell(i);
    }
    const auto& line = generator.next();
    file << line;
    bytes_ += line.size();
  }
  if (!file.flush()) throw std::runtime_error(path_ + ": cannot be written, is the disk full?");
  return true;
}

std::optional<std::string> BlockReader::next() {
  std::string text(block_, '\0');
  file_.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file_.gcount()));
  if (text.empty()) return std::nullopt;
  if (std::string rest; text.back() != '\n' && std::getline(file_, rest)) text += rest + '\n';
  return text;
}

}  // namespace log_pipeline
