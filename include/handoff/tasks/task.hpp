// A task: what is asked for, and what can be seen of it.
//
//   NewTask mail{.queue = "email", .kind = "welcome", .payload = R"({"to":"new@example.org"})"};
//   mail.delay = 30s;
//   auto enqueued = tasks.enqueue(mail);               // std::expected<Enqueued, TaskError>
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

struct NewTask {
  std::string queue = "default";        // 1 to 64 of [A-Za-z0-9._-]. Exists from its first use.
  std::string kind{};                   // Which handler runs it: 1 to 128 of the same and '/'.
  std::string payload = "null";         // JSON.
  int priority = 0;                     // -100 to 100. The higher go first.
  std::chrono::milliseconds delay{};    // Not before so long from now,
  std::optional<Time> run_at{};         // or not before then.
  int max_attempts = 0;                 // 1 to 1000; 0: as the queue says.
  std::chrono::milliseconds timeout{};  // For one attempt; 0: none.
  // Chosen by you: enqueueing it once more makes no second task. So a lost answer can be asked for again.
  std::optional<TaskId> id{};
  // While a task of that key is not finished in that queue, there is no second one; and for so long after it has finished.
  std::string unique_key{};
  std::chrono::milliseconds unique_for{};
  std::chrono::milliseconds expires_in{};  // Not started by then: cancelled. 0: never.
  std::string group{};                     // Groups of a queue have their turns, and limits.
  std::vector<TaskId> after{};             // Runs when these are done.
  std::string trace{};                     // A W3C traceparent.
  // POSTed to by a server of this store once the task has ended, each time it does: see notify.hpp.
  std::string notify_url{};
};

struct Enqueued {
  TaskId id;
  TaskState state = TaskState::ready;
  bool is_duplicate = false;  // There was one already: its id and state.
};

struct AttemptError {
  int attempt = 0;
  Time at;
  std::string message;
};

// What a handler said while it ran: see Context::log().
struct LogLine {
  std::int64_t number = 0;  // From 1 on. Only the last 1000 are kept.
  Time at;
  std::string line;
};

// As it was when it was looked at.
struct Task {
  TaskId id;
  std::string queue;
  std::string kind;
  std::string payload;
  TaskState state = TaskState::ready;
  int priority = 0;
  int attempt =
      0;  // Used so far, with the one that runs. Crashes, deferrals and shutdowns cost none.
  int max_attempts = 0;
  int crashes = 0;
  std::chrono::milliseconds timeout{};
  Time created_at;
  Time run_at;
  std::optional<Time> started_at;  // The last attempt.
  std::optional<Time> finished_at;
  double progress = 0;  // 0 to 1.
  std::string note;
  std::optional<std::string> result;  // JSON.
  std::string reason;                 // Why it is dead or cancelled.
  std::vector<AttemptError> errors;   // The last of them.
  std::string worker;
  std::string group;
  std::string unique_key;
  std::string trace;
  std::vector<TaskId> after;
  std::optional<TaskId> workflow;
  std::string step;  // Its name there.
  std::string notify_url;
  std::string undecoded;  // Why its payload or result is shown as it is stored: see codec.hpp.
};

// Dead tasks that have the same kind and the same reason.
struct DeadGroup {
  std::string queue;
  std::string kind;
  std::string reason;
  std::int64_t count = 0;
  Time latest;
  TaskId example;  // The latest.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
