// Stands for a service that takes its time, such as a database: the caller sleeps until the answer is due.
#pragma once

#include "handoff/event.hpp"

namespace example {

class SlowService {
 public:
  // False if a stop was requested before that.
  bool answers_at(handoff::TimePoint due, std::stop_token stop = {}) {
    const auto waited = never_.wait({.deadline = due, .stop = std::move(stop)});
    return waited.error() == handoff::Refusal::timed_out;
  }
  bool answers_after(handoff::Duration time, std::stop_token stop = {}) {
    return answers_at(handoff::now() + time, std::move(stop));
  }

 private:
  handoff::Event never_{{.name = "slow service"}};  // Not set: only the deadline ends the wait.
};

}  // namespace example
