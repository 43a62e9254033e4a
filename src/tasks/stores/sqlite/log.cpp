// What handlers say while they run, and who is in which state.
#include "handoff/tasks/limits.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

void SqliteTransaction::log(std::span<const TaskLines> lines) {
  for (const TaskLines& each : lines) {
    const auto row = row_of(each.lease.row);
    const bool has_a_say = row && row->id == each.id && row->state == TaskState::running &&
                           row->lease == each.lease.token;
    if (!has_a_say) continue;
    std::int64_t number = 0;
    {
      Query last(database(), "select max(number) from handoff_log where task = ?", row->seq);
      if (last.next()) number = last.number(0);
    }
    for (const LogLine& line : each.lines) {
      execute(database(), "insert into handoff_log values(?, ?, ?, ?)", row->seq, ++number, line.at,
              line.line);
    }
    const auto too_old = number - static_cast<std::int64_t>(limits::log_lines);
    if (too_old <= 0) continue;
    execute(database(), "delete from handoff_log where task = ? and number <= ?", row->seq,
            too_old);
  }
}

std::vector<LogLine> SqliteTransaction::lines_of(const TaskId& id) {
  std::vector<LogLine> lines;
  Query query(database(),
              "select l.number, l.at, l.line from handoff_task t join handoff_log l on l.task = "
              "t.seq where t.id = ? order by l.number",
              id);
  while (query.next()) {
    lines.push_back(
        {.number = query.number(0), .at = query.time(1), .line = std::string(query.text(2))});
  }
  return lines;
}

std::vector<std::optional<TaskState>> SqliteTransaction::states_of(std::span<const TaskId> ids) {
  std::vector<std::optional<TaskState>> states;
  states.reserve(ids.size());
  for (const TaskId& id : ids) {
    Query query(database(), "select state from handoff_task where id = ?", id);
    auto& state = states.emplace_back();
    if (query.next()) state = static_cast<TaskState>(query.number(0));
  }
  return states;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
