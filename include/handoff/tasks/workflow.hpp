// Steps that depend on each other, as one thing to start, wait for, look at and cancel.
//
//   Workflow checkout{"checkout-17"};
//   checkout.step("charge", Charge{order, cents}, {.after = {}, .task = {.queue = "payments"}})
//       .then("receipt", Receipt{order})                                       // after "charge"
//       .step("ship", Ship{order}, {.after = {"charge"}})                      // beside "receipt"
//       .step("report", Report{order}, {.after = {"receipt", "ship"}});        // after both
//   auto started = tasks.start(checkout);                                      // all or nothing is stored
//   auto end = tasks.wait_workflow(started->id, 1min);                         // until all steps have ended
//
// Each step is a task. It runs when those before it are done, and can read what they returned: context.input<Charged>("charge"). If one ends dead or cancelled, those that
// depend on it are cancelled with that reason; branches that do not depend on it go on. retry() of such a step revives those that were given up because of it.
//
// A name that is taken, one that is unknown, and steps that wait for each other in a circle are errors of start(), which name them.
// Thread safety: a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handoff/tasks/error.hpp"
#include "handoff/tasks/kind.hpp"
#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

using WorkflowId = TaskId;

struct StepOptions {
  std::vector<std::string> after{};  // Steps of the same workflow.
  NewTask task{};                    // Its queue, priority, attempts, ...
};

struct WorkflowStep {
  std::string name;  // 1 to 64 of [A-Za-z0-9._-].
  std::vector<std::string> after;
  NewTask task;
};

class Workflow {
 public:
  explicit Workflow(std::string name = "workflow") : name_(std::move(name)) {}

  // After the steps that the options name, or at once.
  template <typename T>
    requires(!std::same_as<T, NewTask>)
  Workflow& step(std::string name, const T& payload, StepOptions options = {}) {
    auto json = to_json(payload);
    if (json) {
      options.task.payload = std::move(*json).text();
    } else if (!error_) {
      error_ = TaskError{.code = TaskError::Code::bad_request,
                         .message = "step " + name + ": payload: " + json.error().to_string(),
                         .field = "steps." + name + ".payload"};
    }
    if (options.task.kind.empty()) options.task.kind = kind_of<T>();
    return step(std::move(name), std::move(options.task), std::move(options.after));
  }
  // With a payload as JSON.
  Workflow& step(std::string name, NewTask task, std::vector<std::string> after = {}) {
    steps_.push_back({.name = std::move(name), .after = std::move(after), .task = std::move(task)});
    return *this;
  }
  // After the step that was named last.
  template <typename T>
  Workflow& then(std::string name, const T& payload, NewTask options = {}) {
    std::vector<std::string> after = last();
    if constexpr (std::same_as<T, NewTask>) {
      return step(std::move(name), payload, std::move(after));
    } else {
      return step(std::move(name), payload,
                  {.after = std::move(after), .task = std::move(options)});
    }
  }
  // Chosen by you: starting it once more starts no second one, and answers as the first time.
  Workflow& id(const WorkflowId& id) {
    id_ = id;
    return *this;
  }

  const std::string& name() const { return name_; }
  const std::vector<WorkflowStep>& steps() const { return steps_; }
  const std::optional<WorkflowId>& id() const { return id_; }
  const std::optional<TaskError>& error() const { return error_; }

 private:
  std::vector<std::string> last() const {
    return steps_.empty() ? std::vector<std::string>() : std::vector{steps_.back().name};
  }

  std::string name_;
  std::optional<WorkflowId> id_;
  std::vector<WorkflowStep> steps_;
  std::optional<TaskError> error_;  // The first payload that cannot be written.
};

struct StartedWorkflow {
  WorkflowId id;
  std::map<std::string, TaskId> tasks;  // By the names of the steps.
  bool is_duplicate = false;
};

struct StepLook {
  std::string name;
  TaskId task;
  std::string queue;
  std::string kind;
  TaskState state = TaskState::waiting;
  double progress = 0;
  std::optional<std::string> result;  // JSON.
  std::string reason;                 // Why it is dead or cancelled.
  std::vector<std::string> after;
};

struct WorkflowLook {
  WorkflowId id;
  std::string name;
  // running; then done, or dead if a step is, or cancelled if one is and none is dead.
  TaskState state = TaskState::running;
  Time created_at;
  std::optional<Time> finished_at;
  int unfinished = 0;           // Steps.
  std::vector<StepLook> steps;  // In an order in which they may run. Not in lists of workflows.
};

struct WorkflowList {
  std::vector<WorkflowLook> workflows;  // Newest first.
  std::string next_cursor;              // Empty: there are no more.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
