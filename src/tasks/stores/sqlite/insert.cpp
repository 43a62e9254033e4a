// How tasks come into the store.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "handoff/tasks/notify.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {
// Whether it is a row of handoff_task and nothing else.
bool is_plain(const NewTask& task) {
  return !task.id && task.unique_key.empty() && task.after.empty() &&
         task.payload.size() <= most_inline;
}

// What this batch makes, as far as it was looked at.
class BatchSoFar {
 public:
  bool has(const TaskId& id) const { return ids_.contains(id); }
  bool has(const NewTask& task) const {
    if (task.id && has(*task.id)) return true;
    return !task.unique_key.empty() && keys_.contains({task.queue, task.unique_key});
  }
  void add(const NewTask& task) {
    if (task.id) ids_.insert(*task.id);
    if (!task.unique_key.empty()) keys_.emplace(task.queue, task.unique_key);
  }

 private:
  std::set<TaskId> ids_;
  std::set<std::pair<std::string_view, std::string_view>> keys_;
};

bool has_room(const QueueRow& queue, const Demand::OfQueue& wanted) {
  return queue.unfinished() + wanted.tasks <= queue.settings->capacity &&
         queue.bytes + wanted.bytes <= queue.settings->capacity_bytes;
}

std::string holds_tasks(const QueueRow& queue) {
  return fmt::format("queue \"{}\" holds {} of {} tasks", queue.name, queue.unfinished(),
                     queue.settings->capacity);
}

std::string holds_bytes(const QueueRow& queue) {
  return fmt::format("queue \"{}\" holds {} of {} bytes", queue.name, queue.bytes,
                     queue.settings->capacity_bytes);
}

std::string insert_statement(int rows) {
  return "insert into handoff_task(id, queue, kind, state, held, priority, turn, at, max_attempts, "
         "created_at, timeout, expires_at, grp, unique_key, unique_for, waits_on, flags, size, "
         "payload, trace, notify) values" +
         repeated("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows);
}
}  // namespace

std::expected<std::vector<Enqueued>, TaskError> SqliteTransaction::insert(
    std::span<const NewTask> tasks) {
  // First all that may be wrong: what follows cannot be refused.
  if (auto error = check_after(tasks)) return std::unexpected(std::move(*error));
  if (auto error = check_room(tasks)) return std::unexpected(std::move(*error));
  std::vector<Enqueued> inserted;
  inserted.reserve(tasks.size());
  while (!tasks.empty()) {
    const auto some = tasks.first(std::min<std::size_t>(tasks.size(), rows_at_once));
    if (some.size() == rows_at_once && std::ranges::all_of(some, is_plain)) {
      insert_plain(some, inserted);
      tasks = tasks.subspan(some.size());
      continue;
    }
    auto duplicate = find_duplicate(tasks.front());
    inserted.push_back(duplicate ? *duplicate : insert_one(tasks.front()));
    tasks = tasks.subspan(1);
  }
  return inserted;
}

std::optional<Enqueued> SqliteTransaction::find_duplicate(const NewTask& task) {
  const auto found = [](const Query& query) {
    return Enqueued{
        .id = query.id(0), .state = static_cast<TaskState>(query.number(1)), .is_duplicate = true};
  };
  if (task.id) {
    Query same(database(), "select id, state from handoff_task where id = ?", *task.id);
    if (same.next()) return found(same);
  }
  if (!task.unique_key.empty()) {
    const QueueRow* const queue = rows_.queue(task.queue, false);
    if (queue == nullptr) return std::nullopt;
    Query same(database(),
               "select u.task, coalesce(t.state, u.state) from handoff_unique u left join "
               "handoff_task t on t.id = u.task where u.queue = ? and u.key = ? and (u.until is "
               "null or u.until > ?)",
               queue->id, task.unique_key, now_);
    if (same.next()) return found(same);
  }
  return std::nullopt;
}

TaskError SqliteTransaction::refuse(std::size_t index, TaskError::Code code, std::string_view field,
                                    std::string message) {
  refused_ = index;
  return {
      .code = code, .message = std::move(message), .field = fmt::format("[{}].{}", index, field)};
}

std::optional<TaskError> SqliteTransaction::check_room(std::span<const NewTask> tasks) {
  Demand all;
  const auto fits = [&](const NewTask& task) {
    const QueueRow* const queue = rows_.queue(task.queue, true);
    const bool is_in = queue != nullptr && has_room(*queue, all.add(task));
    return is_in && (task.notify_url.empty() || !full_of_notices());
  };
  return std::ranges::all_of(tasks, fits) ? std::nullopt : check_room_closely(tasks);
}

