// Moves what a program reads and writes, until it has ended.
//
// This is the one place in the library that does not wait in core/park: what it waits for are descriptors, and only the
// kernel knows about those. It waits in one poll(2) for all of them, without a time slice: a stop comes through an eventfd,
// and so does the deadline under a replaced clock.
#pragma once

#include <poll.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/pool/process_child.hpp"
#include "handoff/detail/pool/process_fds.hpp"
#include "handoff/process_pool.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

// Why we ended a program that would have run on.
enum class Cut : std::uint8_t { none, timeout, deadline, stop };

// What a stream has given so far.
struct Collected {
  std::string bytes = {};
  std::uint64_t total = 0;
};

struct Pumped {
  Collected output = {};
  Collected errors = {};
  Report report = {};
  Cut cut = Cut::none;
};

class Pump {
 public:
  // `stop` is signalled through `wakeup`.
  Pump(Child& child, const ProcessCommand& command, const Wait& wait, const Wakeup& wakeup);
  Pumped run();

 private:
  void poll_all();
  void poll_until(Deadline deadline);
  void write_input();
  void read_into(Fd& fd, Collected& into);
  void read_reports();
  void look_at_the_time();
  void cut(Cut reason);
  Deadline next_deadline() const;

  Child& child_;
  const ProcessCommand& command_;
  const Wait& wait_;
  const Wakeup& wakeup_;
  const Deadline timeout_;
  Deadline kill_at_;  // Never, unless it was told to end.
  std::string_view left_to_write_;
  std::array<pollfd, 6> fds_{};
  std::array<char, 65536> buffer_;
  bool has_ended_ = false;
  bool could_not_start_ = false;
  Pumped pumped_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
