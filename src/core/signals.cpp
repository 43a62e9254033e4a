// From a signal to a stop request:
//
//   1. The handler notes the signal and posts the semaphore: all it may do, since request_stop() runs callbacks that lock.
//   2. A second signal of this kind within `one_and_the_same` is taken for the first: timeout(1) sends one to the process and
//      one to its group. Any later one puts the default action back and is raised again.
//   3. The thread that waits for the semaphore requests the stop, and ends: there is one stop in a process.
//
// This is the one wait of the library that is not a park: of everything that wakes a thread only sem_post() and writing to
// a file may be called in a signal handler. A semaphore rather than a pipe or an eventfd, because a child process does not
// inherit it: after fork() its copy is another semaphore, after exec() there is none.
//
// Invariants:
// - `shutdown` is replaced under its lock only, and what it points to is never destroyed: a handler may run at any moment,
//   also while the program ends.
// - A handler in a forked child finds the parent's Shutdown, whose thread does not exist there; it knows by the pid.
#include "handoff/signals.hpp"

#include <fmt/core.h>
#include <semaphore.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

namespace {

// Longer than what a program takes to send a signal twice, shorter than what a person does.
constexpr std::int64_t one_and_the_same = 100'000'000;  // ns

struct Shutdown {
  Shutdown() { HANDOFF_ASSERT(::sem_init(&came, 0, 0) == 0); }

  const pid_t process = ::getpid();
  sem_t came;
  std::stop_source source;
  std::array<bool, NSIG> added{};                  // Guarded by the lock.
  std::array<atomic<std::int64_t>, NSIG> first{};  // When it came; 0: not yet.
};

constinit SmallLock lock;
constinit atomic<Shutdown*> shutdown{nullptr};
constinit atomic<int> last{0};
// A handler may only touch atomics that need no lock.
static_assert(atomic<Shutdown*>::is_always_lock_free && atomic<int>::is_always_lock_free &&
              atomic<std::int64_t>::is_always_lock_free);

// By the system's clock: handoff::now() may be a test's, which locks.
std::int64_t nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void do_what_it_does_by_default(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);  // Blocked until the handler returns.
  // The first process of a container has no default actions, and would not be killed.
  if (::getpid() == 1) ::_exit(128 + signal);
}

void handle(int signal) {
  const int error = errno;
  // Pairs with the release in begin_locked(): a handler is installed after that, but may run on any thread.
  Shutdown* const present = shutdown.load(acquire);
  if (present->process == ::getpid()) {
    const std::int64_t at = nanoseconds();
    std::int64_t first = 0;
    // Relaxed: the time is all there is to it.
    if (present->first[static_cast<std::size_t>(signal)].compare_exchange_strong(first, at,
                                                                                 relaxed)) {
      last.store(signal, relaxed);  // Published by sem_post().
      ::sem_post(&present->came);
    } else if (at - first >= one_and_the_same) {
      do_what_it_does_by_default(signal);
    }
  } else {
    do_what_it_does_by_default(signal);
  }
  errno = error;
}

void request_stop_when_it_came(Shutdown& present) {
  name_this_thread("handoff signals");
  while (::sem_wait(&present.came) != 0) HANDOFF_ASSERT(errno == EINTR);
  present.source.request_stop();
}

Shutdown& begin_locked() {
  // Pairs with nothing: it is written under the lock.
  Shutdown* present = shutdown.load(relaxed);
  if (present != nullptr && present->process == ::getpid()) return *present;
  auto fresh = std::make_unique<Shutdown>();  // The first, or the first since a fork().
  Thread([&shutdown = *fresh] { request_stop_when_it_came(shutdown); }).detach();
  last.store(0, relaxed);
  present = fresh.release();
  shutdown.store(present, release);  // Pairs with the acquire in handle().
  return *present;
}

void refuse_what_cannot_be_caught(int signal) {
  const bool is_the_systems_own = signal > 31 && signal < SIGRTMIN;
  if (signal > 0 && signal < NSIG && signal != SIGKILL && signal != SIGSTOP &&
      !is_the_systems_own) {
    return;
  }
  throw std::invalid_argument(fmt::format(
      "signals must be from 1 to {} and neither SIGKILL nor SIGSTOP, got {}", NSIG - 1, signal));
}

void add(int signal) {
  struct sigaction action{};
  action.sa_handler = &handle;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(signal, &action, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), fmt::format("signal {}", signal));
  }
}

}  // namespace

std::stop_token stop_on_signals(std::initializer_list<int> signals) {
  for (const int signal : signals) refuse_what_cannot_be_caught(signal);
  SmallGuard guard(lock);
  Shutdown& present = begin_locked();
  for (const int signal : signals) {
    bool& added = present.added[static_cast<std::size_t>(signal)];
    if (!added) add(signal);
    added = true;
  }
  return present.source.get_token();
}

// A number only: nothing comes with it.
int last_signal() { return last.load(relaxed); }

}  // namespace handoff::inline HANDOFF_FLAVOUR
