// What a simulated program asks the simulator, in the flavour that has one. See testing/simulate.hpp.
//
// Simulated threads run one at a time. Before each access to an atomic the running one asks whether another is to go on first: that is
// the only place where they change, apart from those where one has to wait. A thread that is not simulated (the test's own,
// say, before and after) gets none of this: its atomics are plain, and it sleeps in the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "handoff/clock.hpp"
#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

enum class Access : std::uint8_t { load, store, change, other };

// Whether the calling thread is simulated.
bool is_simulated();
// Whether it waits by the simulator's means. Not while it is Uninterrupted: the locks it takes then are shared with threads that are not simulated.
bool waits_simulated();

// Another thread may run before this access.
void point(const void* object, Access access,
           const std::source_location& where = std::source_location::current());

// A weak compare-and-swap that could succeed is to fail all the same.
bool fails_for_no_reason();

// What could be done at once is to be refused all the same.
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
bool refuses();
#else
constexpr bool refuses() { return false; }
#endif

// Waits until somebody wakes this address. False if virtual time has come to the deadline first. The caller has looked at
// what it waits for since it was last at a point.
bool block(const void* address, TimePoint deadline);
void wake_one(const void* address);
void wake_all(const void* address);
// Which of the simulated threads the calling one is; 0 if none.
unsigned this_number();

TimePoint now();

// In the order of the calls, in each run from 1 on: for what must not depend on addresses.
std::uint64_t next_number();

// The calling thread was given this name.
void thread_is_called(std::string_view name);

// By the run's seed: from 0 to `below` - 1.
std::uint64_t draw(std::uint64_t below);

// What there is one of in a process, and in each run: made before the body, destroyed when the run has ended well.
enum class Once : std::uint8_t { timers, registry };
inline constexpr std::size_t once_count = 2;
struct Slot {
  void* object = nullptr;
  void (*destroy)(void*) = nullptr;
};
// The run's; null if the calling thread is not simulated.
Slot* slot(Once which);

// Before the body, while there is no other thread: makes what the slots are for.
void fill_slots();

// While it lives nobody else comes in. For locks that all runs share, or a run that fails might leave one locked for the next; and not for
// what may wait.
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};
#else
struct Uninterrupted {
  Uninterrupted() {}  // So that nobody asks why it is not used.
};
#endif

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
