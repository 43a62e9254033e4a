// Why a task is not running, and who could run it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "handoff/tasks/duration.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

using Code = Explanation::Code;
constexpr std::int64_t farthest = 10'000;  // Who goes before it is counted up to that.

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

std::string in_words(Millis time) {
  using namespace std::chrono;
  // To the second is enough for people.
  return to_text(time < seconds(2) ? time : Millis(ceil<seconds>(time)));
}

}  // namespace

std::optional<Explanation> SqliteTransaction::explain(const TaskId& id) {
  const auto task = get(id);
  if (!task) return std::nullopt;
  QueueRow& queue = *rows_.queue(task->queue, false);
  switch (task->state) {
    case TaskState::running:
      return Explanation{.code = Code::running,
                         .message = fmt::format("it runs, attempt {} of {}, in worker {}",
                                                task->attempt, task->max_attempts, task->worker),
                         .position = {}};
    case TaskState::done:
    case TaskState::dead:
    case TaskState::cancelled:
      return Explanation{.code = Code::finished,
                         .message = fmt::format("it is {}{}{}", to_string(task->state),
                                                task->reason.empty() ? "" : ": ", task->reason),
                         .position = {}};
    case TaskState::scheduled: {
      const std::string again =
          task->errors.empty() ? ""
                               : fmt::format("; attempt {} failed: {}", task->errors.back().attempt,
                                             task->errors.back().message);
      return Explanation{
          .code = Code::future,
          .message = fmt::format("its time is {}, in {}{}", to_text(task->run_at),
                                 in_words(std::max(task->run_at - now_, Millis(0))), again),
          .position = {}};
    }
    case TaskState::waiting: return explain_waiting(id);
    case TaskState::ready: return explain_ready(*task, queue);
  }
  return std::nullopt;
}

Explanation SqliteTransaction::explain_waiting(const TaskId& id) {
  std::string first;
  int others = -1;
  Query before(database(),
               "select b.seq from handoff_task t join handoff_dependency d on d.after = t.seq "
               "join handoff_task b on b.seq = d.before where t.id = ? and b.state <> 4 order by "
               "b.seq",
               id);
  while (before.next()) {
    if (++others > 0) continue;
    const TaskRow row = row_of(before.number(0)).value();
    first = fmt::format("{}, which is {}", name_in_workflow(row), to_string(row.state));
  }
  return {.code = Code::waiting_for,
          .message = others > 0 ? fmt::format("it waits for {}, and for {} more", first, others)
                                : fmt::format("it waits for {}", first),
          .position = {}};
}

Explanation SqliteTransaction::explain_ready(const Task& task, QueueRow& queue) {
  const TaskRow row = row_of(task.id).value();
  const QueueSettings& settings = *queue.settings;
  const std::string name = fmt::format("queue \"{}\"", queue.name);
  if (queue.is_paused) {
    return {.code = Code::paused, .message = name + " is paused", .position = {}};
  }
  const auto position = position_of(row, task.priority);
  const auto all = workers();
  const auto takes_queue = [&](const WorkerLook& each) {
    return std::ranges::find(each.queues, queue.name, &WorkerLook::Queue::name) !=
           each.queues.end();
  };
  if (std::ranges::none_of(all, takes_queue)) {
    return {.code = Code::no_worker,
            .message = fmt::format("no worker takes tasks of {}", name),
            .position = position};
  }
  const bool is_known = std::ranges::any_of(all, [&](const WorkerLook& each) {
    return takes_queue(each) &&
           (each.kinds.empty() || std::ranges::find(each.kinds, task.kind) != each.kinds.end());
  });
  if (!is_known) {
    return {.code = Code::no_worker,
            .message = fmt::format("no worker of {} knows the kind \"{}\"", name, task.kind),
            .position = position};
  }
  if (row.is_held) {
    return {.code = Code::group_busy,
            .message =
                fmt::format("group \"{}\" of {} may run {} at a time, and others of it are first",
                            task.group, name, settings.group_concurrency),
            .position = position};
  }
  const std::int64_t running = queue.count(TaskState::running);
  if (settings.concurrency > 0 && running >= settings.concurrency) {
    return {.code = Code::concurrency_limited,
            .message = fmt::format("{} tasks of {} run, and no more may at a time", running, name),
            .position = position};
  }
  if (settings.rate > 0 && tokens_of(queue) < 1) {
    return {
        .code = Code::rate_limited,
        .message = fmt::format("{} may start {} a second, and has done so", name, settings.rate),
        .position = position};
  }
  if (position && *position > 1) {
    return {.code = Code::queued,
            .message = *position > farthest
                           ? fmt::format("more than {} tasks of {} go first", farthest, name)
                           : fmt::format("{} of {} {} first", *position - 1, name,
                                         *position == 2 ? "goes" : "go"),
            .position = position};
  }
  return {.code = Code::next,
          .message = fmt::format("it is the next of {}, as soon as a worker is free", name),
          .position = position};
}

