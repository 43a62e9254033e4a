#include "sim/strategy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

// -- A schedule as text: 1@12>2,2@4>1!/0/3 (from @ its step > to; ! where it had no choice; then what was drawn)

std::string to_text(const Schedule& schedule) {
  std::string text;
  for (const Change& each : schedule.changes) {
    text += fmt::format("{}{}@{}>{}{}", text.empty() ? "" : ",", each.from, each.step, each.to,
                        each.is_forced ? "!" : "");
  }
  for (const std::uint64_t each : schedule.draws) text += fmt::format("/{}", each);
  return text;
}

namespace {

template <typename Number>
Number number_from(std::string_view& text, char after, std::string_view whole) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(end - text.data());
  const bool is_followed = after == '\0' || (length < text.size() && *end == after);
  if (error != std::errc() || !is_followed) {
    throw std::invalid_argument(
        fmt::format("a schedule is a list like 1@12>2,2@4>1! and not \"{}\"", whole));
  }
  text.remove_prefix(length + (after == '\0' ? 0 : 1));
  return number;
}

}  // namespace

Schedule schedule_from(std::string_view text) {
  Schedule schedule;
  const std::string_view whole = text;
  bool has_more = !text.empty() && !text.starts_with('/');
  while (has_more) {
    Change change{};
    change.from = number_from<unsigned>(text, '@', whole);
    change.step = number_from<std::uint64_t>(text, '>', whole);
    change.to = number_from<unsigned>(text, '\0', whole);
    if (text.starts_with('!')) {
      change.is_forced = true;
      text.remove_prefix(1);
    }
    schedule.changes.push_back(change);
    has_more = text.starts_with(',');
    if (has_more) text.remove_prefix(1);
  }
  while (text.starts_with('/')) {
    text.remove_prefix(1);
    schedule.draws.push_back(number_from<std::uint64_t>(text, '\0', whole));
  }
  if (!text.empty()) {
    throw std::invalid_argument(
        fmt::format("a schedule ends before \"{}\" in \"{}\"", text, whole));
  }
  return schedule;
}

namespace {

// Several runs, one for each seed.
class Seeded : public Strategy {
 public:
  Seeded(std::uint64_t first_seed, std::uint64_t runs) : next_seed_(first_seed), left_(runs) {}
  bool begin_run() override {
    if (left_ == 0) return false;
    --left_;
    seed_ = next_seed_++;
    random_ = Random(seed_ * 0x2545f4914f6cdd1dULL + 1);
    begin();
    return true;
  }
  std::uint64_t draws_seed() const override { return seed_; }

 protected:
  virtual void begin() = 0;
  Random& random() { return random_; }

 private:
  std::uint64_t next_seed_;
  std::uint64_t left_;
  std::uint64_t seed_ = 0;
  Random random_{0};
};

// Some bugs need a change at every step, others long stretches without one: each run has its own rate.
class RandomStrategy final : public Seeded {
 public:
  using Seeded::Seeded;
  unsigned next(std::span<const unsigned> ready, const From& from) override {
    if (from.can_go_on && random().below(period_) != 0) return from.number;
    return ready[random().below(ready.size())];
  }

 private:
  void begin() override {
    constexpr std::uint64_t periods[] = {2, 4, 8, 20, 60};
    period_ = periods[random().below(std::size(periods))];
  }
  std::uint64_t period_ = 2;
};

// Probabilistic concurrency testing: the ready thread with the highest priority runs; at depth - 1 moments the running one becomes the
// lowest. Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs.
class PctStrategy final : public Seeded {
 public:
  PctStrategy(unsigned depth, std::uint64_t first_seed, std::uint64_t runs)
      : Seeded(first_seed, runs), depth_(std::max(depth, 1U)) {}

  unsigned next(std::span<const unsigned> ready, const From& from) override {
    ++step_;
    if (from.can_go_on && std::ranges::find(changes_, step_) != changes_.end()) {
      priority_[from.number] = --lowest_;
    }
    return *std::ranges::max_element(ready, {}, [&](unsigned each) { return priority_[each]; });
  }
  void thread_started(unsigned number) override {
    priority_[number] = static_cast<std::int64_t>(random().below(1'000'000)) * 64 + number;
  }

 private:
  void begin() override {
    // How long the run will be is not known, and what earlier runs say must not matter: the same seed, the same run.
    constexpr std::uint64_t lengths[] = {32, 128, 512, 2'048, 8'192, 65'536};
    const std::uint64_t length = lengths[random().below(std::size(lengths))];
    step_ = 0;
    lowest_ = 0;
    priority_.clear();
    changes_.clear();
    for (unsigned i = 1; i < depth_; ++i) changes_.push_back(1 + random().below(length));
  }

  const unsigned depth_;
  std::uint64_t step_ = 0;
  std::int64_t lowest_ = 0;
  std::map<unsigned, std::int64_t> priority_;
  std::vector<std::uint64_t> changes_;
};

// All runs with at most so many preemptions, depth first: each run goes the way of the one before up to the last choice that has another
// answer left, and takes that.
class ExhaustiveStrategy final : public Strategy {
 public:
  ExhaustiveStrategy(unsigned most_preemptions, std::uint64_t most_runs)
      : most_preemptions_(most_preemptions), left_(most_runs) {}

