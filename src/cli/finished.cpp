#include "cli/finished.hpp"

#include "cli/session.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

Exit exit_code_of_end(tasks::TaskState state) {
  return state == tasks::TaskState::done ? Exit::ok : Exit::failed;
}

Exit report_end(Session& session, const tasks::Task& task) {
  if (session.is_json) {
    session.out.json_text(server::to_json_text(task));
  } else if (task.state == tasks::TaskState::done) {
    session.out.line("{}", one_line(task.result.value_or("null")));
  }
  if (task.state != tasks::TaskState::done) {
    session.say("{} is {}{}", task.id, to_string(task.state),
                task.reason.empty() ? "" : ": " + task.reason);
  }
  return exit_code_of_end(task.state);
}

}  // namespace handoff::cli
