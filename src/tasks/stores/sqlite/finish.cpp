// What becomes of a task after an attempt. Only who holds its lease has a say.
#include <fmt/format.h>

#include <algorithm>

#include "handoff/tasks/limits.hpp"
#include "tasks/entropy.hpp"
#include "tasks/stores/sqlite/transaction.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr int most_crashes = 3;
constexpr std::int64_t most_errors = 20;  // Of a task, that are kept.

// Whether who holds that lease may change the task; if not, why.
Recorded standing(const std::optional<TaskRow>& row, const TaskId& id, const Lease& lease) {
  if (!row || row->id != id || row->lease != lease.token || lease.token == 0)
    return Recorded::stale;
  if (row->state == TaskState::running) return Recorded::yes;
  return row->state == TaskState::cancelled ? Recorded::cancelled : Recorded::again;
}

// Whether a task is in that state after the outcome, or after what comes of it by itself.
bool may_lead_to(Outcome::Kind kind, TaskState state) {
  using enum TaskState;
  switch (kind) {
    case Outcome::Kind::done: return state == done;
    case Outcome::Kind::failed_for_good: return state == dead;
    case Outcome::Kind::failed: return state == dead || state == scheduled || state == ready;
    case Outcome::Kind::deferred: return state == scheduled || state == ready;
    case Outcome::Kind::released: return state == ready;
    case Outcome::Kind::cancelled: return state == cancelled;
  }
  return false;
}

}  // namespace

std::vector<Recorded> SqliteTransaction::finish(std::span<const Outcome> outcomes) {
  std::vector<Recorded> recorded;
  recorded.reserve(outcomes.size());
  constexpr std::size_t few = 5;  // Not worth it.
  while (!outcomes.empty()) {
    const auto some = outcomes.first(std::min<std::size_t>(outcomes.size(), rows_at_once));
    outcomes = outcomes.subspan(some.size());
    if (some.size() > few && finish_done(some)) {
      recorded.insert(recorded.end(), some.size(), Recorded::yes);
    } else {
      for (const Outcome& each : some) recorded.push_back(finish_one(each));
    }
  }
  return recorded;
}

// If all are done and may say so. Otherwise nothing is changed.
bool SqliteTransaction::finish_done(std::span<const Outcome> outcomes) {
  const auto is_done = [](const Outcome& each) { return each.kind == Outcome::Kind::done; };
  if (!std::ranges::all_of(outcomes, is_done)) return false;
  auto rows = rows_for(outcomes);
  if (rows.size() != outcomes.size()) return false;  // Not there, or twice.
  const auto row_of_it = [&](const Outcome& each) {
    return std::ranges::lower_bound(rows, each.lease.row, {}, &TaskRow::seq);
  };
  for (const Outcome& each : outcomes) {
    if (standing(*row_of_it(each), each.id, each.lease) != Recorded::yes) return false;
  }
  static const std::string sql =
      "with ended(seq, result) as (values " + repeated("(?, ?)", rows_at_once) +
      ") update handoff_task set state = 4, finished_at = ?, result = ended.result, lease_until = "
      "null, progress = 1 from ended where handoff_task.seq = ended.seq";
  {
    Query query(database(), sql.c_str());
    for (const Outcome& each : outcomes) query.add(each.lease.row, std::string_view(each.text));
    for (int i = static_cast<int>(outcomes.size()); i < rows_at_once; ++i) {
      query.add(std::nullopt, std::nullopt);
    }
    query.add(now_);
    query.next();
  }
  for (const Outcome& each : outcomes) {
    TaskRow& row = *row_of_it(each);
    change(row, TaskState::done);
    after_end(row);
  }
  return true;
}

