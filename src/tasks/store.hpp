// What keeps tasks. Small, synchronous, for many tasks at a time; calls of many threads are gathered above it (batcher.hpp).
//
// A transaction is all or nothing. Those who write come one after the other. What it is given was checked already (limits.hpp), and what it returns says what became of
// each; what it throws (StoreFailure) means that nothing has happened, of the whole transaction.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/tasks/error.hpp"
#include "handoff/tasks/explain.hpp"
#include "handoff/tasks/queue.hpp"
#include "handoff/tasks/schedule.hpp"
#include "handoff/tasks/task.hpp"
#include "handoff/tasks/workflow.hpp"
#include "tasks/lifecycle.hpp"
#include "tasks/store_failure.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

using Millis = std::chrono::milliseconds;

// By which a claim is known ever after: the row it is about and a number nobody can guess.
struct Lease {
  std::int64_t row = 0;
  std::int64_t token = 0;
};

struct ClaimRequest {
  std::string queue;
  int most = 1;
  Millis lease_for{};  // 0: as the queue says.
  std::string worker;
  // Of payloads: no more are claimed than fit, but always one.
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
  bool is_for_others =
      false;  // Whoever does the work may outlive this process: only the lease says when it is lost.
  std::int64_t worker_row = 0;  // Of add_worker(); 0: it has none.
};

// What a task before another one has returned.
struct StepResult {
  std::string step;  // Its name; its id, if it is no step.
  TaskId task;
  std::string result;  // JSON.
};

struct Claimed {
  TaskId id;
  Lease lease;
  Time lease_until;  // By the wall clock, for people.
  Millis lease_for{};
  std::string queue;
  std::string kind;
  std::string payload;
  int attempt = 1;
  int max_attempts = 1;
  int crashes = 0;
  Millis timeout{};
  std::string group;
  std::string trace;
  bool has_inputs = false;  // Those before it in its workflow have results: see inputs_of().
  std::optional<std::vector<StepResult>> inputs{};  // If they came with it.
};

struct ClaimResult {
  std::vector<Claimed> tasks;
  std::optional<Millis> again_in;  // A limit was reached that lets some more through then.
  bool has_more = false;           // There may be more that could be claimed now.
  bool is_cut = false;             // There are: they did not fit into most_bytes.
};

// What became of an attempt.
struct Outcome {
  enum class Kind : std::uint8_t { done, failed, failed_for_good, deferred, released, cancelled };
  TaskId id;
  Lease lease;
  Kind kind = Kind::done;
  std::string text{};  // The result as JSON, or what went wrong.
  std::optional<Millis>
      later{};  // In how long it is tried again; nothing: by the policy of its queue.
};

enum class Recorded : std::uint8_t {
  yes,
  again,      // The same, said twice.
  stale,      // The lease is not the task's any more. Nothing was changed.
  cancelled,  // The same: somebody has cancelled the task.
};

struct Extension {
  TaskId id;
  Lease lease;
  Millis lease_for{};
  std::optional<double> progress{};
  std::string note{};
};

struct TaskLines {
  TaskId id;
  Lease lease;
  std::vector<LogLine> lines;  // Without numbers.
};

// A task that is in another state, or has made progress in the one it is in.
struct StateChange {
  TaskId id;
  TaskState state;
  TaskState from;  // The same if it is new, or has made progress.
  bool is_new = false;
  bool is_deferral = false;
  std::uint32_t queue = 0;  // Which of Changes::queues.
  Millis took{};  // How long it was ready, if it runs now; how long it ran, if it does no more.

  // An attempt has failed, or its worker is gone.
  bool is_failure() const {
    return from == TaskState::running &&
           (state == TaskState::dead || (state == TaskState::scheduled && !is_deferral));
  }
};

// How many tasks of a queue are in which state.
struct QueueDepth {
  std::string queue;
  std::array<std::int64_t, task_states> counts{};
};

// What a transaction has done that others wait for. Told once it is committed.
struct Changes {
  std::map<std::string, int, std::less<>> ready;            // Tasks that were made ready, by queue.
  std::map<std::string, int, std::less<>> room;             // Queues that have more room.
  std::vector<StateChange> states;                          // In order.
  std::vector<std::string> queues;                          // Those that are named there.
  Time at{};                                                // When that was.
  std::vector<QueueDepth> depths;                           // Of the queues that were touched, now.
  std::vector<std::pair<WorkflowId, TaskState>> workflows;  // That have ended.
  std::optional<Millis> due_in;  // In how long the first thing is due that was not before.
};

