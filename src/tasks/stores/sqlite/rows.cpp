#include "tasks/stores/sqlite/rows.hpp"

#include <fmt/format.h>

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {
constexpr int first_count = 4;  // The column of the first count by state.
}

QueueRow& Rows::keep(const Query& query) {
  QueueRow& row = queues_[query.number(0)];
  row.id = query.number(0);
  row.name = query.text(1);
  row.version = query.number(2);
  row.is_paused = query.number(3) != 0;
  int column = first_count;
  for (auto& count : row.counts) count = query.number(column++);
  row.bytes = query.number(column++);
  row.turn = query.number(column++);
  row.last_turn = query.number(column++);
  row.tokens = query.real(column++);
  row.tokens_at = query.number(column++);
  row.settings = &settings_.of(database_, row);
  queue_ids_[row.name] = row.id;
  return row;
}

QueueRow* Rows::queue(std::string_view name, bool makes) {
  if (const auto known = queue_ids_.find(name); known != queue_ids_.end()) {
    return &queues_[known->second];
  }
  {
    Query query(database_, "select * from handoff_queue where name = ?", name);
    if (query.next()) return &keep(query);
  }
  if (!makes || !has_room_for(name)) return nullptr;
  execute(database_, "insert into handoff_queue(name) values(?)", name);
  return queue(name, false);
}

// Our own are always made.
bool Rows::has_room_for(std::string_view name) {
  if (name.starts_with("handoff.")) return true;
  Query last(database_, "select max(id) from handoff_queue");  // As many as there are.
  last.next();
  return last.number(0) < most_queues;
}

std::string Rows::no_room_for(std::string_view name) {
  return fmt::format(
      "queue must be one of those that there are, since {} are as many as there may "
      "be, got \"{}\"",
      most_queues, name);
}

QueueRow& Rows::queue_to_set(std::string_view name) {
  if (QueueRow* const found = queue(name, true)) return *found;
  throw Failure(
      {.code = TaskError::Code::bad_request, .message = no_room_for(name), .field = "queue"});
}

QueueRow& Rows::queue(std::int64_t id) {
  if (const auto known = queues_.find(id); known != queues_.end()) return known->second;
  Query query(database_, "select * from handoff_queue where id = ?", id);
  if (!query.next()) throw_damaged(database_.raw(), "a task is of a queue that is not there");
  return keep(query);
}

GroupRow& Rows::keep_group(const Query& query) {
  GroupRow& row = groups_[query.number(0)];
  row = {.id = query.number(0),
         .name = std::string(query.text(1)),
         .tasks = query.number(2),
         .running = query.number(3),
         .open = query.number(4),
         .last_turn = query.number(5),
         .is_changed = false};
  return row;
}

GroupRow& Rows::group(const QueueRow& queue, std::string_view name) {
  for (;;) {
    {
      Query query(database_, "select id from handoff_group where queue = ? and name = ?", queue.id,
                  name);
      if (query.next()) return group(query.number(0));
    }
    execute(database_, "insert into handoff_group(queue, name) values(?, ?)", queue.id, name);
  }
}

GroupRow& Rows::group(std::int64_t id) {
  if (const auto known = groups_.find(id); known != groups_.end()) return known->second;
  Query query(database_,
              "select id, name, tasks, running, open, last_turn from handoff_group where id = ?",
              id);
  if (!query.next()) throw_damaged(database_.raw(), "a task is of a group that is not there");
  return keep_group(query);
}

void Rows::flush(std::vector<QueueDepth>& depths) {
  for (auto& [id, row] : queues_) {
    if (!std::exchange(row.is_changed, false)) continue;
    depths.push_back({.queue = row.name, .counts = row.counts});
    execute(database_,
            "update handoff_queue set version = ?, is_paused = ?, scheduled = ?, waiting = ?, "
            "ready = ?, running = ?, "
            "done = ?, dead = ?, cancelled = ?, bytes = ?, turn = ?, last_turn = ?, tokens = ?, "
            "tokens_at = ? "
            "where id = ?",
            row.version, row.is_paused ? 1 : 0, row.counts[0], row.counts[1], row.counts[2],
            row.counts[3], row.counts[4], row.counts[5], row.counts[6], row.bytes, row.turn,
            row.last_turn, row.tokens, row.tokens_at, id);
  }
  for (auto& [id, row] : groups_) {
    if (!std::exchange(row.is_changed, false)) continue;
    if (row.tasks == 0) {  // Nobody refers to it any more.
      execute(database_, "delete from handoff_group where id = ?", id);
    } else {
      execute(database_,
              "update handoff_group set tasks = ?, running = ?, open = ?, last_turn = ? where "
              "id = ?",
              row.tasks, row.running, row.open, row.last_turn, id);
    }
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