Recorded SqliteTransaction::finish_one(const Outcome& outcome) {
  auto row = row_of(outcome.lease.row);
  if (const auto allowed = standing(row, outcome.id, outcome.lease); allowed != Recorded::yes) {
    // Whatever it says: its worker has stopped, and the task may be run again.
    if (allowed == Recorded::cancelled) {
      execute(database(), "update handoff_task set lease_until = null where seq = ?", row->seq);
    }
    if (allowed == Recorded::stale) return allowed;
    // The same said twice, or something else after it had its say: that is not heard any more.
    if (may_lead_to(outcome.kind, row->state)) return Recorded::again;
    return allowed == Recorded::cancelled ? allowed : Recorded::stale;
  }
  switch (outcome.kind) {
    case Outcome::Kind::done:
      change(*row, TaskState::done);
      execute(database(),
              "update handoff_task set state = 4, finished_at = ?, result = ?, lease_until = null, "
              "progress = 1 "
              "where seq = ? and state = 3 and lease = ?",
              now_, std::string_view(outcome.text), row->seq, outcome.lease.token);
      after_end(*row);
      break;
    case Outcome::Kind::failed:
    case Outcome::Kind::failed_for_good: fail(*row, outcome); break;
    case Outcome::Kind::deferred:
      change(*row, TaskState::scheduled);
      changes_.states.back().is_deferral = true;
      note_due(outcome.later.value_or(Millis(0)));
      execute(database(),
              "update handoff_task set state = 0, at = ?, attempt = attempt - 1, lease_until = "
              "null, note = ? where seq = ?",
              now_ + outcome.later.value_or(Millis(0)), if_any(outcome.text), row->seq);
      admit_held(row->group, rows_.queue(row->queue));
      break;
    case Outcome::Kind::released:
      change(*row, TaskState::ready);
      make_ready(*row, true);
      execute(database(),
              "update handoff_task set state = 2, held = ?, attempt = attempt - 1, lease_until = "
              "null where seq = ?",
              int{row->is_held}, row->seq);
      admit_held(row->group, rows_.queue(row->queue));
      // It was not begun, so its claim does not count.
      if (QueueRow& queue = rows_.queue(row->queue); queue.settings->rate > 0) {
        set_tokens(queue, tokens_of(queue) + 1);
      }
      break;
    case Outcome::Kind::cancelled:
      end(*row, TaskState::cancelled,
          outcome.text.empty() ? std::string_view("its handler cancelled it") : outcome.text);
      break;
  }
  return Recorded::yes;
}

void SqliteTransaction::fail(TaskRow& row, const Outcome& outcome) {
  note_error(row, outcome.text);
  const bool is_over =
      outcome.kind == Outcome::Kind::failed_for_good || row.attempt >= row.max_attempts;
  if (is_over) return end(row, TaskState::dead, outcome.text);
  const auto& policy = rows_.queue(row.queue).settings->retry;
  const Millis later = outcome.later ? *outcome.later : policy.delay(row.attempt, random_bits());
  change(row, TaskState::scheduled);
  note_due(later);
  execute(database(), "update handoff_task set state = 0, at = ?, lease_until = null where seq = ?",
          now_ + later, row.seq);
  admit_held(row.group, rows_.queue(row.queue));
}

void SqliteTransaction::note_error(const TaskRow& row, std::string_view message) {
  std::int64_t number = 1;
  {
    Query last(database(), "select max(number) from handoff_error where task = ?", row.seq);
    if (last.next() && !last.is_null(0)) number = last.number(0) + 1;
  }
  execute(database(), "insert into handoff_error values(?, ?, ?, ?, ?)", row.seq, number,
          row.attempt, now_, message);
  if (number > most_errors) {
    execute(database(), "delete from handoff_error where task = ? and number <= ?", row.seq,
            number - most_errors);
  }
}

std::vector<Recorded> SqliteTransaction::extend(std::span<const Extension> extensions) {
  std::vector<Recorded> recorded;
  recorded.reserve(extensions.size());
  for (const Extension& each : extensions) {
    const auto row = row_of(each.lease.row);
    Recorded result = standing(row, each.id, each.lease);
    if (result == Recorded::again) result = Recorded::stale;  // It is over.
    recorded.push_back(result);
    if (result != Recorded::yes) continue;
    const Millis lease_for =
        each.lease_for > Millis(0) ? each.lease_for : rows_.queue(row->queue).settings->lease_for;
    execute(database(),
            "update handoff_task set lease_until = max(lease_until, ?), progress = coalesce(?, "
            "progress), note = coalesce(?, note) where seq = ?",
            since_boot_ + lease_for, each.progress, if_any(each.note), row->seq);
    if (each.progress || !each.note.empty()) note_state(*row, rows_.queue(row->queue));
  }
  return recorded;
}

// -- What somebody else wants of it ---------------------------------------------------------------

namespace {
std::unexpected<TaskError> not_there(const TaskId& id) {
  return std::unexpected(TaskError{.code = TaskError::Code::not_found,
                                   .message = fmt::format("there is no task {}", id.to_string()),
                                   .field = "id"});
}
}  // namespace