// Its steps are checked, and in an order in which each comes after those it waits for; their tasks have ids, and `after`.
struct NewWorkflow {
  WorkflowId id;
  std::string name;
  std::vector<WorkflowStep> steps;
};

struct WorkflowPage {
  std::vector<WorkflowLook> workflows;  // Newest first, without their steps.
  std::optional<std::int64_t> next;
};

// As many of them as were wanted.
struct StepResults {
  std::vector<StepResult> results;
  std::vector<std::string> left_out;  // Names of the others.
};

// Somebody who takes tasks, for those who look.
struct WorkerRow {
  std::string name;
  std::vector<WorkerLook::Queue> queues;
  std::vector<std::string> kinds;
};

// Somebody elsewhere who has tasks of a queue in hand.
struct AtWork {
  std::string worker;
  std::string queue;
  bool is_listed = false;  // Among the workers.
};

// Who may use a server of this store. Only the hash is kept.
struct TokenRow {
  std::string name;
  std::string role;
  std::string hash;  // Of the token, in hexadecimal.
  Time created_at{};
  std::optional<Time> expires_at{};
};

// One whose tasks a server POSTs to somebody.
struct DeliveringQueue {
  std::string name;
  Delivery delivery;
};

struct TaskFilter {
  std::string queue{};
  std::string kind{};
  std::optional<TaskState> state{};
  std::string group{};
  std::string error{};  // Why it is dead or cancelled, in the same words.
  int limit = 100;
  std::optional<std::int64_t> before{};  // A cursor: what came before that.
  bool has_payloads = true;              // And results.
};

struct TaskPage {
  std::vector<Task> tasks;  // Newest first.
  std::optional<std::int64_t> next;
};

// What can be done about time: each does some, and says whether there may be more.
struct Chore {
  int done = 0;
  bool has_more = false;
};

class Transaction {
 public:
  virtual ~Transaction() = default;

  virtual Time now() const = 0;
  virtual Changes& changes() = 0;

  // All or none. An error names the index of the first that cannot be, also of one: "[0].queue".
  virtual std::expected<std::vector<Enqueued>, TaskError> insert(
      std::span<const NewTask> tasks) = 0;
  // The same. The caller keeps them until the transaction has ended: those of many calls may be written together.
  virtual std::expected<std::vector<Enqueued>, TaskError> insert_kept(
      std::span<const NewTask> tasks) {
    return insert(tasks);
  }
  virtual ClaimResult claim(const ClaimRequest& request) = 0;
  virtual std::vector<Recorded> finish(std::span<const Outcome> outcomes) = 0;
  virtual std::vector<Recorded> extend(std::span<const Extension> extensions) = 0;

  // Only who holds the lease has a say: before finish().
  virtual void log(std::span<const TaskLines> lines) = 0;

  virtual std::expected<TaskState, TaskError> cancel(const TaskId& id, std::string_view reason) = 0;
  virtual std::expected<TaskState, TaskError> replay(const TaskId& id) = 0;

  // -- Workflows ---------------------------------------------------------------------------------
  virtual std::expected<StartedWorkflow, TaskError> start(const NewWorkflow& workflow) = 0;
  virtual std::optional<WorkflowLook> workflow(const WorkflowId& id) = 0;
  virtual WorkflowPage workflows(int limit, std::optional<std::int64_t> before) = 0;
  virtual std::expected<void, TaskError> cancel_workflow(const WorkflowId& id,
                                                         std::string_view reason) = 0;
  // Its dead steps and those that were cancelled run again. Returns how many.
  virtual std::expected<int, TaskError> replay_workflow(const WorkflowId& id) = 0;
  // Of all tasks before it that are done, also of those before these.
  virtual std::vector<StepResult> inputs_of(const TaskId& id) = 0;
  // The same; of those that have more bytes together the last ones, which are the nearest.
  virtual StepResults inputs_within(const TaskId& id, std::size_t most_bytes) = 0;

