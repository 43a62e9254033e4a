// An item whose move constructor throws, once, when it is moved for the n-th time.
#pragma once

namespace handoff::tests {

struct Broken {
  int number;
};

struct Fragile {
  // breaks_at: 1 for the first move; 0 for never.
  explicit Fragile(int its_number, int breaks_at = 0) : number(its_number), moves_left(breaks_at) {}
  Fragile(Fragile&& other) : number(other.number) {
    if (other.moves_left == 1) {
      other.moves_left = 0;
      throw Broken{other.number};
    }
    moves_left = other.moves_left > 0 ? other.moves_left - 1 : 0;
  }
  Fragile& operator=(Fragile&&) = delete;

  operator int() const { return number; }  // Its priority.

  int number;
  int moves_left = 0;
};

}  // namespace handoff::tests