// There is no room for all of them. What is there already needs none.
std::optional<TaskError> SqliteTransaction::check_room_closely(std::span<const NewTask> tasks) {
  BatchSoFar before;
  std::vector<std::size_t> newcomers;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (before.has(tasks[i]) || find_duplicate(tasks[i])) continue;
    before.add(tasks[i]);
    newcomers.push_back(i);
  }
  // Whoever asks for more than there may ever be would come back in vain.
  Demand ever;
  for (const std::size_t i : newcomers) {
    if (auto error = check_fits_ever(i, tasks[i], ever.add(tasks[i]))) return error;
  }
  Demand now;
  for (const std::size_t i : newcomers) {
    if (auto error = check_fits_now(i, tasks[i], now.add(tasks[i]))) return error;
  }
  return std::nullopt;
}

std::optional<TaskError> SqliteTransaction::check_fits_ever(std::size_t index, const NewTask& task,
                                                            const Demand::OfQueue& wanted) {
  const QueueRow* const there = rows_.queue(task.queue, true);
  if (there == nullptr) {
    return refuse(index, TaskError::Code::bad_request, "queue", Rows::no_room_for(task.queue));
  }
  const QueueRow& queue = *there;
  if (wanted.tasks > queue.settings->capacity) {
    return refuse(index, TaskError::Code::too_large, "queue",
                  fmt::format("queue \"{}\" may never hold more than {} tasks, and these are {} or "
                              "more at once",
                              queue.name, queue.settings->capacity, wanted.tasks));
  }
  if (wanted.bytes > queue.settings->capacity_bytes) {
    return refuse(index, TaskError::Code::too_large, "payload",
                  fmt::format("queue \"{}\" may never hold more than {} bytes of payloads, and "
                              "these are {}{}",
                              queue.name, queue.settings->capacity_bytes, wanted.bytes,
                              wanted.tasks > 1 ? " or more at once" : ""));
  }
  return std::nullopt;
}

std::optional<TaskError> SqliteTransaction::check_fits_now(std::size_t index, const NewTask& task,
                                                           const Demand::OfQueue& wanted) {
  const QueueRow& queue = *rows_.queue(task.queue, true);
  if (!has_room(queue, wanted)) {
    const bool are_too_many = queue.unfinished() + wanted.tasks > queue.settings->capacity;
    return refuse_full(index, "queue", queue,
                       are_too_many ? holds_tasks(queue) : holds_bytes(queue));
  }
  const QueueRow* const notices = task.notify_url.empty() ? nullptr : full_of_notices();
  if (notices == nullptr) return std::nullopt;
  const bool are_too_many = notices->unfinished() >= notices->settings->capacity;
  return refuse_full(index, "notify", *notices,
                     fmt::format("nobody more can be told how a task has ended: {}",
                                 are_too_many ? holds_tasks(*notices) : holds_bytes(*notices)));
}

// A notice is stored whether it has room or not: the task could not end otherwise. So while there is none, nothing comes in that will need some.
const QueueRow* SqliteTransaction::full_of_notices() {
  const QueueRow* const notices = rows_.queue(notify_queue, false);
  if (notices == nullptr || has_room(*notices, {.tasks = 1, .bytes = 1})) return nullptr;
  return notices;
}

TaskError SqliteTransaction::refuse_full(std::size_t index, std::string_view field,
                                         const QueueRow& queue, std::string message) {
  TaskError error = refuse(index, TaskError::Code::full, field, std::move(message));
  error.queue = queue.name;
  return error;
}

// Those it waits for must be there, and may still be done. One that is there itself waits for nobody: it is not stored again.
std::optional<TaskError> SqliteTransaction::check_after(std::span<const NewTask> tasks) {
  if (std::ranges::all_of(tasks, [](const NewTask& each) { return each.after.empty(); })) {
    return std::nullopt;
  }
  BatchSoFar before;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (before.has(tasks[i]) || find_duplicate(tasks[i])) continue;
    for (std::size_t k = 0; k < tasks[i].after.size(); ++k) {
      const TaskId& id = tasks[i].after[k];
      if (before.has(id)) continue;
      const auto row = row_of(id);
      const std::string field = fmt::format("after[{}]", k);
      if (!row) {
        return refuse(
            i, TaskError::Code::not_found, field,
            fmt::format("[{}].{} names a task that is not there: {}", i, field, id.to_string()));
      }
      if (row->state == TaskState::dead || row->state == TaskState::cancelled) {
        return refuse(i, TaskError::Code::conflict, field,
                      fmt::format("[{}].{} names a task that will not be done: {} is {}", i, field,
                                  id.to_string(), to_string(row->state)));
      }
    }
    before.add(tasks[i]);
  }
  return std::nullopt;
}

