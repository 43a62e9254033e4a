// Holds a thread still wherever it is, even asleep in the kernel: what a scheduler may do to it, on purpose.
//
//   FreezeSignal freeze;                      // once per test, before the threads
//   freeze.freeze(thread.native_handle());    // returns when the thread is held
//   freeze.thaw();
#pragma once

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "handoff/testing/eventually.hpp"
#include "support/await_sleep.hpp"

namespace handoff::tests {

class FreezeSignal {
 public:
  FreezeSignal() {
    static_cast<void>(::pipe(go_pipe().data()));
    frozen() = 0;
    struct sigaction action{};
    action.sa_handler = &hold;
    ::sigaction(SIGUSR1, &action, &before_);
  }
  ~FreezeSignal() {
    thaw();
    ::sigaction(SIGUSR1, &before_, nullptr);
    for (int end : go_pipe()) ::close(end);
  }
  FreezeSignal(const FreezeSignal&) = delete;
  FreezeSignal& operator=(const FreezeSignal&) = delete;

  // Returns false, and does nothing, where signals are held back until the thread's next call, as ThreadSanitizer does:
  // the thread then runs on, and only what must hold for a running thread can be expected.
  bool freeze(pthread_t thread) {
#if defined(__SANITIZE_THREAD__)
    static_cast<void>(thread);
    return false;
#else
    await_sleep();
    ::pthread_kill(thread, SIGUSR1);
    testing::eventually([] { return frozen() == 1; });
    return true;
#endif
  }
  void thaw() {
    const char go = 1;
    if (!thawed_) static_cast<void>(::write(go_pipe()[1], &go, 1));
    thawed_ = true;
  }

 private:
  static std::array<int, 2>& go_pipe() {
    static std::array<int, 2> pipe{};
    return pipe;
  }
  static volatile sig_atomic_t& frozen() {
    static volatile sig_atomic_t flag = 0;
    return flag;
  }
  static void hold(int) {
    const int error = errno;
    frozen() = 1;
    char go;
    while (::read(go_pipe()[0], &go, 1) < 0 && errno == EINTR) {
    }
    errno = error;
  }

  struct sigaction before_{};
  bool thawed_ = false;
};

}  // namespace handoff::tests
