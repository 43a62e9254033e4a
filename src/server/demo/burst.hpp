// Far more clicks than a queue has room for, within some seconds: what is accepted is done, the rest is refused and counted. One burst at a time.
#pragma once

#include <string_view>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/thread.hpp"

namespace handoff::server::demo {

class Burst {
 public:
  static constexpr int clicks = 50'000;
  static constexpr std::string_view queue = "clicks";

  explicit Burst(tasks::Tasks tasks) : tasks_(std::move(tasks)) {}

  // False if one goes on, or after end().
  bool start();
  void end();

 private:
  void run(const std::stop_token& stop);

  const tasks::Tasks tasks_;
  handoff::detail::atomic<bool> goes_on_{false};
  Mutex lock_{{.name = "a burst of clicks"}};
  // Guarded by lock_.
  bool is_over_ = false;
  Thread thread_;
};

}  // namespace handoff::server::demo
