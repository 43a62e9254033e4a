// Whether the steps of a workflow fit together, and in which order they can be stored.
#include "tasks/workflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "handoff/tasks/limits.hpp"
#include "tasks/core.hpp"
#include "tasks/nearest.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr std::size_t most_steps = 10'000;
constexpr std::size_t longest_name = 200;

std::unexpected<TaskError> bad(std::string field, std::string message) {
  return std::unexpected(TaskError{.code = TaskError::Code::bad_request,
                                   .message = std::move(message),
                                   .field = std::move(field)});
}

using Names = std::map<std::string_view, std::size_t>;

std::expected<Names, TaskError> names_of(const std::vector<WorkflowStep>& steps) {
  Names names;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const auto good = check_queue(steps[i].name, fmt::format("steps[{}].name", i)); !good) {
      return bad(good.error().field, good.error().message);
    }
    if (!names.emplace(steps[i].name, i).second) {
      return bad(fmt::format("steps[{}].name", i),
                 fmt::format("there are two steps \"{}\"", steps[i].name));
    }
  }
  return names;
}

// Each step is a task of its own.
std::optional<TaskError> find_repeated(const std::vector<WorkflowStep>& steps) {
  std::map<TaskId, std::string_view> ids;
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> keys;
  const auto error = [](const WorkflowStep& step, std::string_view field, std::string_view other) {
    return TaskError{.code = TaskError::Code::bad_request,
                     .message = fmt::format("step \"{}\" has the same {} as step \"{}\"", step.name,
                                            field, other),
                     .field = fmt::format("steps.{}.{}", step.name, field)};
  };
  for (const WorkflowStep& each : steps) {
    const NewTask& task = each.task;
    if (task.id) {
      const auto [same, is_new] = ids.emplace(*task.id, each.name);
      if (!is_new) return error(each, "id", same->second);
    }
    if (!task.unique_key.empty()) {
      const auto [same, is_new] = keys.emplace(
          std::pair<std::string_view, std::string_view>(task.queue, task.unique_key), each.name);
      if (!is_new) return error(each, "unique_key", same->second);
    }
  }
  return std::nullopt;
}

TaskError unknown(const std::string& name, const WorkflowStep& step, const Names& names) {
  std::vector<std::string_view> known;
  for (const auto& [each, index] : names) known.push_back(each);
  std::string message =
      fmt::format("step \"{}\" is after \"{}\", which is no step", step.name, name);
  message += did_you_mean(name, known);
  return {.code = TaskError::Code::bad_request,
          .message = std::move(message),
          .field = fmt::format("steps.{}.after", step.name)};
}

// One circle among those that could not be placed: from any of them, go to one it waits for, until one comes again.
std::string circle(const std::vector<WorkflowStep>& steps, const Names& names,
                   const std::vector<bool>& is_placed) {
  auto at = static_cast<std::size_t>(std::ranges::find(is_placed, false) - is_placed.begin());
  std::vector<std::size_t> way;
  while (std::ranges::find(way, at) == way.end()) {
    way.push_back(at);
    const auto& after = steps[at].after;
    at = names.at(*std::ranges::find_if(
        after, [&](const std::string& each) { return !is_placed[names.at(each)]; }));
  }
  std::string text = steps[at].name;
  for (auto each = std::ranges::find(way, at) + 1; each != way.end(); ++each) {
    text += " after " + steps[*each].name;
  }
  return text + " after " + steps[at].name;
}

}  // namespace

std::expected<NewWorkflow, TaskError> prepare(const Workflow& workflow, Time now) {
  if (workflow.error()) return std::unexpected(*workflow.error());
  const auto& steps = workflow.steps();
  if (workflow.name().empty() || workflow.name().size() > longest_name) {
    return bad("name", fmt::format("name must have 1 to {} bytes", longest_name));
  }
  if (steps.empty() || steps.size() > most_steps) {
    return bad("steps", fmt::format("steps must be 1 to {}, got {}", most_steps, steps.size()));
  }
  if (workflow.id()) {
    if (const auto good = check_id(*workflow.id()); !good) {
      return bad(good.error().field, good.error().message);
    }
  }
  const auto names = names_of(steps);
  if (!names) return std::unexpected(names.error());
  if (auto error = find_repeated(steps)) return std::unexpected(std::move(*error));

  // Who waits for nobody that is not placed comes next.
  std::vector<std::size_t> waits_for(steps.size());
  std::vector<std::vector<std::size_t>> dependents(steps.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (auto error = check_task(steps[i].task, fmt::format("steps.{}.", steps[i].name))) {
      return std::unexpected(std::move(*error));
    }
    for (const std::string& each : std::set(steps[i].after.begin(), steps[i].after.end())) {
      const auto before = names->find(each);
      if (before == names->end()) return std::unexpected(unknown(each, steps[i], *names));
      ++waits_for[i];
      dependents[before->second].push_back(i);
    }
    if (waits_for[i] == 0) order.push_back(i);
  }
  std::vector<bool> is_placed(steps.size());
  for (std::size_t next = 0; next < order.size(); ++next) {
    is_placed[order[next]] = true;
    for (const std::size_t each : dependents[order[next]]) {
      if (--waits_for[each] == 0) order.push_back(each);
    }
  }
  if (order.size() < steps.size()) {
    return bad("steps",
               "the steps wait for each other in a circle: " + circle(steps, *names, is_placed));
  }

  NewWorkflow prepared{.id = workflow.id() ? *workflow.id() : TaskId::make(now),
                       .name = workflow.name(),
                       .steps = {}};
  std::map<std::string_view, TaskId> ids;
  for (const std::size_t i : order) {
    WorkflowStep step = steps[i];
    if (!step.task.id) step.task.id = TaskId::make(now);
    for (const std::string& each : step.after) step.task.after.push_back(ids.at(each));
    ids.emplace(steps[i].name, *step.task.id);
    prepared.steps.push_back(std::move(step));
  }
  return prepared;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
