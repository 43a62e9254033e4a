// Who has which item: everything that was accepted is delivered once, and nothing else is.
#pragma once

#include <string>
#include <vector>

#include "handoff/testing/simulate.hpp"

namespace handoff::tests {

class Ledger {
 public:
  explicit Ledger(int items)
      : accepted_(static_cast<std::size_t>(items)), delivered_(static_cast<std::size_t>(items)) {}

  // Simulated threads run one at a time, and none comes in here: plain numbers will do.
  void accepted(int item) { ++accepted_[index(item)]; }
  void delivered(int item) { ++delivered_[index(item)]; }

  // At the end, when nobody is at it any more.
  void check() const {
    for (std::size_t i = 0; i < accepted_.size(); ++i) {
      if (accepted_[i] == delivered_[i] && accepted_[i] <= 1) continue;
      testing::check(false, "item " + std::to_string(i) + " was accepted " +
                                std::to_string(accepted_[i]) + " times and delivered " +
                                std::to_string(delivered_[i]) + " times");
    }
  }

 private:
  std::size_t index(int item) const {
    testing::check(item >= 0 && static_cast<std::size_t>(item) < accepted_.size(),
                   "an item that nobody has sent");
    return static_cast<std::size_t>(item);
  }
  std::vector<int> accepted_;
  std::vector<int> delivered_;
};

}  // namespace handoff::tests
