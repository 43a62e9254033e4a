// A transaction on an SQLite file.
//
// A task changes its state in one place, change(): it keeps the numbers of its queue and group, and says what others wait for. See docs/design/0007-durable-tasks.md
// for turns, held tasks and leases.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/tasks/clock.hpp"
#include "tasks/process_lock.hpp"
#include "tasks/store.hpp"
#include "tasks/stores/sqlite/database.hpp"
#include "tasks/stores/sqlite/rows.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// What is known of a task's row by who changes it.
struct TaskRow {
  std::int64_t seq = 0;
  TaskId id;
  std::int64_t queue = 0;
  TaskState state = TaskState::ready;
  bool is_held = false;
  std::int64_t turn = 0;
  std::int64_t group = 0;  // 0: none.
  std::int64_t size = 0;
  std::int64_t flags = 0;
  int attempt = 0;
  int max_attempts = 0;
  int crashes = 0;
  std::int64_t lease = 0;
  Time since{};  // When it became ready, or began to run.
  bool has_unique_key = false;
  Millis unique_for{};
};

// Bits of handoff_task.flags.
inline constexpr std::int64_t has_dependents = 1;  // Others wait for it.
inline constexpr std::int64_t has_dependencies = 2;
inline constexpr std::int64_t has_large_payload = 4;
inline constexpr std::int64_t in_workflow = 8;
inline constexpr std::int64_t was_abandoned = 16;  // Cancelled, since one before it was not done.
inline constexpr std::int64_t kept_for_workflow = 32;  // One of `kept`.
inline constexpr std::int64_t tells_of_its_end = 64;   // It has a URL for that.

// Payloads above that are in a table of their own.
inline constexpr std::size_t most_inline = 2048;

// A task that is about to be written.
struct NewRow {
  const NewTask* task = nullptr;
  TaskRow row;
  Time at;
  int max_attempts = 0;
  int waits_on = 0;
};

// What a batch asks of its queues, task by task.
class Demand {
 public:
  struct OfQueue {
    std::int64_t tasks = 0;
    std::int64_t bytes = 0;
  };
  // All that is asked of its queue by now.
  const OfQueue& add(const NewTask& task) {
    OfQueue& all = queues_[task.queue];
    ++all.tasks;
    all.bytes += static_cast<std::int64_t>(task.payload.size());
    return all;
  }

 private:
  std::map<std::string_view, OfQueue> queues_;
};

// A task that may be claimed.
struct Candidate {
  TaskRow row;
  Claimed claimed;
  bool is_expired = false;
};

// A statement about so many rows costs less than one for each: it opens its tables and indexes once.
inline constexpr int rows_at_once = 25;
inline constexpr int few_rows = 5;

class SqliteTransaction final : public Transaction {
 public:
  // `processes` is nothing if there is one only.
  SqliteTransaction(Database& database, SettingsCache& settings, const TaskClock& clock,
                    const ProcessLock* processes)
      : database_(database),
        rows_(database, settings),
        now_(clock.now()),
        since_boot_(clock.since_boot()),
        processes_(processes),
        process_(processes == nullptr ? 0 : processes->number()) {
    changes_.at = now_;
  }

  Time now() const override { return now_; }
  Changes& changes() override { return changes_; }
  // Before the commit.
  void flush() {
    write_kept();
    rows_.flush(changes_.depths);
  }

  std::expected<std::vector<Enqueued>, TaskError> insert(std::span<const NewTask> tasks) override;
  std::expected<std::vector<Enqueued>, TaskError> insert_kept(
      std::span<const NewTask> tasks) override;
  ClaimResult claim(const ClaimRequest& request) override;
  std::vector<Recorded> finish(std::span<const Outcome> outcomes) override;
  std::vector<Recorded> extend(std::span<const Extension> extensions) override;
  void log(std::span<const TaskLines> lines) override;
  std::expected<TaskState, TaskError> cancel(const TaskId& id, std::string_view reason) override;
  std::expected<TaskState, TaskError> replay(const TaskId& id) override;

  std::expected<StartedWorkflow, TaskError> start(const NewWorkflow& workflow) override;
  std::optional<WorkflowLook> workflow(const WorkflowId& id) override;
  WorkflowPage workflows(int limit, std::optional<std::int64_t> before) override;
  std::expected<void, TaskError> cancel_workflow(const WorkflowId& id,
                                                 std::string_view reason) override;
  std::expected<int, TaskError> replay_workflow(const WorkflowId& id) override;
  std::vector<StepResult> inputs_of(const TaskId& id) override;
  StepResults inputs_within(const TaskId& id, std::size_t most_bytes) override;

