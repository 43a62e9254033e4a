// A command made ready for the other side of fork(), where no memory may be allocated.
#pragma once

#include <string>
#include <vector>

#include "handoff/process_pool.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

// Throws std::invalid_argument if it cannot mean anything.
void validate(const ProcessCommand& command);

// Points into the command, which must live longer.
class Launch {
 public:
  explicit Launch(const ProcessCommand& command);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // What execve() wants: arrays that end with a null pointer.
  char* const* arguments() const { return arguments_.data(); }
  char* const* environment() const { return environment_.data(); }
  // The paths to try, in order; ends with a null pointer.
  const char* const* candidates() const { return candidates_.data(); }
  const char* directory() const { return directory_; }  // Null: where we are.

 private:
  void collect_environment(const ProcessCommand& command);
  void collect_candidates(const std::string& program);

  std::vector<char*> arguments_;
  std::vector<char*> environment_;
  std::vector<std::string> paths_;
  std::vector<const char*> candidates_;
  const char* directory_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
