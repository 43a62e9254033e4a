// The search for an order says the same as a look at all permutations of small random histories.
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "handoff/testing/history.hpp"
#include "sim/item_models.hpp"

namespace handoff::tests {
namespace {

using Kind = ItemCall::Kind;

// What the search is compared with: every order of every choice of the calls that never returned, and, where calls may meet, every way to
// put neighbours together.
template <typename Model>
class BruteForce {
 public:
  explicit BruteForce(const ItemHistory& history) : calls_(history.calls()) {}

  bool is_linearizable(const Model& initial) const {
    std::vector<std::size_t> order(calls_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      for (std::size_t length = 0; length <= order.size(); ++length) {
        const std::vector<std::size_t> chosen(order.begin(),
                                              order.begin() + static_cast<std::ptrdiff_t>(length));
        if (has_all_that_returned(chosen) && is_in_order(chosen) && goes_well(chosen, 0, initial)) {
          return true;
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

 private:
  bool has_all_that_returned(const std::vector<std::size_t>& chosen) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const bool is_chosen = std::find(chosen.begin(), chosen.end(), i) != chosen.end();
      if (calls_[i].has_returned() && !is_chosen) return false;
    }
    return true;
  }
  bool is_in_order(const std::vector<std::size_t>& chosen) const {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (std::size_t j = i + 1; j < chosen.size(); ++j) {
        if (calls_[chosen[j]].end < calls_[chosen[i]].begin) return false;
      }
    }
    return true;
  }
  bool goes_well(const std::vector<std::size_t>& chosen, std::size_t from, Model state) const {
    if (from == chosen.size()) return true;
    const auto& one = calls_[chosen[from]];
    Model after = state;
    if (after.apply(one.operation, one.result_or_null()) && goes_well(chosen, from + 1, after)) {
      return true;
    }
    if constexpr (std::same_as<Model, RendezvousModel>) {
      if (from + 1 == chosen.size()) return false;
      const auto& other = calls_[chosen[from + 1]];
      const bool overlap = one.begin < other.end && other.begin < one.end;
      return overlap &&
             state.apply_both(one.operation, one.result_or_null(), other.operation,
                              other.result_or_null()) &&
             goes_well(chosen, from + 2, state);
    }
    return false;
  }

  const std::vector<ItemHistory::Call>& calls_;
};

// Calls by three threads, with results that may well be wrong.
class RandomHistory {
 public:
  explicit RandomHistory(std::uint64_t seed) : random_(seed) {}

  void fill(ItemHistory& history) {
    std::optional<std::size_t> under_way[3];
    const std::size_t most = 1 + below(6);
    for (std::size_t moment = 0; moment < 12; ++moment) {
      auto& current = under_way[below(3)];
      if (current) {
        history.end(*current, outcome_of(history.calls()[*current].operation));
        current.reset();
      } else if (history.calls().size() < most) {
        current = history.begin_by(1, any_call());
      }
    }
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  ItemCall any_call() {
    const Kind kinds[] = {Kind::put,  Kind::put,  Kind::offer, Kind::take,
                          Kind::take, Kind::poll, Kind::close};
    return {kinds[below(6) + (below(4) == 0 ? 1 : 0)], static_cast<int>(below(2))};
  }
  ItemOutcome outcome_of(const ItemCall& call) {
    if (call.kind == Kind::close) return {};
    if (below(12) == 0) return Refusal::closed;
    if (!call.waits() && below(3) == 0) return call.adds() ? Refusal::full : Refusal::empty;
    return call.adds() ? ItemOutcome() : ItemOutcome(static_cast<int>(below(2)));
  }

  std::mt19937_64 random_;
};

template <typename Model>
void compare_with_brute_force(const Model& initial) {
  int possible = 0;
  constexpr int histories = 3'000;
  for (int seed = 1; seed <= histories; ++seed) {
    ItemHistory history;
    RandomHistory(static_cast<std::uint64_t>(seed)).fill(history);
    const auto found = history.linearize(initial);
    ASSERT_EQ(found.is_possible, BruteForce<Model>(history).is_linearizable(initial))
        << "seed " << seed << ": " << history.explain(found);
    possible += found.is_possible ? 1 : 0;
  }
  EXPECT_GT(possible, histories / 30);
  EXPECT_LT(possible, histories - histories / 30);
}

TEST(HistorySearch, SaysTheSameAsAllPermutationsOfAQueue) {
  compare_with_brute_force(QueueModel{.capacity = 1});
  compare_with_brute_force(QueueModel{.capacity = 2});
}

TEST(HistorySearch, SaysTheSameAsAllPermutationsOfCallsThatMeet) {
  compare_with_brute_force(RendezvousModel());
}

}  // namespace
}  // namespace handoff::tests
