// Who waits for what, since when, and where it was called: the answer to "why does nothing move?".
//
//   handoff::name_this_thread("mailer 3");
//   fmt::print("{}", handoff::to_table(handoff::waits()));
//
//   thread     waits to  on                        for     at               held by
//   mailer 3   take      BlockingQueue "emails"    2.1 s   mailer.cpp:48
//   importer   lock      Mutex "accounts"          340 ms  import.cpp:112   mailer 1
//
// The picture is put together from the wait lists themselves, one at a time, so it costs those who wait nothing;
// waits that begin or end meanwhile may or may not be in it.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct WaitInfo {
  std::string thread;          // Who waits.
  std::string operation;       // What it wants to do: "take", "put", "lock", ...
  std::string kind;            // What it waits for: "BlockingQueue", "Mutex", ...
  std::string name;            // As given, or "BlockingQueue#7".
  std::string held_by;         // Whom it waits for, where that is known (a lock's owner).
  std::source_location where;  // Where the waiting call was made.
  TimePoint since{};
  bool deadlocked =
      false;  // Part of a ring of waits that was reported (checked builds; see lock_order.hpp).
  std::string scope = {};  // The scope it works for, after those around it: "server / requests".
  // Of a coroutine: who awaits whom, the innermost first: the co_await each of them is at, last where the task was spawned.
  std::vector<std::source_location> awaited_by = {};
};

// Everybody who waits now, the longest wait first.
std::vector<WaitInfo> waits();

// The waits as a table for people.
std::string to_table(const std::vector<WaitInfo>& waits);

// Names the calling thread, here and for the system (which keeps the first 15 bytes).
void name_this_thread(std::string_view name);

}  // namespace handoff::inline HANDOFF_FLAVOUR