  bool begin_run() override {
    if (left_ == 0 || (has_begun_ && !back_up())) return false;
    has_begun_ = true;
    --left_;
    depth_ = 0;
    preemptions_ = 0;
    return true;
  }

  unsigned next(std::span<const unsigned> ready, const From& from) override {
    if (from.can_go_on && preemptions_ == most_preemptions_) return from.number;
    std::vector<std::uint64_t> answers;
    if (from.can_go_on) answers.push_back(from.number);
    for (const unsigned each : ready) {
      if (each != from.number) answers.push_back(each);
    }
    const std::uint64_t found = answer(std::move(answers));
    if (found == no_answer) return nobody;
    const auto chosen = static_cast<unsigned>(found);
    if (from.can_go_on && chosen != from.number) ++preemptions_;
    return chosen;
  }

  std::optional<std::uint64_t> draw(std::uint64_t below) override {
    std::vector<std::uint64_t> answers(std::min<std::uint64_t>(below, most_drawn));
    for (std::size_t i = 0; i < answers.size(); ++i) answers[i] = i;
    return answers.empty() ? 0 : answer(std::move(answers));
  }

  std::uint64_t draws_seed() const override { return 0; }
  bool was_all() const override {
    return std::ranges::all_of(
        path_, [](const Choice& each) { return each.given + 1 >= each.answers.size(); });
  }

 private:
  static constexpr std::uint64_t most_drawn = 4;
  static constexpr std::uint64_t no_answer = UINT64_MAX;
  struct Choice {
    std::vector<std::uint64_t> answers;
    std::size_t given = 0;
  };

  std::uint64_t answer(std::vector<std::uint64_t> answers) {
    if (answers.size() == 1) return answers.front();
    if (depth_ == path_.size()) path_.push_back({.answers = std::move(answers)});
    const Choice& choice = path_[depth_++];
    // It went another way than before, by the same choices.
    if (!answers.empty() && answers != choice.answers) return no_answer;
    return choice.answers[choice.given];
  }

  bool back_up() {
    path_.resize(depth_);
    while (!path_.empty() && ++path_.back().given == path_.back().answers.size()) path_.pop_back();
    return !path_.empty();
  }

  const unsigned most_preemptions_;
  std::uint64_t left_;
  bool has_begun_ = false;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  unsigned preemptions_ = 0;
};

// By the steps of each thread, not of the run: a schedule from which a change was left out still says something.
class ReplayStrategy final : public Strategy {
 public:
  ReplayStrategy(Schedule schedule, std::uint64_t draws_seed)
      : draws_seed_(draws_seed), draws_(std::move(schedule.draws)) {
    for (const Change& each : schedule.changes) {
      changes_[{each.from, each.step, each.is_forced}].push_back(each.to);
    }
  }
  bool begin_run() override { return !std::exchange(has_begun_, true); }
  unsigned next(std::span<const unsigned> ready, const From& from) override {
    const auto found = changes_.find({from.number, from.step, !from.can_go_on});
    if (found != changes_.end() && !found->second.empty()) {
      const unsigned to = found->second.front();
      found->second.erase(found->second.begin());
      if (std::ranges::find(ready, to) != ready.end()) return to;
    }
    return from.can_go_on ? from.number : ready.front();
  }
  std::optional<std::uint64_t> draw(std::uint64_t below) override {
    if (drawn_ == draws_.size()) return std::nullopt;
    return std::min(draws_[drawn_++], below - 1);
  }
  std::uint64_t draws_seed() const override { return draws_seed_; }

 private:
  struct Key {
    unsigned from;
    std::uint64_t step;
    bool is_forced;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  const std::uint64_t draws_seed_;
  const std::vector<std::uint64_t> draws_;
  std::size_t drawn_ = 0;
  std::map<Key, std::vector<unsigned>> changes_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<Strategy> random_strategy(std::uint64_t first_seed, std::uint64_t runs) {
  return std::make_unique<RandomStrategy>(first_seed, runs);
}
std::unique_ptr<Strategy> pct_strategy(unsigned depth, std::uint64_t first_seed,
                                       std::uint64_t runs) {
  return std::make_unique<PctStrategy>(depth, first_seed, runs);
}
std::unique_ptr<Strategy> exhaustive_strategy(unsigned most_preemptions, std::uint64_t most_runs) {
  return std::make_unique<ExhaustiveStrategy>(most_preemptions, most_runs);
}
std::unique_ptr<Strategy> replay_strategy(Schedule schedule, std::uint64_t draws_seed) {
  return std::make_unique<ReplayStrategy>(std::move(schedule), draws_seed);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
