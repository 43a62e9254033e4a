// Which processes have a store open. Each holds a lock on a byte of a file beside it, which the kernel takes away when the process ends, however it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class ProcessLock {
 public:
  static constexpr std::int64_t most_processes = 4096;

  // Takes the first number that is free, from 1 on. Throws std::system_error, or std::runtime_error if there are too many.
  explicit ProcessLock(const std::string& path);
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;
  ~ProcessLock();

  // This process's number, as long as this lives.
  std::int64_t number() const { return number_; }
  // Whether somebody has that number now. Our own counts.
  bool is_alive(std::int64_t number) const;
  // Whoever watches the file hears of it.
  void ring() const;

 private:
  int file_ = -1;
  std::int64_t number_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
