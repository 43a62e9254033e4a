// How tasks change their state: the numbers of queues and groups, turns, what is held, and who waited for it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

TaskRow read_row(const Query& query) {
  return {.seq = query.number(0),
          .id = query.id(1),
          .queue = query.number(2),
          .state = static_cast<TaskState>(query.number(3)),
          .is_held = query.number(4) != 0,
          .turn = query.number(5),
          .group = query.number(6),
          .size = query.number(7),
          .flags = query.number(8),
          .attempt = static_cast<int>(query.number(9)),
          .max_attempts = static_cast<int>(query.number(10)),
          .crashes = static_cast<int>(query.number(11)),
          .lease = query.number(12),
          .since = query.time(13),
          .has_unique_key = query.number(14) != 0,
          .unique_for = Millis(query.number(15))};
}

#define ROW_COLUMNS                                                                              \
  "select seq, id, queue, state, held, turn, grp, size, flags, attempt, max_attempts, crashes, " \
  "lease, coalesce(started_at, at), unique_key is not null, unique_for from handoff_task "

}  // namespace

std::optional<TaskRow> SqliteTransaction::row_of(const TaskId& id) {
  Query query(database(), ROW_COLUMNS "where id = ?", id);
  if (!query.next()) return std::nullopt;
  return read_row(query);
}

std::optional<TaskRow> SqliteTransaction::row_of(std::int64_t seq) {
  Query query(database(), ROW_COLUMNS "where seq = ?", seq);
  if (!query.next()) return std::nullopt;
  return read_row(query);
}

TaskRow SqliteTransaction::known_row(std::int64_t seq) {
  auto row = row_of(seq);
  if (!row) throw_damaged(database().raw(), "an index names a task that is not there");
  return *std::move(row);
}

// Of up to `rows_at_once`, in the order of their rows. Those that are not there are left out.
std::vector<TaskRow> SqliteTransaction::rows_for(std::span<const Outcome> outcomes) {
  static const std::string sql =
      ROW_COLUMNS "where seq in (" + repeated("?", rows_at_once) + ") order by seq";
  Query query(database(), sql.c_str());
  for (const Outcome& each : outcomes) query.add(each.lease.row);
  for (int i = static_cast<int>(outcomes.size()); i < rows_at_once; ++i) query.add(std::nullopt);
  std::vector<TaskRow> rows;
  rows.reserve(outcomes.size());
  while (query.next()) rows.push_back(read_row(query));
  return rows;
}

void SqliteTransaction::note_due(Millis in) {
  changes_.due_in = changes_.due_in ? std::min(*changes_.due_in, in) : in;
}

StateChange& SqliteTransaction::note_state(const TaskRow& row, QueueRow& queue) {
  if (!queue.number_in_changes) {
    queue.number_in_changes = static_cast<std::uint32_t>(changes_.queues.size());
    changes_.queues.push_back(queue.name);
  }
  return changes_.states.emplace_back(StateChange{
      .id = row.id, .state = row.state, .from = row.state, .queue = *queue.number_in_changes});
}

// A new one.
void SqliteTransaction::count_in(const TaskRow& row) {
  QueueRow& queue = rows_.queue(row.queue);
  queue.is_changed = true;
  ++queue.count(row.state);
  queue.bytes += row.size;
  if (row.group != 0) {
    GroupRow& group = rows_.group(row.group);
    group.is_changed = true;
    ++group.tasks;
  }
  note_state(row, queue).is_new = true;
}

void SqliteTransaction::change(TaskRow& row, TaskState to) {
  const TaskState from = std::exchange(row.state, to);
  HANDOFF_ASSERT(is_legal(from, to));
  QueueRow& queue = rows_.queue(row.queue);
  queue.is_changed = true;
  --queue.count(from);
  ++queue.count(to);
  const int finished = int{is_finished(to)} - int{is_finished(from)};  // 1, 0 or -1.
  const int running = int{to == TaskState::running} - int{from == TaskState::running};
  queue.bytes -= finished * row.size;
  if (row.group != 0) {
    GroupRow& group = rows_.group(row.group);
    group.is_changed = true;
    group.running += running;
  }
  if (finished > 0) ++changes_.room[queue.name];
  // Who had to wait for the limit of the queue may go on.
  const bool frees_one = running < 0 && queue.settings->concurrency > 0;
  if (frees_one && queue.count(TaskState::ready) > 0) ++changes_.ready[queue.name];
  StateChange& noted = note_state(row, queue);
  noted.from = from;
  if (running != 0) noted.took = std::max(now_ - row.since, Millis(0));
}

void SqliteTransaction::give_turn(TaskRow& row) {
  QueueRow& queue = rows_.queue(row.queue);
  std::int64_t& last = row.group == 0 ? queue.last_turn : rows_.group(row.group).last_turn;
  row.turn = last = std::max(queue.turn, last + 1);
}

