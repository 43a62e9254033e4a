// What a handler can read of the steps before its own.
#include <fmt/format.h>

#include <stdexcept>

#include "tasks/core.hpp"
#include "tasks/nearest.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// Read when it is asked for: most tasks have none.
std::vector<StepResult> WorkerCore::inputs_of(const Context::Run& run) const {
  if (!run.task.has_inputs) return {};
  std::vector<StepResult> inputs;
  if (run.task.inputs) {
    inputs = *run.task.inputs;
  } else {
    core_.store().read(
        [&](Transaction& transaction) { inputs = transaction.inputs_of(run.task.id); });
  }
  for (StepResult& each : inputs) {
    auto json = core_.encoding().decode(each.result);
    if (!json) {
      throw std::runtime_error(fmt::format("what step \"{}\" has returned cannot be decoded: {}",
                                           each.step, json.error()));
    }
    each.result = std::move(*json);
  }
  return inputs;
}

std::map<std::string, Json> Context::inputs() const {
  std::map<std::string, Json> all;
  for (const StepResult& each : run_.worker->inputs_of(run_)) {
    all.emplace(each.step, Json::parse(each.result).value());
  }
  return all;
}

std::string Context::input_text(std::string_view step) const {
  std::vector<std::string_view> known;
  const auto inputs = run_.worker->inputs_of(run_);
  for (const StepResult& each : inputs) {
    if (each.step == step) return each.result;
    known.push_back(each.step);
  }
  throw std::runtime_error(
      fmt::format("no step \"{}\" comes before this task{}", step, did_you_mean(step, known)));
}

void Context::throw_unreadable(std::string_view step, const JsonError& error) {
  throw std::runtime_error(
      fmt::format("what step \"{}\" has returned cannot be read: {}", step, error.to_string()));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
