// A plain variable whose races are seen in a simulation.
//
//   handoff::testing::Var<int> hits{0, "hits"};
//   hits = hits + 1;                       // fails if another thread is at it at the same time, and one of them writes
//
// An access takes time: others may come in between its begin and its end. Two accesses that overlap, one of them a write, are a data race, and
// fail the run. What a lock, a queue or a join keeps apart never overlaps.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "handoff/detail/core/operation.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/testing/simulate.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

template <typename T>
class Var {
 public:
  explicit Var(T value = {}, std::string_view name = "a variable")
      : value_(std::move(value)), name_(name) {}
  Var(const Var&) = delete;

  T get() const {
    const Access access(*this, readers_);
    return value_;
  }
  void set(T value) {
    const Access access(*this, writers_);
    value_ = std::move(value);
  }
  operator T() const { return get(); }  // NOLINT: it stands for the variable.
  Var& operator=(T value) {
    set(std::move(value));
    return *this;
  }
  Var& operator=(const Var& other) { return *this = other.get(); }
  Var& operator+=(const T& value) { return *this = get() + value; }
  Var& operator-=(const T& value) { return *this = get() - value; }
  Var& operator++() { return *this += 1; }
  Var& operator--() { return *this -= 1; }

 private:
  class Access {
   public:
    Access(const Var& var, int& count)
        : here_(var.name_, &count == &var.writers_ ? "write" : "read"), count_(count) {
      const bool writes = &count == &var.writers_;
      if (var.writers_ > 0 || (writes && var.readers_ > 0)) {
        check(false, "data race: two threads use " + var.name_ +
                         " at the same time, and one of them writes");
      }
      ++count_;
      detail::sim::point(&var, writes ? detail::sim::Access::store : detail::sim::Access::load);
    }
    ~Access() { --count_; }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    const detail::sim::Operation here_;
    int& count_;
  };

  T value_;
  const std::string name_;
  // Of those who are at it. Simulated threads run one at a time: plain numbers will do.
  mutable int readers_ = 0;
  mutable int writers_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
