// Where page views are kept: a file with a line for each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "handoff/clock.hpp"

namespace analytics {

struct Event {
  std::uint64_t number;  // From 0 on: how we know which ones arrived.
  handoff::TimePoint viewed;
};

// For one thread at a time.
class EventStore {
 public:
  // Throws std::system_error, here and below, if the file cannot be used.
  EventStore();
  ~EventStore();  // Deletes the file.
  EventStore(const EventStore&) = delete;
  EventStore& operator=(const EventStore&) = delete;

  void add(const Event& event);
  void flush();

  // Calls `each` with the number of every event that is in the file.
  void read(const std::function<void(std::uint64_t number)>& each) const;

 private:
  std::string path_;
  int file_;
  std::string buffer_;
};

}  // namespace analytics
