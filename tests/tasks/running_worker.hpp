// A worker on a thread of its own, for as long as a test wants.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "handoff/tasks/worker.hpp"

namespace handoff::tests {

class Running {
 public:
  explicit Running(tasks::Worker& worker,
                   std::chrono::milliseconds grace = std::chrono::seconds(30))
      : thread_([&worker, grace, this](const std::stop_token& stop) {
          report_ = worker.run(stop, grace);
        }) {}
  tasks::WorkerReport stop() {
    thread_.request_stop();
    thread_.join();
    return report_;
  }

 private:
  tasks::WorkerReport report_;
  std::jthread thread_;
};

}  // namespace handoff::tests
