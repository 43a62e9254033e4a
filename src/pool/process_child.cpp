#include "handoff/detail/pool/process_child.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "handoff/detail/pool/process_orphans.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

namespace {

// From before fork() on, so that no handler of the user's ever runs in the supervisor.
class BlockAllSignals {
 public:
  BlockAllSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockAllSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockAllSignals(const BlockAllSignals&) = delete;
  BlockAllSignals& operator=(const BlockAllSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Child::Child(const ProcessCommand& command) {
  const Launch launch(command);
  Channel input = make_input_pipe();
  Channel output = make_output_pipe();
  Channel errors = make_output_pipe();
  Channel control = make_control_socket();
  fork_supervisor({.launch = &launch,
                   .input = input.theirs.get(),
                   .output = output.theirs.get(),
                   .errors = errors.theirs.get(),
                   .control = control.theirs.get(),
                   .parent = ::getpid(),
                   .arguments = arguments_to_hide()});
  input_ = std::move(input.ours);
  output_ = std::move(output.ours);
  errors_ = std::move(errors.ours);
  control_ = std::move(control.ours);
}

Child::~Child() { reap(); }

void Child::fork_supervisor(const Supervision& supervision) {
  {
    const BlockAllSignals guard;
    // fork() and not vfork() or clone(): what shares our memory would have to be trusted with it until the program ends,
    // and the sanitizers know only fork(). What it costs is in docs/guide/processes.md.
    pid_ = ::fork();
    if (pid_ == 0) supervise(supervision);
  }
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

void Child::order(Order order) {
  // If the supervisor is gone, so is the program.
  static_cast<void>(::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT));
}

std::optional<Report> Child::next_report(bool& is_gone) {
  Report report;
  const ssize_t length = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (length == static_cast<ssize_t>(sizeof report)) return report;
  is_gone = length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
  return std::nullopt;
}

void Child::end_orphans(const ProcessCommand& command) {
  // Its descriptors are closed before its children go elsewhere: only when it can be reaped have they come.
  wait(WEXITED | WNOWAIT);
  process::end_orphans(pid_, command);
}

void Child::reap() {
  control_.close();  // Tells the supervisor to kill what is left, if it has not ended yet.
  wait(WEXITED);
}

void Child::wait(int options) const {
  siginfo_t info{};
  // By its descriptor, because somebody in this process may wait for any child, and its number be given away again.
  // Then, and if SIGCHLD is ignored, this fails with ECHILD when it is gone, which is all we want to know.
  const auto kind = pidfd_.is_open() ? P_PIDFD : P_PID;
  const auto id = static_cast<id_t>(pidfd_.is_open() ? pidfd_.get() : pid_);
  while (::waitid(kind, id, &info, options) != 0 && errno == EINTR) {
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
