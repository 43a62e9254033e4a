// The picture of a burst: the pool and the queue without a limit side by side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "support/terminal.hpp"

namespace burst {

// One look at one of the two.
struct Side {
  std::uint64_t limit = 0;  // How many may wait; without a limit: how many come.
  std::uint64_t waiting = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t processed = 0;
  handoff::Duration next_wait{};  // How long a click accepted now will wait.
  std::uint64_t resident = 0;     // Bytes.
};

struct Picture {
  handoff::Duration elapsed{};
  std::uint64_t clicks = 0;
  std::uint64_t most_memory = 0;  // Where the bars of memory end.
  Side pool;
  Side unbounded;
  bool stopping = false;
  bool is_over = false;
};

class Screen {
 public:
  explicit Screen(example::Terminal& terminal) : terminal_(terminal) {}
  void show(const Picture& picture);

  static constexpr std::size_t columns = 78;
  static constexpr std::size_t rows = 15;

 private:
  std::vector<std::string> panel(const Picture& picture) const;
  std::string title(const Picture& picture) const;
  std::string depth(const Side& side) const;
  std::string memory(const Side& side, std::uint64_t most) const;
  std::string over_time(const example::History& depths) const;

  static constexpr std::size_t bar_width = 20;
  example::Terminal& terminal_;
  example::History pool_depths_{bar_width};
  example::History unbounded_depths_{bar_width};
};

}  // namespace burst