// The numbers are changed, or counted in, by the caller.
void SqliteTransaction::make_ready(TaskRow& row, bool keeps_turn) {
  QueueRow& queue = rows_.queue(row.queue);
  if (!keeps_turn) give_turn(row);
  row.is_held = false;
  if (row.group != 0) {
    GroupRow& group = rows_.group(row.group);
    const int limit = queue.settings->group_concurrency;
    row.is_held = limit > 0 && group.open + group.running >= limit;
    if (!row.is_held) ++group.open;
    group.is_changed = true;
  }
  queue.is_changed = true;
  if (!row.is_held) ++changes_.ready[queue.name];
}

void SqliteTransaction::leave_ready(TaskRow& row) {
  if (row.group == 0 || row.is_held) return;
  GroupRow& group = rows_.group(row.group);
  --group.open;
  group.is_changed = true;
}

// Some of the group no longer run, or are ready.
void SqliteTransaction::admit_held(std::int64_t id, QueueRow& queue) {
  const int limit = queue.settings->group_concurrency;
  if (id == 0 || limit == 0) return;
  GroupRow& group = rows_.group(id);
  while (group.open + group.running < limit) {
    std::int64_t seq = 0;
    {
      Query held(database(),
                 "select seq from handoff_task where grp = ? and state = 2 and held = 1 "
                 "order by priority desc, turn limit 1",
                 id);
      if (!held.next()) return;
      seq = held.number(0);
    }
    execute(database(), "update handoff_task set held = 0 where seq = ?", seq);
    ++group.open;
    group.is_changed = true;
    ++changes_.ready[queue.name];
  }
}

void SqliteTransaction::end(TaskRow& row, TaskState to, std::string_view reason, AfterEnd lease) {
  if (row.state == TaskState::ready) leave_ready(row);
  change(row, to);
  execute(database(),
          "update handoff_task set state = ?, held = 0, finished_at = ?, reason = ?, lease_until = "
          "case when ? then lease_until end where seq = ?",
          static_cast<int>(to), now_, reason, int{lease == AfterEnd::keeps_lease}, row.seq);
  after_end(row);
}

// It is done, dead or cancelled.
void SqliteTransaction::after_end(TaskRow& row) {
  admit_held(row.group, rows_.queue(row.queue));
  if (row.has_unique_key) leave_key(row);
  // One that is dead or cancelled may be retried.
  const bool is_done = row.state == TaskState::done;
  if (is_done && (row.flags & has_dependencies) != 0) keep_those_before(row, -1);
  if ((row.flags & in_workflow) != 0) count_in_workflow(row, row.state, 1);
  if ((row.flags & tells_of_its_end) != 0) tell_of_end(row);
  if ((row.flags & has_dependents) == 0) return;
  if (is_done) {
    free_dependents(row);
  } else {
    abandon_dependents(row);
  }
}

// -- Unique keys ----------------------------------------------------------------------------------

// By another one that is not finished.
bool SqliteTransaction::is_key_taken(const TaskRow& row) {
  if (!row.has_unique_key) return false;
  Query other(database(),
              "select 1 from handoff_task t join handoff_unique u on u.queue = t.queue and u.key = "
              "t.unique_key where t.seq = ? and u.until is null and u.task <> t.id",
              row.seq);
  return other.next();
}

void SqliteTransaction::take_key(const TaskRow& row) {
  if (!row.has_unique_key) return;
  execute(database(),
          "insert or replace into handoff_unique(queue, key, task) select queue, unique_key, id "
          "from handoff_task where seq = ?",
          row.seq);
}

// The task may be forgotten before its key: what a second one is answered stays with the key.
void SqliteTransaction::leave_key(const TaskRow& row) {
  if (row.unique_for > Millis(0)) {
    execute(database(),
            "update handoff_unique set until = ?, state = ? where queue = ? and task = ? and key = "
            "(select unique_key from handoff_task where seq = ?)",
            now_ + row.unique_for, static_cast<int>(row.state), row.queue, row.id, row.seq);
  } else {
    execute(database(),
            "delete from handoff_unique where queue = ? and task = ? and key = (select unique_key "
            "from handoff_task where seq = ?)",
            row.queue, row.id, row.seq);
  }
}

// -- Forgotten ------------------------------------------------------------------------------------

// For good, with all that belongs to it. It is finished, or its numbers were taken out.
void SqliteTransaction::forget(const TaskRow& row) {
  if ((row.flags & has_large_payload) != 0) {
    execute(database(), "delete from handoff_payload where seq = ?", row.seq);
  }
  if ((row.flags & has_dependencies) != 0 && row.state != TaskState::done) {
    keep_those_before(row, -1);
  }
  if ((row.flags & (has_dependents | has_dependencies)) != 0) {
    execute(database(), "delete from handoff_dependency where before = ?", row.seq);
    execute(database(), "delete from handoff_dependency where after = ?", row.seq);
  }
  if ((row.flags & in_workflow) != 0) leave_workflow(row);
  execute(database(), "delete from handoff_error where task = ?", row.seq);
  execute(database(), "delete from handoff_log where task = ?", row.seq);
  execute(database(), "delete from handoff_task where seq = ?", row.seq);
  QueueRow& queue = rows_.queue(row.queue);
  --queue.count(row.state);
  queue.is_changed = true;
  if (row.group != 0) {
    GroupRow& group = rows_.group(row.group);
    --group.tasks;
    group.is_changed = true;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
