// How a queue of tasks is set, and how it is doing.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "handoff/tasks/retry.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/time.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// Where a server of the store POSTs the tasks of a queue. What is answered with 2xx is done.
struct Delivery {
  std::string url{};                          // Empty: nowhere. Workers take them.
  std::chrono::milliseconds timeout{10'000};  // For one request; from 1 ms to 1 h.
  std::string secret{};  // Requests are signed with it; empty: they are not. Kept as it is.

  bool is_on() const { return !url.empty(); }
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

struct QueueSettings {
  std::int64_t capacity = 100'000;                  // Tasks that are not finished.
  std::int64_t capacity_bytes = 256 * 1024 * 1024;  // Of their payloads.
  WhenFull when_full = WhenFull::reject;            // Not drop_oldest: accepted means stored.
  std::chrono::milliseconds block_for{
      100};                   // With WhenFull::block: how long an enqueue waits for room.
  double rate = 0;            // Claims a second; 0: as many as there are.
  int burst = 1;              // So many at once, after a pause.
  int concurrency = 0;        // Running at a time; 0: as many as there are.
  int group_concurrency = 0;  // The same for each group.
  std::chrono::milliseconds lease_for{30'000};
  int max_attempts = 20;
  RetryPolicy retry{};
  std::chrono::milliseconds ageing{
      600'000};  // Who has waited so long goes before any priority; 0: never.
  std::chrono::milliseconds burst_for{
      10'000};  // The spike for which the server says what capacity it takes.
  std::chrono::milliseconds keep_done{std::chrono::hours(24)};
  std::chrono::milliseconds keep_dead{std::chrono::hours(24 * 30)};  // Cancelled ones too.
  std::int64_t keep_count = 1'000'000;  // Finished tasks, whatever their age.
  Delivery deliver_to{};
};

struct QueueLook {
  std::string name;
  QueueSettings settings;
  bool is_paused = false;
  std::array<std::int64_t, task_states> counts{};  // By state.
  std::int64_t bytes = 0;                          // Of those that are not finished.
  // Since when the one could run that has waited longest, of those that are next by their priority.
  std::optional<Time> oldest_ready;

  std::int64_t count(TaskState state) const { return counts[static_cast<std::size_t>(state)]; }
  std::int64_t unfinished() const { return counts[0] + counts[1] + counts[2] + counts[3]; }
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
