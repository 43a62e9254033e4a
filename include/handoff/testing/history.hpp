// Checks that what simulated threads saw of an object could have come about one call after another: that it is linearizable.
//
//   struct Counter {                                       // the model: what the object would be if there was one thread
//     int value = 0;
//     bool operator==(const Counter&) const = default;
//     // Whether this call may happen now, and give this result. If so, it has happened.
//     bool apply(const std::string&, const int* result) {
//       ++value;
//       return result == nullptr || *result == value;
//     }
//   };
//
//   handoff::testing::simulate({.runs = 10'000}, [] {
//     handoff::testing::History<std::string, int> history;
//     MyCounter counter;
//     {
//       const auto add = [&] { history.record("add", [&] { return counter.add(); }); };
//       handoff::Thread one(add);
//       handoff::Thread two(add);
//     }
//     history.check(Counter{});                            // or the run fails, and says what happened when
//   });
//
// A call takes effect at one moment between its begin and its end. If one call ended before another began, it came first; those that overlap
// may have come in either order. The history is linearizable if there is an order in which the model allows every call the result it had.
//
// A model is copyable, has == and has apply(operation, result). A call that never returned (its thread still waits, or it threw) has no result, a
// null pointer: it may have taken effect, or not, and both are tried.
//
// Two calls that have to meet (a send and its receive, where nothing is buffered) are one event. A model that has
//
//   bool apply_both(const Operation& first, const Result* result, const Operation& second, const Result* other_result);
//
// is also asked whether two calls that overlap may happen together; it is asked in both orders.
//
// Operations and results are shown as text if they are text, numbers, a bool, a Refusal or a std::expected of these; others need a to_string().
//
// The search goes through all orders in the worst case, but comes to no state twice (Wing and Gong, with Lowe's memory of states). A history holds
// at most 64 calls; a dozen, over and over, find more than one that is long.
//
// For simulated threads, which run one at a time: it has no lock.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/testing/simulate.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

// What the search has found.
struct Linearization {
  bool is_possible = false;
  // The calls by their numbers, from 0 on. If it is not possible: the longest order that goes well.
  std::vector<std::size_t> order = {};
};

template <typename Operation, typename Result>
class History {
 public:
  static constexpr std::size_t most_calls = 64;

  // From when to when: a count, not a time.
  struct Call {
    static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

    unsigned thread = 0;
    Operation operation;
    std::uint64_t begin = 0;
    std::uint64_t end = never;
    std::optional<Result> result = {};  // Nothing: it never returned.

    bool has_returned() const { return end != never; }
    const Result* result_or_null() const { return result ? &*result : nullptr; }
  };

  History() = default;
  History(const History&) = delete;  // Threads refer to it.
  History& operator=(const History&) = delete;

  // Calls `f`, and gives what it returns; if that is nothing, a Result{} is recorded. If `f` throws, the call never returned.
  template <std::invocable F>
  auto record(Operation operation, F f) {
    const std::size_t call = begin(std::move(operation));
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      end(call, Result{});
    } else {
      auto result = f();
      end(call, Result(result));
      return result;
    }
  }

  // The same in two steps; begin() gives the number for end(). Others may run before the call begins, or every call would begin where the
  // one before it ended, and few would be apart. Throws std::invalid_argument if there are too many calls.
  std::size_t begin(Operation operation) {
    detail::sim::point(this, detail::sim::Access::other);
    return begin_by(detail::sim::this_number(), std::move(operation));
  }
  // For a history that is made up.
  std::size_t begin_by(unsigned thread, Operation operation) {
    if (calls_.size() == most_calls) {
      throw std::invalid_argument("a history holds at most " + std::to_string(most_calls) +
                                  " calls");
    }
    calls_.push_back({.thread = thread, .operation = std::move(operation), .begin = ++moment_});
    return calls_.size() - 1;
  }
  void end(std::size_t call, Result result) {
    calls_.at(call).result.emplace(std::move(result));
    calls_.at(call).end = ++moment_;
  }

  const std::vector<Call>& calls() const { return calls_; }

  // Looks for an order, from this state of the model on.
  template <typename Model>
  Linearization linearize(const Model& initial) const;

  // Fails the run if there is none, with explain() for a reason.
  template <typename Model>
  void check(const Model& initial) const {
    const auto found = linearize(initial);
    if (!found.is_possible) testing::check(false, explain(found));
  }

  // The calls, one a line, and how far an order goes well.
  std::string explain(const Linearization& found) const;

 private:
  std::string line(std::size_t call) const;

  // Simulated threads run one at a time, and none comes in here: plain data will do.
  std::vector<Call> calls_;
  std::uint64_t moment_ = 0;
};

// -- The search -----------------------------------------------------------------------------------

