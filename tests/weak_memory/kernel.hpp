// A kernel: a few threads that use one piece of the library, in all the orders and with all the stale values that Relacy comes up with.
//
//   struct SmallLockKernel : Kernel<SmallLockKernel, 2> {
//     SmallLock lock;
//     Plain<int> count;
//     void work(unsigned index) { ... }       // by each of the threads
//     void after() { check(...); }            // once all have ended
//   };
//   const Added small_lock = add<SmallLockKernel>("SmallLock");
//
// It fails by a data race on a Plain, a check, a deadlock (a lost wake-up), a livelock, an atomic used after its end.
#pragma once

#include <map>
#include <source_location>
#include <string_view>

#include "weak_memory/relacy_here.hpp"

namespace handoff::weak_memory {

using Where = std::source_location;

template <typename Derived, int threads>
class Kernel : public rl::test_suite<Derived, threads> {
 public:
  Kernel() { detail::weak::begin_execution(); }
  ~Kernel() { detail::weak::end_execution(); }

  void thread(unsigned index) {
    detail::weak::be_this_thread();
    static_cast<Derived*>(this)->work(index);
  }
};

// Data that is no atomic: two accesses, one of them a write, must be ordered.
template <typename T>
class Plain {
 public:
  explicit Plain(T value = {}) : var_(value) {}

  T read(Where where = Where::current()) const { return var_(detail::weak::info_of(where)); }
  void write(T value, Where where = Where::current()) {
    var_(detail::weak::info_of(where)) = value;
  }
  void add(T value, Where where = Where::current()) { write(read(where) + value, where); }

 private:
  rl::var<T> var_;
};

inline void check(bool is_so, Where where = Where::current()) {
  if (is_so) return;
  rl::ctx().fail_test("check", rl::test_result_user_assert_failed, detail::weak::info_of(where));
}

// Where items have been: two who use the same place must be ordered, also if each has made an item of its own there.
class Places {
 public:
  void touch(const void* place, Where where = Where::current()) {
    touched_.try_emplace(place).first->second.write(1, where);
  }

 private:
  std::map<const void*, Plain<int>> touched_;
};

// An item that leaves its traces in all the places it comes to.
class Item {
 public:
  Item(Places& places, int value) : places_(&places), value_(value) { places_->touch(this); }
  Item(Item&& other) noexcept : places_(other.places_), value_(other.value_) {
    check(other.is_there_ == there);
    places_->touch(&other);
    places_->touch(this);
  }
  Item& operator=(Item&&) = delete;
  ~Item() {
    check(is_there_ == there);
    places_->touch(this);
    is_there_ = 0;
  }

  int value() const {
    places_->touch(this);
    return value_;
  }

 private:
  static constexpr int there = 0x17e3;

  Places* places_;
  int value_;
  volatile int is_there_ = there;
};

using Run = bool (*)(rl::test_params&);
struct Added {};
Added add(std::string_view name, Run run);

template <typename K>
Added add(std::string_view name) {
  return add(name, &rl::simulate<K>);
}

}  // namespace handoff::weak_memory
