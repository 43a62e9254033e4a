// Tasks that wait for others: when they are freed, when they are given up, and what those before them have left for them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

std::vector<std::int64_t> dependents_of(Database& database, std::int64_t seq) {
  std::vector<std::int64_t> all;
  Query query(database, "select after from handoff_dependency where before = ?", seq);
  while (query.next()) all.push_back(query.number(0));
  return all;
}

}  // namespace

void SqliteTransaction::insert_dependencies(const TaskRow& row, const NewTask& task) {
  for (const TaskId& id : task.after) {
    const std::int64_t before = row_of(id)->seq;
    execute(database(), "insert or ignore into handoff_dependency values(?, ?)", before, row.seq);
    execute(database(), "update handoff_task set flags = flags | 1 where seq = ?", before);
  }
  if (!task.after.empty()) keep_those_before(row, 1);
}

// Their results are wanted until it is done, or cannot be retried since it is forgotten.
void SqliteTransaction::keep_those_before(const TaskRow& row, int more) {
  execute(database(),
          "update handoff_task set kept = kept + ? where seq in (select before from "
          "handoff_dependency where after = ?)",
          more, row.seq);
}

void SqliteTransaction::free_dependents(const TaskRow& row) {
  for (const std::int64_t seq : dependents_of(database(), row.seq)) {
    execute(database(),
            "update handoff_task set waits_on = waits_on - 1 where seq = ? and state = 1", seq);
    Time at{};
    {
      Query query(database(),
                  "select at from handoff_task where seq = ? and state = 1 and waits_on <= 0", seq);
      if (!query.next()) continue;
      at = query.time(0);
    }
    TaskRow freed = known_row(seq);
    if (at > now_) {
      change(freed, TaskState::scheduled);
      note_due(at - now_);
      execute(database(), "update handoff_task set state = 0 where seq = ?", seq);
      continue;
    }
    make_ready(freed, false);
    change(freed, TaskState::ready);
    execute(database(),
            "update handoff_task set state = 2, held = ?, turn = ?, at = ? where seq = ?",
            int{freed.is_held}, freed.turn, now_, seq);
  }
}

// All of them, and theirs: a chain may be of any length.
void SqliteTransaction::abandon_dependents(const TaskRow& row) {
  std::vector<std::pair<std::int64_t, std::string>> left;
  const auto add = [&](const TaskRow& each) {
    const std::string why =
        fmt::format("it waits for {}, which is {}", name_in_workflow(each), to_string(each.state));
    for (const std::int64_t seq : dependents_of(database(), each.seq)) left.emplace_back(seq, why);
  };
  add(row);
  while (!left.empty()) {
    const auto [seq, why] = std::move(left.back());
    left.pop_back();
    auto abandoned = row_of(seq);
    if (!abandoned || abandoned->state != TaskState::waiting) continue;
    const bool has_others = (abandoned->flags & has_dependents) != 0;
    abandoned->flags &= ~has_dependents;  // Not by recursion.
    end(*abandoned, TaskState::cancelled, why);
    execute(database(), "update handoff_task set flags = flags | 16 where seq = ?", seq);
    if (has_others) add(*abandoned);
  }
}

// -- Once more ------------------------------------------------------------------------------------

SqliteTransaction::Before SqliteTransaction::those_before(std::int64_t seq) {
  Before before;
  Query query(database(),
              "select b.seq, b.state from handoff_dependency d join handoff_task b on b.seq = "
              "d.before where d.after = ?",
              seq);
  while (query.next()) {
    const auto state = static_cast<TaskState>(query.number(1));
    if (state != TaskState::done) ++before.unfinished;
    if (state == TaskState::dead || state == TaskState::cancelled) before.lost = query.number(0);
  }
  return before;
}

// It was given up and waits again.
void SqliteTransaction::revive(TaskRow& row, int waits_on) {
  const TaskState was = row.state;
  change(row, TaskState::waiting);
  execute(database(),
          "update handoff_task set state = 1, waits_on = ?, finished_at = null, reason = null, "
          "result = null, progress = null, note = null, lease = null, expires_at = null, "
          "attempt = 0, crashes = 0, flags = flags & ~16 where seq = ?",
          waits_on, row.seq);
  begin_again(row, was);
}

// It was finished, and no longer is.
void SqliteTransaction::begin_again(const TaskRow& row, TaskState was) {
  take_key(row);
  if (was == TaskState::done && (row.flags & has_dependencies) != 0) keep_those_before(row, 1);
  if ((row.flags & in_workflow) != 0) count_in_workflow(row, was, -1);
}

// Who waits for it waits on, and who was given up because of it is not.
void SqliteTransaction::revive_dependents(const TaskRow& row, TaskState was) {
  if ((row.flags & has_dependents) == 0) return;
  if (was == TaskState::done) {
    execute(database(),
            "update handoff_task set waits_on = waits_on + 1 where state = 1 and seq in (select "
            "after from handoff_dependency where before = ?)",
            row.seq);
    return;
  }
  std::vector<std::int64_t> left = dependents_of(database(), row.seq);
  while (!left.empty()) {
    const std::int64_t seq = left.back();
    left.pop_back();
    auto given_up = row_of(seq);
    if (!given_up || given_up->state != TaskState::cancelled) continue;
    if ((given_up->flags & was_abandoned) == 0) continue;  // Somebody wanted it so.
    const Before before = those_before(seq);
    if (before.lost != 0) continue;  // Another one it waits for will not be done either.
    if (is_key_taken(*given_up)) continue;
    revive(*given_up, before.unfinished);
    for (const std::int64_t next : dependents_of(database(), seq)) left.push_back(next);
  }
}

// -- What they have left --------------------------------------------------------------------------

std::vector<StepResult> SqliteTransaction::inputs_of(const TaskId& id) {
  return inputs_within(id, std::numeric_limits<std::size_t>::max()).results;
}

// The steps of a workflow are stored in an order in which each comes after those it waits for.
StepResults SqliteTransaction::inputs_within(const TaskId& id, std::size_t most_bytes) {
  StepResults inputs;
  std::size_t bytes = 0;
  Query query(database(),
              "with recursive earlier(seq) as ("
              "select d.before from handoff_dependency d join handoff_task t on t.seq = d.after "
              "where t.id = ? "
              "union select d.before from handoff_dependency d join earlier e on d.after = e.seq) "
              "select t.id, t.step, t.result, length(cast(t.result as blob)) from earlier e join "
              "handoff_task t on t.seq = e.seq where t.state = 4 order by t.seq desc",
              id);
  while (query.next()) {
    const TaskId before = query.id(0);
    std::string step = query.is_null(1) ? before.to_string() : std::string(query.text(1));
    const auto size = static_cast<std::size_t>(query.number(3));
    if (size > most_bytes - bytes) {
      inputs.left_out.push_back(std::move(step));
      continue;
    }
    bytes += size;
    inputs.results.push_back({.step = std::move(step),
                              .task = before,
                              .result = query.is_null(2) ? "null" : std::string(query.text(2))});
  }
  std::ranges::reverse(inputs.results);
  std::ranges::reverse(inputs.left_out);
  return inputs;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
