// Turns Ctrl-C and SIGTERM into a stop request.
//
// The signals are blocked in every thread and taken by one that does nothing else: a handler could not call
// request_stop(), which takes locks. A second signal ends the program at once.
#pragma once

#include <pthread.h>

#include <csignal>
#include <stop_token>
#include <thread>

namespace burst {

class StopOnSignal {
 public:
  // Make it before any other thread: threads inherit the blocked signals.
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  void wait_for_signals();

  sigset_t signals_;
  std::stop_source source_;
  std::thread thread_;
};

}  // namespace burst