// Among those that may be claimed.
std::optional<std::int64_t> SqliteTransaction::position_of(const TaskRow& row, int priority) {
  if (row.is_held) return std::nullopt;
  Query before(
      database(),
      "select count(*) from (select 1 from handoff_task where queue = ?1 and state = 2 and "
      "held = 0 and (priority > ?2 or (priority = ?2 and (turn < ?3 or (turn = ?3 and seq < "
      "?4)))) limit ?5)",
      row.queue, priority, row.turn, row.seq, farthest);
  before.next();
  return before.number(0) + 1;
}

// -- Workers --------------------------------------------------------------------------------------

std::int64_t SqliteTransaction::add_worker(const WorkerRow& worker) {
  std::string queues;
  for (const auto& each : worker.queues)
    queues += fmt::format("{}={} ", each.name, each.concurrency);
  std::string kinds;
  for (const auto& each : worker.kinds) kinds += each + ' ';
  execute(database(),
          "insert into handoff_worker(process, name, queues, kinds, started_at, seen_at) "
          "values(?, ?, ?, ?, ?, ?)",
          process_, std::string_view(worker.name), std::string_view(queues),
          std::string_view(kinds), now_, now_);
  return database().last_row();
}

void SqliteTransaction::remove_worker(std::int64_t worker) {
  execute(database(), "delete from handoff_worker where id = ?", worker);
}

std::vector<WorkerLook> SqliteTransaction::workers() {
  std::vector<WorkerLook> all;
  Query query(
      database(),
      "select process, name, queues, kinds, started_at, seen_at from handoff_worker order by id");
  while (query.next()) {
    if (processes_ != nullptr && !processes_->is_alive(query.number(0))) continue;
    WorkerLook& look = all.emplace_back();
    look.name = query.text(1);
    for (const std::string& each : words(query.text(2))) {
      const auto end = each.find('=');
      look.queues.push_back(
          {.name = each.substr(0, end), .concurrency = std::atoi(each.c_str() + end + 1)});
    }
    look.kinds = words(query.text(3));
    look.started_at = query.time(4);
    // Its process is there, or keeps it listed; only tasks whose leases have ended say that it is silent.
    look.seen_at = now_;
    Query running(database(),
                  "select id, queue, kind, started_at, process is null and lease_until < ? from "
                  "handoff_task where state = 3 and worker = ? order by lease_until limit 1000",
                  since_boot_, std::string_view(look.name));
    while (running.next()) {
      if (running.number(4) != 0) look.seen_at = query.time(5);
      look.running.push_back({.task = running.id(0),
                              .queue = rows_.queue(running.number(1)).name,
                              .kind = std::string(running.text(2)),
                              .since = running.time_if_any(3)});
    }
  }
  return all;
}

std::string SqliteTransaction::holder_of(const Lease& lease) {
  Query query(database(), "select worker from handoff_task where seq = ?", lease.row);
  return query.next() ? std::string(query.text(0)) : "";
}

std::vector<AtWork> SqliteTransaction::at_work_elsewhere() {
  std::vector<AtWork> all;
  Query query(database(),
              "select t.worker, t.queue, count(w.id) from (select distinct worker, queue from "
              "handoff_task where state = 3 and process is null and worker is not null) t left "
              "join handoff_worker w on w.name = t.worker group by 1, 2 order by 1, 2");
  while (query.next()) {
    all.push_back({.worker = std::string(query.text(0)),
                   .queue = rows_.queue(query.number(1)).name,
                   .is_listed = query.number(2) > 0});
  }
  return all;
}

// -- What is dead ---------------------------------------------------------------------------------

std::vector<DeadGroup> SqliteTransaction::dead(std::string_view name) {
  std::optional<std::int64_t> queue;
  if (!name.empty()) {
    const QueueRow* const row = rows_.queue(name, false);
    if (row == nullptr) return {};
    queue = row->id;
  }
  std::vector<DeadGroup> groups;
  // The columns beside max() are those of the row that has it.
  Query query(
      database(),
      "select queue, kind, reason, count(*), max(finished_at), id from handoff_task where "
      "queue in (select id from handoff_queue where ?1 is null or id = ?1) and state = 5 and "
      "likelihood(state >= 4, 0.99) group by queue, kind, reason order by 4 desc limit 1000",
      queue);
  while (query.next()) {
    groups.push_back({.queue = rows_.queue(query.number(0)).name,
                      .kind = std::string(query.text(1)),
                      .reason = std::string(query.text(2)),
                      .count = query.number(3),
                      .latest = query.time(4),
                      .example = query.id(5)});
  }
  return groups;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
