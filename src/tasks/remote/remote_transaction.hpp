// Calls of a store as requests to its server, one after the other. What it throws (StoreFailure) means that the call in question has not happened, as far as anybody knows.
//
//   transaction_tasks.cpp       handing in, looking, changing
//   transaction_work.cpp        claims and what workers say
//   transaction_rest.cpp        queues, workflows, schedules; and what only those do who have the file
#pragma once

#include <string>
#include <vector>

#include "tasks/remote/remote_store.hpp"
#include "tasks/remote/wire.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

class RemoteTransaction final : public Transaction {
 public:
  explicit RemoteTransaction(RemoteStore& store) : store_(store) {}

  // What was claimed is given back: who asked for it will not see it.
  void undo();

  Time now() const override { return store_.now(); }
  Changes& changes() override { return changes_; }

  std::expected<std::vector<Enqueued>, TaskError> insert(std::span<const NewTask> tasks) override;
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

  QueueLook look(std::string_view queue) override;
  std::vector<QueueLook> look_at_all() override;
  void configure(std::string_view queue, const QueueSettings& settings) override;
  void pause(std::string_view queue, bool is_paused) override;
  std::vector<DeliveringQueue> delivering() override;
  Chore purge(std::string_view queue, TaskState state, int most) override;

  std::int64_t add_worker(const WorkerRow& worker) override { return store_.add_worker(worker); }
  void remove_worker(std::int64_t worker) override { store_.remove_worker(worker); }
  std::vector<WorkerLook> workers() override;
  std::vector<AtWork> at_work_elsewhere() override;
  std::string holder_of(const Lease& lease) override;

  bool add_token(const TokenRow& token) override;
  bool remove_token(std::string_view name) override;
  std::vector<TokenRow> tokens() override;

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
  Chore fire(int most) override;
  Chore prune(int most) override;
  bool has_finished() override;
  std::optional<Millis> next_due() override;

 private:
  // Until the store is closed.
  Answer send(Question question);
  // The body. Throws StoreFailure.
  std::string ask(const Question& question);
  // The same; nothing for 404.
  std::optional<std::string> ask_for(std::string path);
  std::optional<std::string> change(std::string method, std::string path,
                                    std::string_view body = {});
  std::vector<Recorded> report(const std::vector<std::string>& items);
  std::vector<Recorded> report_some(std::span<const std::string> items);

  RemoteStore& store_;
  Changes changes_;
  wire::LinesOf lines_;           // Said before what they belong to.
  std::vector<Claimed> claimed_;  // Without payloads.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
