// A kernel: a few threads that use one piece of the library, in all the orders and with all the stale values that Relacy comes up with.
//
//   struct SmallLockKernel : Kernel<SmallLockKernel, 2> {
//     SmallLock lock;
//     Plain<int> count;
//     void thread(unsigned index) { ... }     // by each of the threads
//     void after() { check(...); }            // once all have ended
//   };
//   const Added small_lock = add<SmallLockKernel>("SmallLock");
//
// It fails by a data race on a Plain, a check, a deadlock (a lost wake-up), a livelock, an atomic used after its end.
#pragma once

#include <source_location>
#include <string_view>

#include "weak_memory/relacy_here.hpp"

namespace handoff::weak_memory {

using Where = std::source_location;

template <typename Derived, int threads>
class Kernel : public rl::test_suite<Derived, threads> {
 public:
  Kernel() { detail::weak::begin_execution(); }
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

using Run = bool (*)(rl::test_params&);
struct Added {};
Added add(std::string_view name, Run run);

template <typename K>
Added add(std::string_view name) {
  return add(name, &rl::simulate<K>);
}

}  // namespace handoff::weak_memory
