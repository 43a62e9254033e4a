// Tasks and what is around them as a server writes and reads them: docs/http-api.md. One file a subject, wire_*.cpp.
//
// What is read throws StoreFailure if it is not what it should be: then something else than a handoff server has answered, or one of another version. Members that nobody here knows
// are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/tasks/tasks.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire {

// What a codec has encoded is no JSON, and travels as a string. Read back only by who has a codec: to others it is a string.
std::string to_wire(const std::string& stored);
std::string from_wire(std::string json, bool has_codec);

// -- wire_tasks.cpp -------------------------------------------------------------------------------

std::string write_task(const NewTask& task);
std::string write_batch(std::span<const NewTask> tasks);
Enqueued read_enqueued(std::string_view body);
std::vector<Enqueued> read_batch(std::string_view body);

Task read_task(std::string_view body, bool has_codec);
// The state in which it was before it was changed; if the server does not say, in which it is.
TaskState read_was(std::string_view body);
TaskPage read_page(std::string_view body, bool has_codec);
std::vector<LogLine> read_lines(std::string_view body);
Explanation read_explanation(std::string_view body);
std::vector<DeadGroup> read_dead(std::string_view body);
std::vector<WorkerLook> read_workers(std::string_view body);
std::int64_t read_count(std::string_view body);
std::string write_reason(std::string_view reason);  // Empty if there is none.
std::string write_bulk(const BulkFilter& filter, std::string_view action, std::string_view reason,
                       bool is_dry_run);

// -- wire_work.cpp --------------------------------------------------------------------------------

inline constexpr std::size_t most_queues = 100;  // In one claim.

struct Claim {
  std::string claim_id;
  std::map<std::string, int> queues{};  // How many of each.
  Millis wait{};
  Millis lease_for{};  // 0: as the queues say.
  const WorkerRow* worker = nullptr;
};
std::string write_claim(const Claim& claim);
std::string write_release(const std::string& claim_id);
std::string write_leaving(const std::string& worker);
std::vector<Claimed> read_claimed(std::string_view body, bool has_codec);

using LinesOf = std::map<TaskId, std::vector<LogLine>>;
std::string write_outcome(const Outcome& outcome, const LinesOf& lines);
std::string write_extension(const Extension& extension, const LinesOf& lines);
std::vector<Recorded> read_recorded(std::string_view body, std::size_t count);

// -- wire_queues.cpp ------------------------------------------------------------------------------

QueueLook read_queue(std::string_view body, Time now);
// Adds a page of them; returns where the next begins, or nothing.
std::string read_queues(std::string_view body, Time now, std::vector<QueueLook>& looks);
// Only what differs. Empty if nothing does.
std::string write_settings(const QueueSettings& settings, const QueueSettings& now);

// -- wire_workflows.cpp ---------------------------------------------------------------------------

std::string write_workflow(const NewWorkflow& workflow);
StartedWorkflow read_started(std::string_view body);
WorkflowLook read_workflow(std::string_view body, bool has_codec);
WorkflowPage read_workflows(std::string_view body);
std::string write_schedule(const Schedule& schedule);
ScheduleLook read_schedule(std::string_view body, bool has_codec);
std::vector<ScheduleLook> read_schedules(std::string_view body, bool has_codec);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire
