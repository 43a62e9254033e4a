// A file for the time of the run, written by a Generator and read in blocks of whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "log.hpp"

namespace log_pipeline {

// Deleted with it.
class LogFile {
 public:
  // Throws std::system_error if it cannot be made.
  LogFile();
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Throws std::runtime_error if the disk is full. False if it was stopped before the end.
  bool write(std::uint64_t lines, std::uint64_t seed, const std::stop_token& stop,
             const std::function<void(std::uint64_t lines_written)>& tell);

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::string path_;
  std::uint64_t bytes_ = 0;
};

// One thread, or one coroutine, at a time.
class BlockReader {
 public:
  BlockReader(const LogFile& file, std::size_t block)
      : file_(file.path(), std::ios::binary), block_(block) {}

  // About this many bytes, up to the end of a line. None at the end of the file.
  std::optional<std::string> next();

 private:
  std::ifstream file_;
  const std::size_t block_;
};

}  // namespace log_pipeline
