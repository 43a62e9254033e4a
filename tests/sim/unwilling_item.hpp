// Items that sometimes refuse to be moved, and a ledger of what became of each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/testing/simulate.hpp"

namespace handoff::tests {

struct MoveThrew {
  int item;
};
// In a hook that took what was dropped.
struct HookThrew {
  int item;
};

// Every item comes to one end. Simulated threads run one at a time, and none comes in here: plain numbers will do.
class Fates {
 public:
  // One move in so many throws; 0: none.
  explicit Fates(int items, unsigned one_in = 0)
      : ends_(static_cast<std::size_t>(items)), one_in_(one_in) {}

  // Every move of this one throws.
  void set_unmovable(int item) { of(item).is_unmovable = true; }

  // By its producer: it went in, or it is still there.
  void accepted(int item) { ++of(item).accepted; }
  void returned(int item) { ++of(item).returned; }
  // By who took it out.
  void delivered(int item) { ++of(item).delivered; }
  // By who got its exception: it counts as taken, or as dropped.
  void lost_by_taker(int item) { ++of(item).lost_by_taker; }
  void lost_by_eviction(int item) { ++of(item).lost_by_eviction; }
  // By the hook: evicted, or refused, and then it is still its producer's.
  void evicted(int item) { ++of(item).evicted; }
  void refused(int item) { ++of(item).refused; }
  // By itself.
  void destroyed(int item) { ++of(item).destroyed; }
  bool move_throws(int item) {
    return of(item).is_unmovable || (one_in_ != 0 && detail::sim::draw(one_in_) == 0);
  }

  std::size_t all_accepted() const { return sum(&End::accepted); }
  std::size_t all_taken() const { return sum(&End::delivered) + sum(&End::lost_by_taker); }
  std::size_t all_evicted() const { return sum(&End::evicted) + sum(&End::lost_by_eviction); }
  std::size_t all_dropped() const { return all_evicted() + sum(&End::refused); }

  // At the end, when nobody is at it any more.
  void check() const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const End& end = ends_[i];
      const int lost = end.lost_by_taker + end.lost_by_eviction;
      const int out = end.delivered + end.evicted + lost;
      const bool is_right = end.accepted + end.returned == 1 && out == end.accepted &&
                            end.refused <= end.returned && end.destroyed == lost;
      if (!is_right) testing::check(false, "item " + std::to_string(i) + " was " + text(end));
    }
  }

 private:
  struct End {
    bool is_unmovable = false;
    int accepted = 0;
    int returned = 0;
    int delivered = 0;
    int lost_by_taker = 0;
    int lost_by_eviction = 0;
    int evicted = 0;
    int refused = 0;
    int destroyed = 0;
  };

  static std::string text(const End& end) {
    return "accepted " + std::to_string(end.accepted) + ", returned " +
           std::to_string(end.returned) + ", delivered " + std::to_string(end.delivered) +
           ", lost by a taker " + std::to_string(end.lost_by_taker) + ", lost by an eviction " +
           std::to_string(end.lost_by_eviction) + ", evicted " + std::to_string(end.evicted) +
           " and destroyed " + std::to_string(end.destroyed) + " times";
  }
  End& of(int item) { return ends_.at(static_cast<std::size_t>(item)); }
  std::size_t sum(int End::* which) const {
    int total = 0;
    for (const End& end : ends_) total += end.*which;
    return static_cast<std::size_t>(total);
  }

  std::vector<End> ends_;
  const unsigned one_in_;
};

class UnwillingItem {
 public:
  UnwillingItem(Fates& fates, int number) : fates_(&fates), number_(number) {}
  // If it throws, nothing has happened.
  UnwillingItem(UnwillingItem&& other)
      : fates_(other.fates_), number_(other.number_), is_first_(false) {
    testing::check(fates_ != nullptr, "moved twice");
    if (fates_->move_throws(number_)) throw MoveThrew{number_};
    other.fates_ = nullptr;
  }
  ~UnwillingItem() {
    if (fates_ != nullptr) fates_->destroyed(number_);
  }
  UnwillingItem& operator=(UnwillingItem&&) = delete;

  int number() const { return number_; }
  bool is_here() const { return fates_ != nullptr; }
  // It was never moved: it is with the one who made it.
  bool is_first() const { return is_first_; }
  // Ends its life with a known fate.
  int let_go() {
    testing::check(is_here(), "an item that had been moved from");
    fates_ = nullptr;
    return number_;
  }

 private:
  Fates* fates_;  // Null once moved from.
  int number_;
  bool is_first_ = true;
};

}  // namespace handoff::tests
