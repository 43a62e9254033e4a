// Says in the log that something goes wrong again and again: at once the first time, then at most once a second, with how
// often it happened since the last line.
#pragma once

#include <cstdint>
#include <string_view>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class FailureLog {
 public:
  // `line` is written if it is time for one.
  void note(std::string_view line);

 private:
  static constexpr Duration interval = std::chrono::seconds(1);

  atomic<std::uint64_t> unsaid_{0};
  atomic<Duration::rep> quiet_until_{Duration::min().count()};  // Whoever moves it on writes.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
