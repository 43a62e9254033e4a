// A time zone as the C library knows it: what ours is compared with. One at a time, since it is the process's.
#pragma once

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

namespace handoff::tasks {

class LibcZone {
 public:
  explicit LibcZone(const std::string& name) {
    ::setenv("TZ", name.c_str(), 1);
    ::tzset();
  }
  ~LibcZone() {
    ::unsetenv("TZ");
    ::tzset();
  }
  LibcZone(const LibcZone&) = delete;
  LibcZone& operator=(const LibcZone&) = delete;

  std::tm at(std::chrono::sys_seconds time) const {
    const std::time_t count = time.time_since_epoch().count();
    std::tm fields{};
    ::localtime_r(&count, &fields);
    return fields;
  }
  std::chrono::seconds offset(std::chrono::sys_seconds time) const {
    return std::chrono::seconds(at(time).tm_gmtoff);
  }
};

}  // namespace handoff::tasks