  std::expected<ScheduleLook, TaskError> put_schedule(const Schedule& schedule) override;
  std::optional<ScheduleLook> schedule(std::string_view name) override;
  std::vector<ScheduleLook> schedules() override;
  bool remove_schedule(std::string_view name) override;
  bool pause_schedule(std::string_view name, bool is_paused) override;
  Chore fire(int most) override;

  QueueLook look(std::string_view queue) override;
  std::vector<QueueLook> look_at_all() override;
  void configure(std::string_view queue, const QueueSettings& settings) override;
  void pause(std::string_view queue, bool is_paused) override;
  std::vector<DeliveringQueue> delivering() override;
  Chore purge(std::string_view queue, TaskState state, int most) override;

  bool add_token(const TokenRow& token) override;
  bool remove_token(std::string_view name) override;
  std::vector<TokenRow> tokens() override;

  std::int64_t add_worker(const WorkerRow& worker) override;
  void remove_worker(std::int64_t worker) override;
  std::vector<WorkerLook> workers() override;
  std::vector<AtWork> at_work_elsewhere() override;
  std::string holder_of(const Lease& lease) override;

  std::optional<Explanation> explain(const TaskId& id) override;
  std::vector<DeadGroup> dead(std::string_view queue) override;
  std::vector<std::pair<std::int64_t, TaskId>> find(const TaskFilter& filter,
                                                    std::int64_t after) override;
  std::int64_t count(const TaskFilter& filter) override;
  std::optional<Task> get(const TaskId& id) override;
  TaskPage list(const TaskFilter& filter) override;
  std::vector<LogLine> lines_of(const TaskId& id) override;
  std::vector<std::optional<TaskState>> states_of(std::span<const TaskId> ids) override;

  Chore promote(int most) override;
  Chore reclaim(int most) override;
  Chore reclaim_process(std::int64_t process, int most) override;
  Chore expire(int most) override;
  Chore prune(int most) override;
  bool has_finished() override;
  std::optional<Millis> next_due() override;

 private:
  // -- insert.cpp --------------------------------------------------------------------------------
  std::optional<Enqueued> find_duplicate(const NewTask& task);
  TaskError refuse(std::size_t index, TaskError::Code code, std::string_view field,
                   std::string message);
  TaskError refuse_full(std::size_t index, std::string_view field, const QueueRow& queue,
                        std::string message);
  const QueueRow* full_of_notices();  // Null if it is not.
  std::optional<TaskError> check_room(std::span<const NewTask> tasks);
  std::optional<TaskError> check_room_closely(std::span<const NewTask> tasks);
  std::optional<TaskError> check_fits_ever(std::size_t index, const NewTask& task,
                                           const Demand::OfQueue& wanted);
  std::optional<TaskError> check_fits_now(std::size_t index, const NewTask& task,
                                          const Demand::OfQueue& wanted);
  std::optional<TaskError> check_after(std::span<const NewTask> tasks);
  NewRow row_for(const NewTask& task);
  void write(std::span<const NewRow> rows);
  void write_kept();
  Enqueued insert_one(const NewTask& task);
  void insert_plain(std::span<const NewTask> tasks, std::vector<Enqueued>& inserted);

  // -- change.cpp --------------------------------------------------------------------------------
  std::optional<TaskRow> row_of(const TaskId& id);
  std::optional<TaskRow> row_of(std::int64_t seq);
  TaskRow known_row(std::int64_t seq);  // One that must be there.
  std::vector<TaskRow> rows_for(std::span<const Outcome> outcomes);
  void note_due(Millis in);
  StateChange& note_state(const TaskRow& row, QueueRow& queue);
  void count_in(const TaskRow& row);
  // Moves the numbers from the state it is in to another, and tells who waits. The row itself is the caller's to write.
  void change(TaskRow& row, TaskState to);
  void give_turn(TaskRow& row);
  void make_ready(TaskRow& row, bool keeps_turn);
  void leave_ready(TaskRow& row);
  void admit_held(std::int64_t group, QueueRow& queue);
  // `keeps`: somebody else has ended it, and its worker may still be at it. See still_worked_on().
  enum class AfterEnd : std::uint8_t { forgets_lease, keeps_lease };
  void end(TaskRow& row, TaskState to, std::string_view reason,
           AfterEnd lease = AfterEnd::forgets_lease);
  // For how long a task that was cancelled while it ran may still be worked on.
  std::optional<Millis> held_for(const TaskRow& row);
  std::optional<TaskError> still_worked_on(const TaskRow& row);
  void after_end(TaskRow& row);
  bool is_key_taken(const TaskRow& row);
  void take_key(const TaskRow& row);
  void leave_key(const TaskRow& row);
  void forget(const TaskRow& row);
  void reclaim_row(TaskRow& row);

