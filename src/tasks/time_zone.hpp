// A time zone as the system knows it: the files under /usr/share/zoneinfo (TZif, RFC 9636). C++23 has them in <chrono>, but not with g++ 12.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/detail/core/config.hpp"
#include "tasks/posix_zone.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class TimeZone {
 public:
  // By its name, "Europe/Berlin". The error says which name may have been meant.
  static std::expected<TimeZone, std::string> find(std::string_view name);

  // From the bytes of its file. The error says what is wrong with them.
  static std::expected<TimeZone, std::string> read(std::string_view bytes);

  // The time around `time` with one and the same offset. For the years -9999 to 9999.
  ZoneSpan at(std::chrono::sys_seconds time) const;

 private:
  class Parser;

  struct Change {
    std::chrono::sys_seconds when;
    std::chrono::seconds offset;  // From then on.
  };

  std::chrono::seconds first_offset_{};
  std::vector<Change> changes_;
  std::optional<PosixZone> afterwards_;
};

// The names that find() knows, sorted. Reads folders: for error messages and tests.
std::vector<std::string> time_zone_names();

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
