#include "cli/workflow_file.hpp"

#include <fmt/format.h>

#include "cli/failure.hpp"
#include "server/api/task_body.hpp"

namespace handoff::cli {

namespace {

struct StepJson {
  std::string name;
  std::vector<std::string> after;
  server::TaskBody task;
  std::optional<tasks::Json> compensate;
  static constexpr auto optional_fields = std::to_array<std::string_view>({"after"});
};
BOOST_DESCRIBE_STRUCT(StepJson, (), (name, after, task, compensate))

struct WorkflowJson {
  std::optional<std::string> name;
  std::optional<tasks::TaskId> id;
  std::vector<StepJson> steps;
};
BOOST_DESCRIBE_STRUCT(WorkflowJson, (), (name, id, steps))

}  // namespace

tasks::Workflow read_workflow(std::string_view json) {
  auto read =
      tasks::from_json<WorkflowJson>(json, {.unknown_fields = tasks::UnknownFields::refuse});
  if (!read) throw Failure(Exit::usage, "the workflow: " + read.error().to_string());
  tasks::Workflow workflow(read->name.value_or("workflow"));
  if (read->id) workflow.id(*read->id);
  for (StepJson& each : read->steps) {
    if (each.compensate) {  // Better refused than forgotten.
      throw Failure(Exit::usage,
                    fmt::format("steps.{}.compensate is not supported yet", each.name));
    }
    workflow.step(std::move(each.name), server::to_task(std::move(each.task), {}),
                  std::move(each.after));
  }
  return workflow;
}

}  // namespace handoff::cli
