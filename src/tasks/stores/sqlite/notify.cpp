// A task has ended, and somebody wants to know: that is a task of its own, stored in the same transaction. So it is lost no more than the end itself is.
#include "handoff/tasks/notify.hpp"

#include <optional>
#include <utility>

#include "handoff/tasks/payload.hpp"
#include "tasks/stores/sqlite/transaction.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr std::size_t most_reason = 16384;
constexpr std::size_t depth_around = 2;  // Of {"task":{"result":...}}.

struct EndedTask {
  TaskId id;
  std::string queue;
  std::string kind;
  std::string state;
  std::optional<Json> result;
  std::optional<std::string> result_text;
  std::optional<std::string> reason;
  Time finished_at;
  std::optional<TaskId> workflow;
  std::optional<std::string> step;
};
BOOST_DESCRIBE_STRUCT(EndedTask, (),
                      (id, queue, kind, state, result, result_text, reason, finished_at, workflow,
                       step))

struct EndNotice {
  std::string url;
  EndedTask task;
};
BOOST_DESCRIBE_STRUCT(EndNotice, (), (url, task))

// As JSON if it can stand there as such: one that a codec has encoded cannot.
void set_result(EndedTask& task, std::string_view stored) {
  auto json = Json::parse(std::string(stored));
  if (json && json->depth() + depth_around <= Json::most_depth) {
    task.result = *std::move(json);
  } else {
    task.result_text = readable_utf8(stored, stored.size());
  }
}

EndNotice read_notice(const Query& query, std::string queue) {
  EndNotice notice{
      .url = std::string(query.text(0)),
      .task = {.id = query.id(1),
               .queue = std::move(queue),
               .kind = std::string(query.text(2)),
               .state = std::string(to_string(static_cast<TaskState>(query.number(3)))),
               .result = {},
               .result_text = {},
               .reason = {},
               .finished_at = query.time(6),
               .workflow = {},
               .step = {}}};
  if (!query.is_null(4)) set_result(notice.task, query.text(4));
  if (!query.is_null(5)) notice.task.reason = readable_utf8(query.text(5), most_reason);
  if (!query.is_null(7)) notice.task.workflow = query.id(7);
  if (!query.is_null(8)) notice.task.step = query.text(8);
  return notice;
}

}  // namespace

// Its row is written. There is room for it, whatever its queue says: the task would not have ended otherwise.
void SqliteTransaction::tell_of_end(const TaskRow& row) {
  NewTask task{.queue = std::string(notify_queue), .kind = std::string(notify_kind)};
  {
    Query query(database(),
                "select t.notify, t.id, t.kind, t.state, t.result, t.reason, t.finished_at, "
                "(select w.id from handoff_workflow w where w.seq = t.workflow), t.step, t.trace "
                "from handoff_task t where t.seq = ?",
                row.seq);
    if (!query.next() || query.is_null(0)) return;
    task.payload = to_json(read_notice(query, rows_.queue(row.queue).name)).value().text();
    task.trace = query.text(9);
  }
  insert_one(task);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
