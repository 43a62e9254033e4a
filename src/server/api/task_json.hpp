// Tasks and what is around them as JSON: what the API answers, and the command line prints.
#pragma once

#include <cstdint>
#include <string>

#include "handoff/tasks/explain.hpp"
#include "handoff/tasks/json.hpp"
#include "handoff/tasks/schedule.hpp"
#include "handoff/tasks/task.hpp"
#include "handoff/tasks/workflow.hpp"

namespace handoff::server {

// What is in a store is valid JSON, or was encoded by a codec that this program has not: then it is shown as a text.
tasks::Json stored_json(const std::string& stored);

// What is not there is left out.
enum class Payloads : std::uint8_t { shown, left_out };  // And results.
std::string to_json_text(const tasks::Task& task, Payloads payloads = Payloads::shown);
std::string to_json_text(const tasks::TaskId& id, const tasks::Explanation& explanation);
std::string to_json_text(const tasks::WorkflowLook& workflow);
std::string to_json_text(const tasks::ScheduleLook& schedule);
std::string to_json_text(const tasks::WorkerLook& worker);
std::string to_json_text(const tasks::DeadGroup& group);
std::string to_json_text(const tasks::LogLine& line);

// {"tasks":[...],"next_cursor":"17"}: `name` is that of the list. Without a cursor there are no more.
std::string page_text(std::string_view name, const std::vector<std::string>& items,
                      std::string_view next_cursor);

}  // namespace handoff::server
