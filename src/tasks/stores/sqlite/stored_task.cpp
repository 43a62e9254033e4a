#include "tasks/stores/sqlite/stored_task.hpp"

#include <array>
#include <cstdint>

#include "handoff/tasks/payload.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

struct StoredTask {
  std::string queue;
  std::string kind;
  std::string payload;
  int priority = 0;
  int max_attempts = 0;
  std::chrono::milliseconds timeout{};
  std::string unique_key;
  std::chrono::milliseconds unique_for{};
  std::chrono::milliseconds expires_in{};
  std::string group;
  std::string trace;
  std::string notify_url;
  static constexpr auto optional_fields =
      std::to_array<std::string_view>({"priority", "max_attempts", "timeout", "unique_key",
                                       "unique_for", "expires_in", "group", "trace", "notify_url"});
};
BOOST_DESCRIBE_STRUCT(StoredTask, (),
                      (queue, kind, payload, priority, max_attempts, timeout, unique_key,
                       unique_for, expires_in, group, trace, notify_url))

}  // namespace

std::string to_stored(const NewTask& task) {
  const StoredTask stored{.queue = task.queue,
                          .kind = task.kind,
                          .payload = task.payload,
                          .priority = task.priority,
                          .max_attempts = task.max_attempts,
                          .timeout = task.timeout,
                          .unique_key = task.unique_key,
                          .unique_for = task.unique_for,
                          .expires_in = task.expires_in,
                          .group = task.group,
                          .trace = task.trace,
                          .notify_url = task.notify_url};
  return to_json(stored).value().text();  // All of it was checked.
}

NewTask from_stored(std::string_view json) {
  const auto stored = from_json<StoredTask>(json);
  if (!stored) return {};
  NewTask task;
  task.queue = stored->queue;
  task.kind = stored->kind;
  task.payload = stored->payload;
  task.priority = stored->priority;
  task.max_attempts = stored->max_attempts;
  task.timeout = stored->timeout;
  task.unique_key = stored->unique_key;
  task.unique_for = stored->unique_for;
  task.expires_in = stored->expires_in;
  task.group = stored->group;
  task.trace = stored->trace;
  task.notify_url = stored->notify_url;
  return task;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
