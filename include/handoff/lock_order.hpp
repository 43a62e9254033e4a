// Finds lock orders that can deadlock before they do, and deadlocks when they happen.
//
//   handoff::on_lock_problem([](const handoff::LockProblem& problem) {
//     spdlog::critical("{}", problem.report);
//     std::abort();
//   });
//
// In a checked build (CMake: HANDOFF_CHECKED=ON, which defines HANDOFF_CHECKED=1) every acquisition of a Mutex, a
// SharedMutex or a Monitor is recorded; in any other build none of this exists, and the handler is never called.
//
//   order       A lock is taken while another is held, and somewhere else it was the other way round, directly or
//               over other locks: two threads that do both at once deadlock. Reported the first time both orders were
//               seen, in whatever threads, whether or not anything went wrong, before the acquisition waits.
//   recursion   A thread locks what it holds. A SharedMutex locked shared twice deadlocks as soon as a writer comes between.
//   deadlock    Threads wait for each other in a ring. Found when the last of them is about to sleep; waits() marks
//               them as `deadlocked`.
//
// The report names the locks and shows where each was taken: the place in the source (with hold(), acquire(), Monitor::lock()
// and lock_all(); through std::scoped_lock it is one in the standard library), and the call stack. Stacks show
// function names if the program is linked with -rdynamic, else offsets for addr2line.
//
// What never waits, try_lock(), may be done in any order. Neither does a wait with a deadline count: it ends by itself. A
// wait with a stop_token does: it ends only if somebody thinks of asking.
//
// Bounds: 4096 orders of two locks are remembered, then no new ones (which is said once); those of a destroyed lock are
// forgotten. Of the locks a thread holds at once, 32 are followed. The price is a lock for the whole program and a call stack
// with each acquisition: some microseconds. It is meant for tests and for hunting.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct LockProblem {
  enum class Kind : std::uint8_t { order, recursion, deadlock };

  Kind kind;
  std::vector<std::string> locks;  // Those in the ring: `Mutex "accounts"`, ...
  std::string report;              // For people, several lines.
};

constexpr std::string_view to_string(LockProblem::Kind kind) {
  switch (kind) {
    case LockProblem::Kind::order: return "order";
    case LockProblem::Kind::recursion: return "recursion";
    case LockProblem::Kind::deadlock: return "deadlock";
  }
  return "unknown";
}

using LockProblemHandler = std::function<void(const LockProblem& problem)>;

// Replaces the handler; an empty one restores the default, which logs the report (see log.hpp) and lets the program go
// on. Returns the one before. It is called in the thread that met the problem, under no lock of the library but with those
// the thread holds, and must not throw.
LockProblemHandler on_lock_problem(LockProblemHandler handler);

namespace detail {
void report_lock_problem(const LockProblem& problem) noexcept;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
