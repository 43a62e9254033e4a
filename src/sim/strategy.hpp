// Who runs next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/detail/core/config.hpp"
#include "handoff/testing/simulate.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

using testing::Faults;

// The same numbers with every compiler: splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return limit < 2 ? 0 : next() % limit; }

 private:
  std::uint64_t state_;
};

// A change of threads: at its own step `step`, thread `from` gives way to `to`.
struct Change {
  unsigned from;
  std::uint64_t step;
  unsigned to;
  bool is_forced;  // It had to wait, or has ended.
  friend bool operator==(const Change&, const Change&) = default;
};
struct Schedule {
  std::vector<Change> changes;
  std::vector<std::uint64_t> draws;  // What was chosen apart from threads, and not by chance.

  // Without those who waited and were the first to go on.
  std::size_t real_changes() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(changes, [](const Change& each) { return each.from != each.to; }));
  }
};

std::string to_text(const Schedule& schedule);
// Throws std::invalid_argument if it is none.
Schedule schedule_from(std::string_view text);

class Strategy {
 public:
  virtual ~Strategy() = default;
  // A run begins; false if there are no more.
  virtual bool begin_run() = 0;
  // The thread that has run until now, and whether it could go on.
  struct From {
    unsigned number;
    std::uint64_t step;  // Its own.
    bool can_go_on;
  };
  // Who goes on: one of `ready`, by number, lowest first. Nobody if this run, which began as others did, has come to another choice.
  static constexpr unsigned nobody = 0;
  virtual unsigned next(std::span<const unsigned> ready, const From& from) = 0;
  // A choice that is none of threads, from 0 to `below` - 1; nothing if that is left to chance.
  virtual std::optional<std::uint64_t> draw(std::uint64_t) { return std::nullopt; }
  virtual void thread_started(unsigned) {}
  // There is no other run than those that have begun.
  virtual bool was_all() const { return false; }
  // What the draws of this run begin with.
  virtual std::uint64_t draws_seed() const = 0;
};

std::unique_ptr<Strategy> random_strategy(std::uint64_t first_seed, std::uint64_t runs);
std::unique_ptr<Strategy> pct_strategy(unsigned depth, std::uint64_t first_seed,
                                       std::uint64_t runs);
std::unique_ptr<Strategy> exhaustive_strategy(unsigned most_preemptions, std::uint64_t most_runs);
// Once: by this schedule; where it says nothing whoever runs goes on, and draws are by the seed.
std::unique_ptr<Strategy> replay_strategy(Schedule schedule, std::uint64_t draws_seed);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