  // -- dependencies.cpp --------------------------------------------------------------------------
  struct Before {
    int unfinished = 0;     // Those that are not done,
    std::int64_t lost = 0;  // and one that will not be.
  };
  void insert_dependencies(const TaskRow& row, const NewTask& task);
  void keep_those_before(const TaskRow& row, int more);
  void free_dependents(const TaskRow& row);
  void abandon_dependents(const TaskRow& row);
  Before those_before(std::int64_t seq);
  void revive(TaskRow& row, int waits_on);
  void begin_again(const TaskRow& row, TaskState was);
  void revive_dependents(const TaskRow& row, TaskState was);

  // -- notify.cpp --------------------------------------------------------------------------------
  void tell_of_end(const TaskRow& row);

  // -- workflows.cpp -----------------------------------------------------------------------------
  std::string name_in_workflow(const TaskRow& row);
  void count_in_workflow(const TaskRow& row, TaskState state, int ended);
  void leave_workflow(const TaskRow& row);
  void let_go_of_steps(std::int64_t workflow, bool of_all);
  WorkflowLook read_workflow(const Query& query);
  StartedWorkflow started_already(std::int64_t seq, const WorkflowId& id);
  std::vector<TaskId> tasks_of_workflow(const WorkflowId& id, bool finished);

  // -- schedules.cpp -----------------------------------------------------------------------------
  void fire_one(const std::string& name);
  bool has_wrong_schedules();
  void correct_schedules();

  // -- claim.cpp ---------------------------------------------------------------------------------
  double tokens_of(const QueueRow& queue) const;
  void set_tokens(QueueRow& queue, double tokens) const;
  int allowed(QueueRow& queue, int wanted, std::optional<Millis>& again_in) const;
  std::vector<std::int64_t> levels_of(const QueueRow& queue);
  std::vector<std::int64_t> aged(const QueueRow& queue, int most);
  Candidate read_candidate(const Query& query, const QueueRow& queue, const ClaimRequest& request,
                           std::int64_t token);
  // Both say whether they met some that were not started in time.
  bool claim_next(QueueRow& queue, const ClaimRequest& request, int most, ClaimResult& result);
  bool claim_rows(QueueRow& queue, const ClaimRequest& request, std::span<const std::int64_t> rows,
                  ClaimResult& result);
  void take(QueueRow& queue, Candidate& candidate);

  // -- explain.cpp -------------------------------------------------------------------------------
  Explanation explain_waiting(const TaskId& id);
  Explanation explain_ready(const Task& task, QueueRow& queue);
  std::optional<std::int64_t> position_of(const TaskRow& row, int priority);

  // -- finish.cpp --------------------------------------------------------------------------------
  Recorded finish_one(const Outcome& outcome);
  bool finish_done(std::span<const Outcome> outcomes);
  void fail(TaskRow& row, const Outcome& outcome);
  void note_error(const TaskRow& row, std::string_view message);

  Task read_task(const Query& query);
  Task task_at(std::int64_t seq, bool has_payload);
  std::optional<std::int64_t> end_of_part(std::int64_t before, std::int64_t rows);
  QueueLook look_of(QueueRow& row);
  void hold_surplus(QueueRow& queue);

  // All that asks for tasks, or changes them, finds the ones that are kept.
  Database& database() {
    if (!kept_.empty()) write_kept();
    return database_;
  }

  Database& database_;
  Rows rows_;
  std::vector<NewRow> kept_;  // Counted, and not written yet.
  const Time now_;
  const Millis since_boot_;
  const ProcessLock* const processes_;
  std::optional<std::int64_t> owner(const ClaimRequest& request) const {
    return request.is_for_others ? std::nullopt : std::optional(process_);
  }

  const std::int64_t process_;
  Changes changes_;
  std::size_t refused_ = 0;  // By the last insert(): the index.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
