// What the program ends with, the same for every command. `handoff --help` and docs/cli.md have this table.
#pragma once

namespace handoff::cli {

enum class Exit : int {
  ok = 0,
  failed = 1,       // The task is dead or cancelled; what was asked for was refused.
  usage = 2,        // Something on the command line, or in a file it names, is not allowed.
  not_found = 3,    // There is no such task, schedule or workflow.
  unavailable = 4,  // The store cannot be opened, read or written now, or wants another token.
  try_later = 75,   // The queue is full, or it was not finished in time. EX_TEMPFAIL.
};

constexpr int to_int(Exit code) { return static_cast<int>(code); }

}  // namespace handoff::cli