  // -- Schedules ---------------------------------------------------------------------------------
  // Made, or changed. Its task and its times are checked.
  virtual std::expected<ScheduleLook, TaskError> put_schedule(const Schedule& schedule) = 0;
  virtual std::optional<ScheduleLook> schedule(std::string_view name) = 0;
  virtual std::vector<ScheduleLook> schedules() = 0;
  virtual bool remove_schedule(std::string_view name) = 0;
  virtual bool pause_schedule(std::string_view name, bool is_paused) = 0;

  // -- Queues ------------------------------------------------------------------------------------
  virtual QueueLook look(std::string_view queue) = 0;
  virtual std::vector<QueueLook> look_at_all() = 0;
  virtual void configure(std::string_view queue, const QueueSettings& settings) = 0;
  virtual void pause(std::string_view queue, bool is_paused) = 0;
  virtual std::vector<DeliveringQueue> delivering() = 0;
  // Some of those that are finished, or are not begun. Running ones stay.
  virtual Chore purge(std::string_view queue, TaskState state, int most) = 0;

  // -- Workers -----------------------------------------------------------------------------------
  virtual std::int64_t add_worker(const WorkerRow& worker) = 0;
  virtual void remove_worker(std::int64_t worker) = 0;
  virtual std::vector<WorkerLook> workers() = 0;
  virtual std::vector<AtWork> at_work_elsewhere() = 0;    // By their names.
  virtual std::string holder_of(const Lease& lease) = 0;  // Its name; empty if it has none.

  // -- Tokens ------------------------------------------------------------------------------------
  virtual bool add_token(const TokenRow& token) = 0;  // False if the name is taken.
  virtual bool remove_token(std::string_view name) = 0;
  virtual std::vector<TokenRow> tokens() = 0;

  // -- Looking -----------------------------------------------------------------------------------
  virtual std::optional<Explanation> explain(const TaskId& id) = 0;
  virtual std::vector<DeadGroup> dead(std::string_view queue) = 0;
  // Some of those that the filter means, the oldest first, with rows after `after`.
  virtual std::vector<std::pair<std::int64_t, TaskId>> find(const TaskFilter& filter,
                                                            std::int64_t after) = 0;
  // How many it means.
  virtual std::int64_t count(const TaskFilter& filter) = 0;
  virtual std::optional<Task> get(const TaskId& id) = 0;
  virtual TaskPage list(const TaskFilter& filter) = 0;
  virtual std::vector<LogLine> lines_of(const TaskId& id) = 0;
  // Nothing for those that are not there.
  virtual std::vector<std::optional<TaskState>> states_of(std::span<const TaskId> ids) = 0;

  // -- Time --------------------------------------------------------------------------------------
  virtual Chore promote(int most) = 0;  // What is due becomes ready.
  virtual Chore reclaim(int most) = 0;  // What is left of those whose lease has ended.
  virtual Chore reclaim_process(std::int64_t process,
                                int most) = 0;  // And of one that is gone, at once.
  virtual Chore expire(int most) = 0;
  virtual Chore fire(int most) = 0;  // Schedules make their tasks.
  virtual Chore prune(int most) = 0;
  virtual bool
  has_finished() = 0;  // Whether there is any task that is, or has left its key: prune() may have something to do.
  // In how long the next of these has something to do; nothing if there is none.
  virtual std::optional<Millis> next_due() = 0;
};

// What insert() says, to somebody who has given one task and no batch.
inline TaskError without_index(TaskError error) {
  constexpr std::string_view index = "[0].";
  if (error.field.starts_with(index)) error.field.erase(0, index.size());
  if (error.message.starts_with(index)) error.message.erase(0, index.size());
  return error;
}

class Elsewhere;

class Store {
 public:
  virtual ~Store() = default;

  // Null, unless it is on another machine. Then a transaction is a way to ask for one thing after the other: all or nothing is each of them.
  virtual Elsewhere* elsewhere() { return nullptr; }

  // Commits when `work` returns. If it throws, nothing has happened.
  virtual Changes transact(const std::function<void(Transaction&)>& work) = 0;
  // Only looks; beside those who write where the store can do that.
  virtual void read(const std::function<void(Transaction&)>& work) = 0;
  // What processes had claimed that are gone is ready again, at once.
  virtual Changes reclaim_from_the_dead() = 0;
  // Whether anybody else has committed something since this was last asked: another process, or a connection of the user's.
  virtual bool is_changed_by_others() = 0;
  // Its own threads, if it has any, call nobody afterwards.
  virtual void close() {}
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
