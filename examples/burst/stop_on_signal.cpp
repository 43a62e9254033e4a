#include "stop_on_signal.hpp"

#include <unistd.h>

#include <string_view>

#include "screen.hpp"

namespace burst {

namespace {
constexpr int leave = SIGUSR1;  // From the destructor to the thread: nobody needs you any more.
}

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, leave}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this] { wait_for_signals(); });
}

StopOnSignal::~StopOnSignal() {
  pthread_kill(thread_.native_handle(), leave);
  thread_.join();
}

void StopOnSignal::wait_for_signals() {
  int signal = 0;
  while (sigwait(&signals_, &signal) == 0 && signal != leave) {
    if (source_.request_stop()) continue;
    restore_terminal();
    _exit(128 + signal);
  }
}

}  // namespace burst
