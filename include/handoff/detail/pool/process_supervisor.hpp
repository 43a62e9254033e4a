// The process between us and the program: it starts the program, signals its group, collects all that it leaves behind,
// and kills everything when we are gone.
//
//   we --fork--> supervisor (a session of its own) --fork, exec--> program (a process group of its own) --> ...
//
// Why a process: a parent-death signal is bound to the thread that forked, which in a pool may end early, and does not
// reach grandchildren. The supervisor instead holds a socket to us and a descriptor of our process, and sees us end however
// we end. As a subreaper it also inherits what the program's children leave behind, so that nothing can escape it.
//
// Rules that keep it safe:
// - We have many threads, so after fork() it may only make system calls: no memory, no locks, no exceptions.
// - All signals are blocked in it, it is in no group of ours, and it has a name of its own: only SIGKILL to it alone ends it early. Then the
//   program, whose parent-death signal is bound to the supervisor's only thread, dies as well; for what that has started see process_orphans.hpp.
// - The program is not reaped before its group was killed for the last time: until then nobody else can have its number.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <span>

#include "handoff/detail/pool/process_launch.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

// What we may ask of it, one byte each. When the socket closes it kills everything at once.
enum class Order : char { terminate = 'T', kill = 'K' };

enum class Stage : std::uint8_t { ended, fork, enter_directory, execute };

// What it tells us: how the program ended, or the step that failed before it began.
struct Report {
  Stage stage = Stage::ended;
  int error_number = 0;
  int status = 0;  // As from wait4().
  struct rusage usage{};
};

// What it takes over. The numbers are those of our descriptors, valid after fork().
struct Supervision {
  const Launch* launch;
  int input;
  int output;
  int errors;
  int control;
  pid_t parent;
  std::span<char> arguments;  // Of our program; its own name takes their place. May be empty.
};

// The supervisor's whole life. To be called in the child of a fork(), with all signals blocked.
[[noreturn]] void supervise(const Supervision& supervision) noexcept;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
