#include "handoff/detail/pool/process_fds.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "handoff/detail/core/assert.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Of one end only: each end of a pipe has flags of its own, and programs expect theirs to block.
void do_not_block(const Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0) refuse("fcntl");
}

std::array<Fd, 2> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse("pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

void Fd::close() {
  if (is_open()) ::close(std::exchange(fd_, -1));
}

Channel make_input_pipe() {
  auto [read, write] = make_pipe();
  do_not_block(write);
  return {.ours = std::move(write), .theirs = std::move(read)};
}

Channel make_output_pipe() {
  auto [read, write] = make_pipe();
  do_not_block(read);
  return {.ours = std::move(read), .theirs = std::move(write)};
}

Channel make_control_socket() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse("socketpair");
  return {.ours = Fd(ends[0]), .theirs = Fd(ends[1])};
}

Wakeup::Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_.is_open()) refuse("eventfd");
}

void Wakeup::signal() const noexcept {
  const std::uint64_t one = 1;
  // It can fail only if it was signalled 2^64 - 2 times already.
  HANDOFF_ASSERT(::write(fd_.get(), &one, sizeof one) == sizeof one);
}

void Wakeup::clear() const noexcept {
  std::uint64_t count;
  static_cast<void>(::read(fd_.get(), &count, sizeof count));  // Nothing there is fine.
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
