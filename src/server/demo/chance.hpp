// What the demo does instead of work: it takes its time, and sometimes it fails.
#pragma once

#include <chrono>
#include <random>
#include <stop_token>

#include "handoff/event.hpp"

namespace handoff::server::demo {

// Waits that long, or until the stop; true if all of it has passed.
inline bool pass(std::chrono::milliseconds time, const std::stop_token& stop) {
  Event never;
  const auto waited = never.wait({.deadline = within(time), .stop = stop});
  return waited.error() == Refusal::timed_out;
}

// Each thread has its own.
inline int up_to(int most) {
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_int_distribution<int>(0, most)(random);
}

}  // namespace handoff::server::demo
