// What a supervisor leaves behind if it is itself killed: the program dies with it, but what that has started does not, and goes to the nearest ancestor that adopts orphans.
//
// Most often that is init, where nobody can tell whose they were. A program that does nothing but run programs, such as `handoff work`, can be that ancestor: then a run ends when they are dead.
// A library never makes itself one: from then on all that anybody below this process leaves behind comes to it, and it reaps only what is its own.
//
// How they are known: by the session of the supervisor, which is dead and not reaped, so that nobody else has its number; and those that have gone to another session by a variable in their
// environment, which has another value in each run. Only direct children are killed, whose numbers nobody else can have; the children of those come to us when they die, and are looked at next.
#pragma once

#include <sys/types.h>

#include <span>

#include "handoff/process_pool.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

// From now on, and for good. To be called by a program, once, before it runs any. `variable` is in the environment of each command, and must stay.
// Supervisors no longer show the arguments of this program as theirs: who kills it by its name must not hit those who clean up after it.
void adopt_orphans(const char* variable);

// Where the arguments of this program stand, to be overwritten in a supervisor; empty unless orphans are adopted.
std::span<char> arguments_to_hide();

// Kills what the run of this supervisor has left, and waits for it; nothing unless orphans are adopted.
void end_orphans(pid_t supervisor, const ProcessCommand& command);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
