// What can be seen of tasks and queues.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {
// Of them payloads and results if ?2 says so.
#define TASK_COLUMNS                                                                              \
  "select t.seq, t.id, t.queue, t.kind, case when ?2 then coalesce(t.payload, (select data from " \
  "handoff_payload p where p.seq = t.seq)) end, t.state, t.priority, t.attempt, t.max_attempts, " \
  "t.crashes, t.timeout, "                                                                        \
  "t.created_at, "                                                                                \
  "t.at, t.started_at, t.finished_at, t.progress, t.note, case when ?2 then t.result end, "       \
  "t.reason, t.worker, t.grp, "                                                                   \
  "t.unique_key, t.trace, t.flags, (select w.id from handoff_workflow w where w.seq = "           \
  "t.workflow), t.step, t.notify from handoff_task t "
}  // namespace

Task SqliteTransaction::read_task(const Query& query) {
  Task task{.id = query.id(1),
            .queue = rows_.queue(query.number(2)).name,
            .kind = std::string(query.text(3)),
            .payload = std::string(query.text(4)),
            .state = static_cast<TaskState>(query.number(5)),
            .priority = static_cast<int>(query.number(6)),
            .attempt = static_cast<int>(query.number(7)),
            .max_attempts = static_cast<int>(query.number(8)),
            .crashes = static_cast<int>(query.number(9)),
            .timeout = Millis(query.number(10)),
            .created_at = query.time(11),
            .run_at = query.time(12),
            .started_at = query.time_if_any(13),
            .finished_at = query.time_if_any(14),
            .progress = query.real(15),
            .note = std::string(query.text(16)),
            .result = std::nullopt,
            .reason = std::string(query.text(18)),
            .errors = {},
            .worker = std::string(query.text(19)),
            .group = {},
            .unique_key = std::string(query.text(21)),
            .trace = std::string(query.text(22)),
            .after = {},
            .workflow = std::nullopt,
            .step = std::string(query.text(25)),
            .notify_url = std::string(query.text(26)),
            .undecoded = {}};
  if (!query.is_null(24)) task.workflow = query.id(24);
  if (!query.is_null(17)) task.result = query.text(17);
  if (!query.is_null(20)) {
    Query group(database(), "select name from handoff_group where id = ?", query.number(20));
    if (group.next()) task.group = group.text(0);
  }
  return task;
}

Task SqliteTransaction::task_at(std::int64_t seq, bool has_payload) {
  Query query(database(), TASK_COLUMNS "where t.seq = ?1", seq, has_payload ? 1 : 0);
  if (!query.next()) throw_damaged(database().raw(), "an index has a task that is not there");
  return read_task(query);
}

std::optional<Task> SqliteTransaction::get(const TaskId& id) {
  Query query(database(), TASK_COLUMNS "where t.id = ?1", id, 1);
  if (!query.next()) return std::nullopt;
  Task task = read_task(query);
  const std::int64_t seq = query.number(0);
  Query errors(database(),
               "select attempt, at, message from handoff_error where task = ? order by number",
               seq);
  while (errors.next()) {
    task.errors.push_back({.attempt = static_cast<int>(errors.number(0)),
                           .at = errors.time(1),
                           .message = std::string(errors.text(2))});
  }
  if ((query.number(23) & has_dependencies) != 0) {
    Query before(database(),
                 "select b.id from handoff_dependency d join handoff_task b on b.seq = d.before "
                 "where d.after = ? order by d.before",
                 seq);
    while (before.next()) task.after.push_back(before.id(0));
  }
  return task;
}

QueueLook SqliteTransaction::look_of(QueueRow& row) {
  QueueLook look{.name = row.name,
                 .settings = *row.settings,
                 .is_paused = row.is_paused,
                 .counts = row.counts,
                 .bytes = row.bytes,
                 .oldest_ready = std::nullopt};
  for (const std::int64_t level : levels_of(row)) {
    Query first(database(),
                "select at from handoff_task where queue = ? and state = 2 and held = 0 and "
                "priority = ? order by turn limit 1",
                row.id, level);
    if (!first.next()) continue;
    look.oldest_ready = std::min(look.oldest_ready.value_or(first.time(0)), first.time(0));
  }
  return look;
}

QueueLook SqliteTransaction::look(std::string_view name) {
  QueueRow* const row = rows_.queue(name, false);
  if (row == nullptr) {
    QueueLook look;
    look.name = name;
    return look;
  }
  return look_of(*row);
}

std::vector<QueueLook> SqliteTransaction::look_at_all() {
  std::vector<std::int64_t> ids;
  {
    Query query(database(), "select id from handoff_queue order by name");
    while (query.next()) ids.push_back(query.number(0));
  }
  std::vector<QueueLook> looks;
  for (const std::int64_t id : ids) looks.push_back(look_of(rows_.queue(id)));
  return looks;
}

void SqliteTransaction::configure(std::string_view name, const QueueSettings& settings) {
  QueueRow& queue = rows_.queue_to_set(name);
  const int limit_before = queue.settings->group_concurrency;
  ++queue.version;
  queue.is_changed = true;
  SettingsCache::store(database(), queue, settings);
  rows_.renew_settings(queue);
  changes_.ready[queue.name] += static_cast<int>(queue.count(TaskState::ready));
  ++changes_.room[queue.name];
  if (settings.group_concurrency == limit_before) return;
  const bool is_lower = settings.group_concurrency > 0 &&
                        (limit_before == 0 || settings.group_concurrency < limit_before);
  if (is_lower) return hold_surplus(queue);
  // Whatever was held back by the old limit.
  std::vector<std::int64_t> groups;
  {
    Query query(database(), "select id from handoff_group where queue = ?", queue.id);
    while (query.next()) groups.push_back(query.number(0));
  }
  for (const std::int64_t id : groups) {
    if (settings.group_concurrency > 0) {
      admit_held(id, queue);
      continue;
    }
    GroupRow& group = rows_.group(id);
    group.open +=
        execute(database(),
                "update handoff_task set held = 0 where grp = ? and state = 2 and held = 1", id);
    group.is_changed = true;
  }
}

// Of each group the first may stay, as many as the limit lets run beside those that do.
void SqliteTransaction::hold_surplus(QueueRow& queue) {
  std::map<std::int64_t, std::int64_t> left;  // By group.
  std::vector<std::pair<std::int64_t, std::int64_t>> surplus;
  {
    Query ready(database(),
                "select seq, grp from handoff_task where queue = ? and state = 2 and held = 0 and "
                "grp is not null order by priority desc, turn",
                queue.id);
    while (ready.next()) {
      const std::int64_t id = ready.number(1);
      const auto [group, is_new] = left.try_emplace(id);
      if (is_new) group->second = queue.settings->group_concurrency - rows_.group(id).running;
      if (--group->second < 0) surplus.emplace_back(ready.number(0), id);
    }
  }
  for (const auto& [seq, id] : surplus) {
    execute(database(), "update handoff_task set held = 1 where seq = ?", seq);
    GroupRow& group = rows_.group(id);
    --group.open;
    group.is_changed = true;
  }
}

void SqliteTransaction::pause(std::string_view name, bool is_paused) {
  QueueRow& queue = rows_.queue_to_set(name);
  queue.is_paused = is_paused;
  queue.is_changed = true;
  if (!is_paused) changes_.ready[queue.name] += static_cast<int>(queue.count(TaskState::ready));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
