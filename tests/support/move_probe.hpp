// An item that can be told to throw, or to stop half-way, when it is moved.
#pragma once

#include <functional>
#include <stdexcept>
#include <utility>

namespace handoff::tests {

struct MoveFailed : std::runtime_error {
  MoveFailed() : std::runtime_error("this move throws") {}
};

struct MoveProbe {
  explicit MoveProbe(int number) : value(number) {}
  MoveProbe(MoveProbe&& other) noexcept(false)  // NOLINT: throwing is the point.
      : value(other.value), moves_until_throw(other.moves_until_throw - 1) {
    if (other.moves_until_throw == 0) throw MoveFailed();
    if (other.on_move) std::exchange(other.on_move, {})();
    other.value = -1;
  }
  MoveProbe& operator=(MoveProbe&&) = delete;

  int value;
  int moves_until_throw =
      -1;  // 0: the next move throws, and leaves the item as it is. Negative: none does.
  std::function<void()> on_move;  // Called by the first move, on the moving thread.
};

inline MoveProbe throwing_after(int moves, int value = 0) {
  MoveProbe probe(value);
  probe.moves_until_throw = moves;
  return probe;
}

}  // namespace handoff::tests
