// The same burst without a limit: a std::queue, a mutex and threads, as one would write it in ten minutes.
//
// It runs in a process of its own, so that its memory can be told apart from that of the pool, and so that it can be ended
// in the middle. It is refused more than options.mebibytes, for the sake of the machine it runs on; nobody does that to a
// real one but the kernel, by killing it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "options.hpp"

namespace burst {

class Unbounded {
 public:
  // The clicks begin to come. Call it while there is no other thread: it forks.
  explicit Unbounded(const Options& options);
  ~Unbounded() { end(); }
  Unbounded(const Unbounded&) = delete;
  Unbounded& operator=(const Unbounded&) = delete;

  struct Look {
    std::uint64_t accepted = 0;
    std::uint64_t processed = 0;
    std::uint64_t capped = 0;       // Clicks that would have been too much for the machine.
    std::uint64_t resident = 0;     // Bytes.
    handoff::Duration last_wait{};  // Of the click that was taken last.
  };
  Look look() const;  // A snapshot.
  void end();

 private:
  struct Counts;

  Counts* const counts_;  // Shared by the two processes.
  pid_t process_ = 0;     // 0 once it has ended.
};

}  // namespace burst