namespace history {

// Sets of calls, one bit for each.
using CallSet = std::uint64_t;
constexpr CallSet only(std::size_t call) { return CallSet{1} << call; }

template <typename Call, typename Model>
class Search {
 public:
  explicit Search(const std::vector<Call>& calls) : calls_(calls) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i].has_returned()) returned_ |= only(i);
    }
  }

  Linearization run(const Model& initial) {
    const bool is_possible = go_on(0, initial);
    return {.is_possible = is_possible, .order = is_possible ? order_ : longest_};
  }

 private:
  // Whether the calls that are not done can follow. As deep as there are calls.
  bool go_on(CallSet done, const Model& state) {
    if ((returned_ & ~done) == 0) return true;
    if (!is_new(done, state)) return false;
    if (order_.size() > longest_.size()) longest_ = order_;

    const std::uint64_t first_end = first_end_after(done);
    const auto may_be_next = [&](std::size_t call) {
      return (done & only(call)) == 0 && calls_[call].begin < first_end;
    };
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!may_be_next(i)) continue;
      if (follows(done, state, i)) return true;
      if constexpr (calls_may_meet) {
        for (std::size_t j = 0; j < calls_.size(); ++j) {
          if (j != i && may_be_next(j) && both_follow(done, state, i, j)) return true;
        }
      }
    }
    return false;
  }

  bool follows(CallSet done, const Model& state, std::size_t call) {
    Model next = state;
    if (!next.apply(calls_[call].operation, calls_[call].result_or_null())) return false;
    order_.push_back(call);
    if (go_on(done | only(call), next)) return true;
    order_.pop_back();
    return false;
  }

  // Neither has ended before the other began, or the other could not be next: they overlap.
  bool both_follow(CallSet done, const Model& state, std::size_t first, std::size_t second) {
    Model next = state;
    const Call& one = calls_[first];
    const Call& other = calls_[second];
    if (!next.apply_both(one.operation, one.result_or_null(), other.operation,
                         other.result_or_null())) {
      return false;
    }
    order_.insert(order_.end(), {first, second});
    if (go_on(done | only(first) | only(second), next)) return true;
    order_.resize(order_.size() - 2);
    return false;
  }

  // Who begins later cannot come before the call that ends then.
  std::uint64_t first_end_after(CallSet done) const {
    std::uint64_t first = Call::never;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if ((done & only(i)) == 0 && calls_[i].end < first) first = calls_[i].end;
    }
    return first;
  }

  // What follows depends on nothing else: if it did not go well once, it never will.
  bool is_new(CallSet done, const Model& state) {
    auto& seen = seen_[done];
    for (const Model& other : seen) {
      if (other == state) return false;
    }
    seen.push_back(state);
    return true;
  }

  static constexpr bool calls_may_meet = requires(Model model, const Call& call) {
    {
      model.apply_both(call.operation, call.result_or_null(), call.operation, call.result_or_null())
    } -> std::convertible_to<bool>;
  };

  const std::vector<Call>& calls_;
  CallSet returned_ = 0;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> longest_;
  std::unordered_map<CallSet, std::vector<Model>> seen_;
};

// -- As text --------------------------------------------------------------------------------------

template <typename T>
std::string text_of(const T& value) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else {
    return std::string(to_string(value));
  }
}
template <typename T, typename E>
std::string text_of(const std::expected<T, E>& value) {
  if (!value) return text_of(value.error());
  if constexpr (std::is_void_v<T>) {
    return "ok";
  } else {
    return text_of(*value);
  }
}

inline std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace history

template <typename Operation, typename Result>
template <typename Model>
Linearization History<Operation, Result>::linearize(const Model& initial) const {
  return history::Search<Call, Model>(calls_).run(initial);
}

template <typename Operation, typename Result>
std::string History<Operation, Result>::line(std::size_t number) const {
  const Call& call = calls_[number];
  const std::string end = call.has_returned() ? std::to_string(call.end) : "";
  return "\n  " + history::padded("#" + std::to_string(number + 1), 5) +
         history::padded("thread " + std::to_string(call.thread), 11) +
         history::padded(std::to_string(call.begin) + "-" + end, 9) +
         history::text_of(call.operation) + ": " +
         (call.result ? history::text_of(*call.result) : "never returned");
}

template <typename Operation, typename Result>
std::string History<Operation, Result>::explain(const Linearization& found) const {
  std::string text = found.is_possible ? "linearizable" : "not linearizable";
  text += "; the calls, from when to when:";
  for (std::size_t i = 0; i < calls_.size(); ++i) text += line(i);
  text += found.is_possible ? "\nin this order:" : "\nthe longest order that goes well:";
  if (found.order.empty()) text += "\n  none";
  for (const std::size_t call : found.order) text += line(call);
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
