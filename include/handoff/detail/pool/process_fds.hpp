// Descriptors that are closed when they go out of scope, and never inherited by a program.
#pragma once

#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;  // What poll(2) ignores.
};

// Two ends; ours does not block, the program's does.
struct Channel {
  Fd ours;
  Fd theirs;
};

// Each throws std::system_error if there are no descriptors left.
Channel make_input_pipe();      // We write, they read.
Channel make_output_pipe();     // They write, we read.
Channel make_control_socket();  // Whole messages, both ways.

// What ends a poll(2) from another thread.
class Wakeup {
 public:
  Wakeup();
  int fd() const { return fd_.get(); }
  void signal() const noexcept;
  void clear() const noexcept;

 private:
  Fd fd_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
