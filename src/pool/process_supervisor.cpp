#include "handoff/detail/pool/process_supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

namespace {

constexpr int control_fd = 3;
constexpr char our_name[] = "pool-supervisor";  // 15 letters: no more are kept.

void send_report(const Report& report) {
  static_cast<void>(::send(control_fd, &report, sizeof report, MSG_NOSIGNAL));  // Or we are gone.
}

// Moves its descriptors to 0 to 3 and closes all others: ours, and those of other threads' runs, whose ends would stay
// open otherwise.
[[noreturn]] void give_up_early(const Supervision& supervision, int error) {
  const Report report{.stage = Stage::fork, .error_number = error};
  static_cast<void>(::send(supervision.control, &report, sizeof report, MSG_NOSIGNAL));
  ::_exit(127);
}

void keep_only_our_descriptors(const Supervision& supervision) {
  const int wanted[] = {supervision.input, supervision.output, supervision.errors,
                        supervision.control};
  int safe[4];
  // Out of the way first: one of them may stand where another must go.
  for (int i = 0; i < 4; ++i) {
    safe[i] = ::fcntl(wanted[i], F_DUPFD_CLOEXEC, 4);
    if (safe[i] < 0) give_up_early(supervision, errno);
  }
  for (int i = 0; i < 3; ++i) {
    if (::dup2(safe[i], i) < 0) give_up_early(supervision, errno);
  }
  if (::dup3(safe[3], control_fd, O_CLOEXEC) < 0) give_up_early(supervision, errno);
  if (::syscall(SYS_close_range, control_fd + 1, ~0U, 0) == 0) return;
  // A kernel or a sandbox that does not know it: one by one, however many there may be.
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) give_up_early(supervision, errno);
  for (int fd = control_fd + 1; static_cast<rlim_t>(fd) < limit.rlim_cur; ++fd) ::close(fd);
}

// By the kernel's own call: the library's refuses two signals that it uses itself, and which may have come ignored from
// whoever started us. The kernel's structure is all zeros for the default action.
void reset_signals() {
  const unsigned long defaults[4] = {};
  constexpr std::size_t mask_size = 8;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, defaults, nullptr, mask_size);
  }
}

// Not that of the program we were forked from: `pkill -9 handoff` is meant for the worker, and we are to clean up after it.
void go_by_our_name(std::span<char> arguments) {
  ::prctl(PR_SET_NAME, our_name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_name = i + 1 < sizeof our_name && i + 1 < arguments.size();
    arguments[i] = is_name ? our_name[i] : '\0';
  }
}

[[noreturn]] void give_up(Stage stage, int error) {
  send_report({.stage = stage, .error_number = error});
  ::_exit(127);
}

[[noreturn]] void become_program(const Launch& launch, pid_t supervisor) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);  // It died before that took effect.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (launch.directory() != nullptr && ::chdir(launch.directory()) != 0) {
    give_up(Stage::enter_directory, errno);
  }
  int error = ENOENT;
  for (auto path = launch.candidates(); *path != nullptr; ++path) {
    ::execve(*path, launch.arguments(), launch.environment());
    // Like execvp(): what may not be executed is remembered, but the search goes on.
    if (errno == EACCES) error = EACCES;
    if (errno == EACCES || errno == ENOENT || errno == ENOTDIR) continue;
    error = errno;
    break;
  }
  give_up(Stage::execute, error);
}

// Kills our direct children, as far as a buffer of their numbers goes. Returns false if there is no such list here.
bool kill_children() {
  const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  char text[4096];
  const ssize_t length = ::read(list, text, sizeof text);
  ::close(list);
  pid_t child = 0;
  for (ssize_t i = 0; i < length; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      child = child * 10 + (text[i] - '0');
    } else {  // Every number ends with a space; one cut off by the end of the buffer is left for the next look.
      if (child > 0) ::kill(child, SIGKILL);
      child = 0;
    }
  }
  return true;
}

// Reaps orphans that came to us while the program runs. Returns true once the program itself has ended; it stays unreaped.
bool has_ended(pid_t program) {
  while (true) {
    siginfo_t info{};
    const int looked = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    if (looked != 0 || info.si_pid == 0) return false;
    if (info.si_pid == program) return true;
    ::waitpid(info.si_pid, nullptr, 0);
  }
}

// Waits until the program ends by itself or by an order, or until we are gone.
void watch(pid_t program, pid_t parent) {
  sigset_t child_ended;
  ::sigemptyset(&child_ended);
  ::sigaddset(&child_ended, SIGCHLD);
  pollfd fds[] = {
      {.fd = control_fd, .events = POLLIN, .revents = 0},
      {.fd = ::signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK),
       .events = POLLIN,
       .revents = 0},
      // The socket alone would do, if nobody else ever held our end: a fork() of the user's that does not exec does.
      {.fd = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)),
       .events = POLLIN,
       .revents = 0}};
  if (::getppid() != parent) return;
  while (!has_ended(program)) {
    // Without a descriptor for signals, which a full table may deny us, it has to look from time to time.
    if (::poll(fds, 3, fds[1].fd < 0 ? 100 : -1) < 0) continue;
    if (fds[2].revents != 0) return;
    signalfd_siginfo ignored;
    if (fds[1].revents != 0) static_cast<void>(::read(fds[1].fd, &ignored, sizeof ignored));
    if (fds[0].revents == 0) continue;
    char order;
    if (::recv(control_fd, &order, 1, 0) != 1) return;
    if (order == static_cast<char>(Order::kill)) return;
    ::kill(-program, SIGTERM);
    ::kill(-program, SIGCONT);            // One that is stopped would not notice.
    if (::getpgid(program) != program) {  // It went to another group: it is meant first of all.
      ::kill(program, SIGTERM);
      ::kill(program, SIGCONT);
    }
  }
}

// Kills all that is left, and returns how the program ended.
//
// Why this finds everything: what is in the group dies by the first step. Any other process that still lives has an
// ancestor that is our direct child, since orphans come to us; each look at the list kills those, and each that we
// reap is followed by another look, because its children are ours by then.
Report end_everything(pid_t program) {
  Report report;
  ::kill(-program, SIGKILL);
  ::kill(program, SIGKILL);  // It may have gone to another group. Unreaped, the number is its own.
  while (::wait4(program, &report.status, 0, &report.usage) < 0 && errno == EINTR) {
  }
  while (kill_children() && (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR)) {
  }
  return report;
}

}  // namespace

void supervise(const Supervision& supervision) noexcept {
  ::setsid();  // What kills our whole group must not kill the supervisor.
  keep_only_our_descriptors(supervision);
  reset_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  go_by_our_name(supervision.arguments);

  const pid_t self = ::getpid();
  // vfork() is safe here, with one thread and all signals blocked, and copies no page tables a second time.
  const pid_t program = ::vfork();
  if (program == 0) become_program(*supervision.launch, self);
  if (program < 0) give_up(Stage::fork, errno);
  ::setpgid(program,
            program);  // It does so too; whoever comes first, the group exists from here on.
  for (int fd = 0; fd < control_fd; ++fd) ::close(fd);

  watch(program, supervision.parent);
  send_report(end_everything(program));
  ::_exit(0);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
