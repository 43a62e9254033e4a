// What time brings: tasks that are due, leases that have ended, tasks that nobody wants to keep.
#include <algorithm>

#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {
// The first column of all rows.
std::vector<std::int64_t> rows_of(Query& query) {
  std::vector<std::int64_t> rows;
  while (query.next()) rows.push_back(query.number(0));
  return rows;
}

Chore chore_of(const std::vector<std::int64_t>& rows, int most) {
  return {.done = static_cast<int>(rows.size()), .has_more = std::ssize(rows) >= most};
}
}  // namespace

Chore SqliteTransaction::promote(int most) {
  Query due(database(),
            "select seq from handoff_task where state = 0 and at <= ? order by at limit ?", now_,
            most);
  const auto rows = rows_of(due);
  for (const std::int64_t seq : rows) {
    TaskRow row = known_row(seq);
    change(row, TaskState::ready);
    make_ready(row, false);
    execute(database(), "update handoff_task set state = 2, held = ?, turn = ? where seq = ?",
            int{row.is_held}, row.turn, seq);
  }
  return chore_of(rows, most);
}

Chore SqliteTransaction::reclaim(int most) {
  Query over(database(),
             "select seq from handoff_task where state = 3 and lease_until <= ? order by "
             "lease_until limit ?",
             since_boot_, most);
  const auto rows = rows_of(over);
  for (const std::int64_t seq : rows) {
    TaskRow row = known_row(seq);
    reclaim_row(row);
  }
  return chore_of(rows, most);
}

Chore SqliteTransaction::reclaim_process(std::int64_t process, int most) {
  Query left(database(), "select seq from handoff_task where state = 3 and process = ? limit ?",
             process, most);
  const auto rows = rows_of(left);
  for (const std::int64_t seq : rows) {
    TaskRow row = known_row(seq);
    reclaim_row(row);
  }
  return chore_of(rows, most);
}

Chore SqliteTransaction::expire(int most) {
  Query late(database(),
             "select seq from handoff_task where expires_at is not null and state <= 2 and "
             "expires_at <= ? "
             "order by expires_at limit ?",
             now_, most);
  const auto rows = rows_of(late);
  for (const std::int64_t seq : rows) {
    TaskRow row = known_row(seq);
    // One may have been given up together with another that is late.
    if (!is_finished(row.state)) end(row, TaskState::cancelled, "it was not started in time");
  }
  return chore_of(rows, most);
}

Chore SqliteTransaction::prune(int most) {
  Chore chore;
  bool frees_others = false;  // That were kept for one that is forgotten now.
  std::vector<std::int64_t> queues;
  {
    Query query(database(), "select id from handoff_queue where done + dead + cancelled > 0");
    queues = rows_of(query);
  }
  for (const std::int64_t id : queues) {
    QueueRow& queue = rows_.queue(id);
    for (const TaskState state : {TaskState::done, TaskState::dead, TaskState::cancelled}) {
      const int left = most - chore.done;
      if (left <= 0) break;
      const Millis kept =
          state == TaskState::done ? queue.settings->keep_done : queue.settings->keep_dead;
      const std::int64_t too_many = queue.count(TaskState::done) + queue.count(TaskState::dead) +
                                    queue.count(TaskState::cancelled) - queue.settings->keep_count;
      // Of those that are too many, the done ones go first.
      const std::int64_t surplus = std::clamp<std::int64_t>(too_many, 0, left);
      std::vector<std::int64_t> rows;
      {
        Query old(database(),
                  "select seq, finished_at from handoff_task where queue = ? and state = ? and "
                  "likelihood(state >= 4, 0.99) and kept = 0 "
                  "order by finished_at limit ?",
                  id, static_cast<int>(state), left);
        while (old.next()) {
          if (old.time(1) > now_ - kept && std::ssize(rows) >= surplus) break;
          rows.push_back(old.number(0));
        }
      }
      for (const std::int64_t seq : rows) {
        const TaskRow row = known_row(seq);
        frees_others |=
            state != TaskState::done && (row.flags & (has_dependencies | in_workflow)) != 0;
        forget(row);
      }
      chore.done += static_cast<int>(rows.size());
    }
  }
  chore.done += static_cast<int>(execute(
      database(),
      "delete from handoff_unique where (queue, key) in (select queue, key from handoff_unique "
      "where until is not null and until <= ? order by until limit ?)",
      now_, most - chore.done));
  chore.has_more = frees_others || chore.done >= most;
  return chore;
}

bool SqliteTransaction::has_finished() {
  Query query(database(),
              "select 1 from handoff_queue where done + dead + cancelled > 0 union all select 1 "
              "from handoff_unique where until is not null limit 1");
  return query.next();
}

namespace {
// With the states as literals: only so SQLite sees that an index has them all.
const char* purged(TaskState state) {
  switch (state) {
    case TaskState::scheduled:
      return "select seq from handoff_task where queue = ? and state = 0 limit ?";
    case TaskState::waiting:
      return "select seq from handoff_task where queue = ? and state = 1 limit ?";
    case TaskState::ready:
      return "select seq from handoff_task where queue = ?1 and state = 2 and held = 0 union all "
             "select seq from handoff_task where held = 1 and grp in (select id from handoff_group "
             "where queue = ?1) limit ?2";
    case TaskState::running: break;
    case TaskState::done:
      return "select seq from handoff_task where queue = ? and state = 4 and likelihood(state >= "
             "4, 0.99) and kept = "
             "0 limit ?";
    case TaskState::dead:
      return "select seq from handoff_task where queue = ? and state = 5 and likelihood(state >= "
             "4, 0.99) and kept = "
             "0 limit ?";
    case TaskState::cancelled:
      return "select seq from handoff_task where queue = ? and state = 6 and likelihood(state >= "
             "4, 0.99) and kept = "
             "0 limit ?";
  }
  return nullptr;
}
}  // namespace

Chore SqliteTransaction::purge(std::string_view name, TaskState state, int most) {
  const QueueRow* const queue = rows_.queue(name, false);
  const char* const sql = purged(state);
  if (queue == nullptr || sql == nullptr) return {};
  Query query(database(), sql, queue->id, most);
  const auto rows = rows_of(query);
  for (const std::int64_t seq : rows) {
    TaskRow row = known_row(seq);
    // As if it had been cancelled: others may wait for it.
    if (!is_finished(row.state)) end(row, TaskState::cancelled, "the queue was purged");
    forget(row);
  }
  return chore_of(rows, most);
}

std::optional<Millis> SqliteTransaction::next_due() {
  std::optional<Millis> next;
  const auto consider = [&](Millis in) {
    const Millis wait = std::max(in, Millis(0));
    next = next ? std::min(*next, wait) : wait;
  };
  {
    Query due(database(), "select at from handoff_task where state = 0 order by at limit 1");
    if (due.next()) consider(due.time(0) - now_);
  }
  {
    Query lease(database(),
                "select lease_until from handoff_task where state = 3 and lease_until is not null "
                "order by lease_until limit 1");
    if (lease.next()) consider(Millis(lease.number(0)) - since_boot_);
  }
  {
    Query late(database(),
               "select expires_at from handoff_task where expires_at is not null and state <= 2 "
               "order by expires_at limit 1");
    if (late.next()) consider(late.time(0) - now_);
  }
  {
    Query schedule(database(),
                   "select min(max(next_at, not_before)) from handoff_schedule where is_paused = 0 "
                   "and next_at is not null");
    if (schedule.next() && !schedule.is_null(0)) consider(schedule.time(0) - now_);
  }
  if (has_wrong_schedules()) consider(Millis(0));
  return next;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
