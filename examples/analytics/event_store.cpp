#include "event_store.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace analytics {

EventStore::EventStore()
    : path_(std::filesystem::temp_directory_path() / "handoff-analytics-XXXXXX"),
      file_(mkstemp(path_.data())) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
}

EventStore::~EventStore() {
  close(file_);
  unlink(path_.c_str());
}

void EventStore::add(const Event& event) {
  buffer_ += fmt::format("{}\n", event.number);
  if (buffer_.size() > 64 * 1024) flush();
}

void EventStore::flush() {
  while (!buffer_.empty()) {
    const auto written = write(file_, buffer_.data(), buffer_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category(), path_);
    buffer_.erase(0,
                  static_cast<std::size_t>(written));  // What is in the file is not written again.
  }
}

void EventStore::read(const std::function<void(std::uint64_t number)>& each) const {
  std::ifstream file(path_);
  for (std::uint64_t number = 0; file >> number;) each(number);
}

}  // namespace analytics
