// A program that runs under its supervisor, seen from our side.
#pragma once

#include <sys/types.h>

#include <optional>

#include "handoff/detail/pool/process_fds.hpp"
#include "handoff/detail/pool/process_launch.hpp"
#include "handoff/detail/pool/process_supervisor.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

class Child {
 public:
  // Throws std::system_error if there are no processes or descriptors left. That the program itself cannot be started
  // comes as a report.
  explicit Child(const ProcessCommand& command);
  // Kills what still runs, and waits for it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Fd& input() { return input_; }
  Fd& output() { return output_; }
  Fd& errors() { return errors_; }
  int control() const { return control_.get(); }
  // Readable once the supervisor is gone; -1 where there is no such thing.
  int supervisor() const { return pidfd_.get(); }

  void order(Order order);
  // The next report that has come, without waiting. `is_gone` is set if none will come any more.
  std::optional<Report> next_report(bool& is_gone);
  // To be called if none will come: for what is left then. See process_orphans.hpp.
  void end_orphans(const ProcessCommand& command);

 private:
  void fork_supervisor(const Supervision& supervision);
  void reap();
  void wait(int options) const;

  Fd input_;
  Fd output_;
  Fd errors_;
  Fd control_;
  Fd pidfd_;
  pid_t pid_ = -1;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
