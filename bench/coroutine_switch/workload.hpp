// What does it cost to go from one coroutine to another, and to await one that has nothing to wait for?
//
// Two coroutines on one thread take `--switches` turns, one after the other. With `--calls 1` one coroutine awaits
// another as often, each of which returns a number at once. Unless the turns alternate, or the numbers add up, the
// measurement fails.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/report_errors.hpp"

namespace bench {

// Whose turn it is: each of the two coroutines takes half of them.
class Turns {
 public:
  explicit Turns(std::uint64_t count) : each_(count / 2) {}

  std::uint64_t each() const { return each_; }

  void take(int who) {
    changes_ += who != last_ ? 1 : 0;
    last_ = who;
  }

  // Throws std::runtime_error unless they took turns. At the ends one may run alone for a moment.
  void check() const {
    const std::uint64_t expected = 2 * each_;
    if (changes_ <= expected && changes_ + 8 >= expected) return;
    throw std::runtime_error("of " + std::to_string(expected) + " turns only " +
                             std::to_string(changes_) + " changed hands");
  }

 private:
  const std::uint64_t each_;
  std::uint64_t changes_ = 0;
  int last_ = -1;
};

// switching.take_turns(turns);     two coroutines, numbers 0 and 1: each calls turns.take(number), then lets the other on
template <typename Switching>
concept ContenderSwitching =
    std::default_initializable<Switching> && requires(Switching switching, Turns& turns) {
      switching.take_turns(turns);
      { Switching::version() } -> std::convertible_to<std::string>;
    };

// switching.call(1000);     one coroutine awaits others that return 1 to 1000; returns their sum
template <typename Switching>
concept CallsCoroutines = requires(Switching switching, std::uint64_t count) {
  { switching.call(count) } -> std::same_as<std::uint64_t>;
};

template <ContenderSwitching Switching>
void switch_or_call(std::uint64_t count, bool is_call) {
  Switching switching;
  if (!is_call) {
    Turns turns{count};
    switching.take_turns(turns);
    turns.check();
    return;
  }
  if constexpr (CallsCoroutines<Switching>) {
    if (switching.call(count) == count * (count + 1) / 2) return;
    throw std::runtime_error("the numbers do not add up");
  } else {
    throw std::invalid_argument("this contender has no --calls 1");
  }
}

template <ContenderSwitching Switching>
int coroutine_switch(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t count = arguments.number("switches", 2'000'000);
    const bool is_call = arguments.number("calls", 0) != 0;

    const auto began = std::chrono::steady_clock::now();
    switch_or_call<Switching>(count, is_call);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - began;
    JsonLine line{Switching::version()};
    line.add("switches", count);
    line.add("ns_each", taken.count() / static_cast<double>(count));
    line.print();
  });
}

}  // namespace bench
