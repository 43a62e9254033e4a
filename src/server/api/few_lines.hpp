// For the log, of what anybody can make happen again and again: one line a second, and how many others there were before it.
//
//   if (const auto others = refusals.next()) log.info("refused", {{"others_before", fmt::to_string(*others)}});
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"

namespace handoff::server {

class FewLines {
 public:
  // How many were left out since the last line; nothing: this one is left out, too.
  std::optional<std::uint64_t> next() {
    const auto turn = lock_.hold();
    if (said_at_ && now() - *said_at_ < pause) {
      ++left_out_;
      return std::nullopt;
    }
    said_at_ = now();
    return std::exchange(left_out_, 0);
  }

 private:
  static constexpr auto pause = std::chrono::seconds(1);

  Mutex lock_{{.name = "few lines"}};
  std::optional<TimePoint> said_at_;  // Guarded by lock_, as is what follows.
  std::uint64_t left_out_ = 0;
};

}  // namespace handoff::server
