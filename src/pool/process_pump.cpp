#include "handoff/detail/pool/process_pump.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

namespace {

// Who writes to a pipe that nobody reads gets SIGPIPE, on the writing thread. So it is blocked on this thread, and taken
// back before it is unblocked; one that was pending before is left alone. The program's disposition stays the user's.
class KeepSigpipeAway {
 public:
  KeepSigpipeAway() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    was_pending_ = is_pending();
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~KeepSigpipeAway() {
    const timespec now{};
    while (!was_pending_ && is_pending() && ::sigtimedwait(&pipe_, nullptr, &now) < 0 &&
           errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  KeepSigpipeAway(const KeepSigpipeAway&) = delete;
  KeepSigpipeAway& operator=(const KeepSigpipeAway&) = delete;

 private:
  static bool is_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

// Wakes the pump when a replaced clock reaches a moment.
class ClockAlarm {
 public:
  ClockAlarm(ClockSource& clock, Deadline deadline, const Wakeup& wakeup) : clock_(clock) {
    timer_.wakeup = &wakeup;
    timer_.due = deadline.when();
    timer_.fire = [](Timer& timer) { static_cast<WakingTimer&>(timer).wakeup->signal(); };
    clock_.arm(timer_);
  }
  ~ClockAlarm() { clock_.disarm(timer_); }
  ClockAlarm(const ClockAlarm&) = delete;
  ClockAlarm& operator=(const ClockAlarm&) = delete;

 private:
  struct WakingTimer : Timer {
    const Wakeup* wakeup = nullptr;
  };
  ClockSource& clock_;
  WakingTimer timer_;
};

Deadline earlier(Deadline one, Deadline other) { return one.when() < other.when() ? one : other; }

timespec until(Deadline deadline) {
  const auto left = std::max(deadline.when() - now(), Duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
}

}  // namespace

Pump::Pump(Child& child, const ProcessCommand& command, const Wait& wait, const Wakeup& wakeup)
    : child_(child),
      command_(command),
      wait_(wait),
      wakeup_(wakeup),
      timeout_(within(command.timeout)),
      left_to_write_(command.input) {}

Pumped Pump::run() {
  const KeepSigpipeAway guard;
  if (left_to_write_.empty()) child_.input().close();
  while (!has_ended_) {
    look_at_the_time();
    poll_all();
    if (fds_[0].revents != 0) write_input();
    if (fds_[1].revents != 0) read_into(child_.output(), pumped_.output);
    if (fds_[2].revents != 0) read_into(child_.errors(), pumped_.errors);
    if (fds_[3].revents != 0) wakeup_.clear();
    if (fds_[4].revents != 0 || fds_[5].revents != 0) read_reports();
  }
  // All who could write are dead, so what is left is there already. The end of the file need not be: another thread may have
  // forked while the other end was open here, or the program has passed it on. So no more is read than a pipe can hold.
  read_into(child_.output(), pumped_.output);
  read_into(child_.errors(), pumped_.errors);
  return std::move(pumped_);
}

void Pump::poll_all() {
  const auto watch = [](int fd, short events) {
    return pollfd{.fd = fd, .events = events, .revents = 0};
  };
  // A closed descriptor is -1, which poll() passes over.
  fds_ = {watch(child_.input().get(), POLLOUT), watch(child_.output().get(), POLLIN),
          watch(child_.errors().get(), POLLIN), watch(wakeup_.fd(), POLLIN),
          watch(child_.control(), POLLIN),      watch(child_.supervisor(), POLLIN)};
  poll_until(next_deadline());
}

void Pump::poll_until(Deadline deadline) {
  std::optional<ClockAlarm> alarm;
  timespec time{};
  timespec* limit = nullptr;
  if (deadline.is_never()) {
    // Nothing but the descriptors.
  } else if (ClockSource* clock = installed_clock()) {
    alarm.emplace(*clock, deadline, wakeup_);
  } else {
    time = until(deadline);
    limit = &time;
  }
  // A signal handler of the user's may interrupt it: then nothing is ready.
  if (::ppoll(fds_.data(), fds_.size(), limit, nullptr) < 0) {
    for (pollfd& fd : fds_) fd.revents = 0;
  }
}

Deadline Pump::next_deadline() const {
  if (pumped_.cut != Cut::none) return kill_at_;
  return earlier(timeout_, wait_.deadline);
}

void Pump::look_at_the_time() {
  if (pumped_.cut != Cut::none) {
    if (!kill_at_.has_passed()) return;
    child_.order(Order::kill);
    kill_at_ = {};
  } else if (wait_.stop.stop_requested()) {
    cut(Cut::stop);
  } else if (wait_.deadline.has_passed()) {
    cut(Cut::deadline);
  } else if (timeout_.has_passed()) {
    cut(Cut::timeout);
  }
}

void Pump::cut(Cut reason) {
  pumped_.cut = reason;
  if (command_.grace == Duration::zero()) return child_.order(Order::kill);
  child_.order(Order::terminate);
  kill_at_ = within(command_.grace);
}

void Pump::write_input() {
  const ssize_t written =
      ::write(child_.input().get(), left_to_write_.data(), left_to_write_.size());
  if (written > 0) left_to_write_.remove_prefix(static_cast<std::size_t>(written));
  const bool is_refused = written < 0 && errno != EAGAIN && errno != EINTR;
  // A program need not read all of its input: that it closed it is no error.
  if (left_to_write_.empty() || is_refused) child_.input().close();
}

// Reads all that is there, and keeps what fits.
void Pump::read_into(Fd& fd, Collected& into) {
  ssize_t left_in_pipe = has_ended_ && fd.is_open() ? ::fcntl(fd.get(), F_GETPIPE_SZ) : 0;
  while (fd.is_open()) {
    const ssize_t got = ::read(fd.get(), buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return fd.close();
    const auto bytes = static_cast<std::size_t>(got);
    into.total += bytes;
    into.bytes.append(buffer_.data(), std::min(bytes, command_.output_limit - into.bytes.size()));
    // Not for ever: the others want their turn, and the time may be up.
    if (!has_ended_) return;
    left_in_pipe -= got;
    if (left_in_pipe <= 0) return fd.close();
  }
}

void Pump::read_reports() {
  bool is_gone = false;
  while (auto report = child_.next_report(is_gone)) {
    // What could not be started has an end as well, which says less.
    if (!could_not_start_) pumped_.report = *report;
    could_not_start_ = could_not_start_ || report->stage != Stage::ended;
    has_ended_ = report->stage == Stage::ended || report->stage == Stage::fork;
  }
  if (has_ended_) return;
  const bool supervisor_is_gone = is_gone || fds_[5].revents != 0;
  if (!supervisor_is_gone) return;
  // Somebody has killed it, and with it the program, by its parent-death signal.
  if (!could_not_start_) pumped_.report.status = SIGKILL;
  child_.end_orphans(command_);
  has_ended_ = true;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