std::expected<TaskState, TaskError> SqliteTransaction::cancel(const TaskId& id,
                                                              std::string_view reason) {
  auto row = row_of(id);
  if (!row) return not_there(id);
  if (is_finished(row->state)) {
    return std::unexpected(TaskError{.code = TaskError::Code::conflict,
                                     .message = fmt::format("task {} is {} and cannot be cancelled",
                                                            id.to_string(), to_string(row->state)),
                                     .field = "id"});
  }
  const TaskState before = row->state;
  const std::string_view why = reason.empty() ? "somebody cancelled it" : reason;
  end(*row, TaskState::cancelled, cut_utf8(why, limits::message_size), AfterEnd::keeps_lease);
  return before;
}

std::optional<Millis> SqliteTransaction::held_for(const TaskRow& row) {
  if (row.state != TaskState::cancelled) return std::nullopt;
  Query lease(database(), "select lease_until from handoff_task where seq = ?", row.seq);
  if (!lease.next() || lease.is_null(0)) return std::nullopt;
  const Millis left = Millis(lease.number(0)) - since_boot_;
  return left > Millis(0) ? std::optional(left) : std::nullopt;
}

// Run again now, it would run twice at once.
std::optional<TaskError> SqliteTransaction::still_worked_on(const TaskRow& row) {
  const auto left = held_for(row);
  if (!left) return std::nullopt;
  return TaskError{.code = TaskError::Code::conflict,
                   .message = fmt::format(
                       "task {} was cancelled while it ran, and its worker has not said that "
                       "it stopped: try again in {} s at most",
                       row.id.to_string(), std::chrono::ceil<std::chrono::seconds>(*left).count()),
                   .field = "id"};
}

std::expected<TaskState, TaskError> SqliteTransaction::replay(const TaskId& id) {
  auto row = row_of(id);
  if (!row) return not_there(id);
  if (!is_finished(row->state)) {
    return std::unexpected(
        TaskError{.code = TaskError::Code::conflict,
                  .message = fmt::format("task {} is {}: only what is finished can be run again",
                                         id.to_string(), to_string(row->state)),
                  .field = "id"});
  }
  if (auto held = still_worked_on(*row)) return std::unexpected(*std::move(held));
  if (is_key_taken(*row)) {
    return std::unexpected(TaskError{
        .code = TaskError::Code::conflict,
        .message = fmt::format(
            "task {} cannot be run again: another one with its unique_key is not finished",
            id.to_string()),
        .field = "id"});
  }
  const TaskState was = row->state;
  if ((row->flags & has_dependencies) != 0) {
    const Before before = those_before(row->seq);
    if (before.lost != 0) {
      const TaskRow lost = known_row(before.lost);
      return std::unexpected(TaskError{
          .code = TaskError::Code::conflict,
          .message = fmt::format("task {} waits for {}, which is {}: retry that one",
                                 id.to_string(), lost.id.to_string(), to_string(lost.state)),
          .field = "id"});
    }
    if (before.unfinished > 0) {
      revive(*row, before.unfinished);
      revive_dependents(*row, was);
      return was;
    }
  }
  change(*row, TaskState::ready);
  make_ready(*row, false);
  execute(database(),
          "update handoff_task set state = 2, held = ?, turn = ?, at = ?, attempt = 0, crashes = "
          "0, finished_at = null, "
          "reason = null, result = null, progress = null, note = null, lease = null, expires_at = "
          "null, flags = flags & ~16 where seq = ?",
          int{row->is_held}, row->turn, now_, row->seq);
  begin_again(*row, was);
  revive_dependents(*row, was);
  return was;
}

// -- What is left of those that are gone ----------------------------------------------------------

void SqliteTransaction::reclaim_row(TaskRow& row) {
  if (row.crashes + 1 >= most_crashes) {
    const std::string why =
        fmt::format("its worker was gone before it was done, {} times", row.crashes + 1);
    note_error(row, why);
    execute(database(), "update handoff_task set crashes = crashes + 1, lease = null where seq = ?",
            row.seq);
    return end(row, TaskState::dead, why);
  }
  change(row, TaskState::ready);
  make_ready(row, true);
  execute(database(),
          "update handoff_task set state = 2, held = ?, attempt = attempt - 1, crashes = crashes + "
          "1, lease = null, "
          "lease_until = null where seq = ?",
          int{row.is_held}, row.seq);
  admit_held(row.group, rows_.queue(row.queue));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
