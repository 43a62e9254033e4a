// A text that many want about once a second, and that is made once.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"

namespace handoff::server {

class SharedText {
 public:
  // What was made less than most of a second ago, or what `make` gives.
  template <typename Make>
  std::string text(Make make) {
    const auto turn = lock_.hold();
    if (!made_at_ || now() - *made_at_ > good_for) {
      text_ = make();
      made_at_ = now();
    }
    return text_;
  }

 private:
  static constexpr Duration good_for = std::chrono::milliseconds(900);
  Mutex lock_{{.name = "a text for many"}};
  std::string text_;
  std::optional<TimePoint> made_at_;
};

}  // namespace handoff::server