NewRow SqliteTransaction::row_for(const NewTask& task) {
  QueueRow& queue = *rows_.queue(task.queue, true);
  const Time at = task.run_at ? *task.run_at : now_ + task.delay;
  TaskRow row{.id = task.id ? *task.id : TaskId::make(now_),
              .queue = queue.id,
              .group = task.group.empty() ? 0 : rows_.group(queue, task.group).id,
              .size = static_cast<std::int64_t>(task.payload.size())};
  if (task.payload.size() > most_inline) row.flags |= has_large_payload;
  if (!task.notify_url.empty()) row.flags |= tells_of_its_end;

  int waits_on = 0;
  if (!task.after.empty()) {
    row.flags |= has_dependencies;
    for (const TaskId& id : std::set(task.after.begin(), task.after.end())) {
      if (row_of(id)->state != TaskState::done) ++waits_on;
    }
  }
  if (waits_on > 0) {
    row.state = TaskState::waiting;
  } else if (at > now_) {
    row.state = TaskState::scheduled;
    note_due(at - now_);
  } else {
    row.state = TaskState::ready;
    make_ready(row, false);
  }
  if (task.expires_in > Millis(0)) note_due(task.expires_in);
  return {.task = &task,
          .row = row,
          .at = at,
          .max_attempts = task.max_attempts > 0 ? task.max_attempts : queue.settings->max_attempts,
          .waits_on = waits_on};
}

std::expected<std::vector<Enqueued>, TaskError> SqliteTransaction::insert_kept(
    std::span<const NewTask> tasks) {
  if (tasks.size() != 1 || !is_plain(tasks.front())) return insert(tasks);
  if (auto error = check_room(tasks)) return std::unexpected(std::move(*error));
  const NewRow& made = kept_.emplace_back(row_for(tasks.front()));
  count_in(made.row);
  return std::vector{Enqueued{.id = made.row.id, .state = made.row.state, .is_duplicate = false}};
}

void SqliteTransaction::write_kept() {
  const std::vector<NewRow> kept = std::exchange(kept_, {});  // Writing asks for the database, too.
  for (std::span<const NewRow> left = kept; !left.empty();) {
    const std::size_t some = left.size() >= rows_at_once ? rows_at_once
                             : left.size() >= few_rows   ? few_rows
                                                         : 1;
    write(left.first(some));
    left = left.subspan(some);
  }
}

// One, `few_rows` or `rows_at_once`.
void SqliteTransaction::write(std::span<const NewRow> rows) {
  static const std::string one = insert_statement(1);
  static const std::string few = insert_statement(few_rows);
  static const std::string many = insert_statement(rows_at_once);
  using Number = std::optional<std::int64_t>;
  const auto if_positive = [](Millis time) {
    return time > Millis(0) ? Number(time.count()) : Number();
  };
  Query query(database(), rows.size() == 1          ? one.c_str()
                          : rows.size() == few_rows ? few.c_str()
                                                    : many.c_str());
  for (const NewRow& each : rows) {
    const NewTask& task = *each.task;
    const TaskRow& row = each.row;
    const bool is_large = (row.flags & has_large_payload) != 0;
    query.add(row.id, row.queue, std::string_view(task.kind), static_cast<int>(row.state),
              int{row.is_held}, task.priority, row.turn, each.at, each.max_attempts, now_,
              if_positive(task.timeout),
              task.expires_in > Millis(0)
                  ? Number((now_ + task.expires_in).time_since_epoch().count())
                  : Number(),
              row.group == 0 ? Number() : Number(row.group), if_any(task.unique_key),
              if_positive(task.unique_for), each.waits_on, row.flags, row.size,
              is_large ? std::nullopt : std::optional(std::string_view(task.payload)),
              if_any(task.trace), if_any(task.notify_url));
  }
  query.next();
}

void SqliteTransaction::insert_plain(std::span<const NewTask> tasks,
                                     std::vector<Enqueued>& inserted) {
  std::vector<NewRow> rows;
  rows.reserve(tasks.size());
  for (const NewTask& task : tasks) {
    rows.push_back(row_for(task));
    const TaskRow& row = rows.back().row;
    count_in(row);
    inserted.push_back({.id = row.id, .state = row.state, .is_duplicate = false});
  }
  write(rows);
}

Enqueued SqliteTransaction::insert_one(const NewTask& task) {
  NewRow made = row_for(task);
  TaskRow& row = made.row;
  write(std::span(&made, 1));
  row.seq = database().last_row();
  count_in(row);

  if ((row.flags & has_large_payload) != 0) {
    execute(database(), "insert into handoff_payload values(?, ?)", row.seq,
            std::string_view(task.payload));
  }
  if (!task.unique_key.empty()) {
    execute(database(), "insert or replace into handoff_unique(queue, key, task) values(?, ?, ?)",
            row.queue, std::string_view(task.unique_key), row.id);
  }
  insert_dependencies(row, task);
  return {.id = row.id, .state = row.state, .is_duplicate = false};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
