// What a Worker does: one thread claims, extends and records, in shared commits; handlers run on a pool.
//
//   worker.cpp           options, and the loop of that thread
//   worker_round.cpp     what one commit is to do, and what becomes of it
//   worker_attempt.cpp   one handler and its outcome
//   worker_context.cpp   what a handler can say while it runs
//
// Times are those of the store's clock, since boot: leases end by it, and tests move it.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/worker.hpp"
#include "tasks/core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class WorkerCore;

// A task that a handler has in hand.
struct Context::Run {
  WorkerCore* worker = nullptr;
  Claimed task;
  std::stop_source stop{};
  const Wait limits{.deadline = {}, .stop = stop.get_token()};  // Of what its coroutine awaits.
  handoff::detail::atomic<bool> is_late{false};                 // Its time is over.
  handoff::detail::atomic<bool> is_interrupted{false};  // The worker, or its pool, shuts down.
  handoff::detail::atomic<bool> is_given_back{false};   // What its handler says no longer counts.
  bool has_ended = false;                               // Said in this round. The loop's own.
  // Guarded by the worker's lock.
  std::optional<Millis> began{};  // Its handler; nothing while it waits for a thread.
  Millis next_extension{};
  std::optional<Millis> news_due{};  // When what follows is to be written.
  std::optional<double> progress{};
  std::string note{};
  std::deque<LogLine> lines{};
};

class WorkerCore final : public HungryOne {
 public:
  using Handler = handoff::detail::TaskHandler;

  WorkerCore(Tasks tasks, WorkerOptions options);
  ~WorkerCore();

  void handle(std::string kind, Handler handler);
  void handle_any(Handler handler);
  WorkerReport run(const std::stop_token& stop, Millis grace, bool until_idle);

  // -- For handlers ------------------------------------------------------------------------------
  std::vector<StepResult> inputs_of(const Context::Run& run) const;
  void note_progress(Context::Run& run, double fraction, std::string_view note);
  void note_line(Context::Run& run, std::string_view line);
  bool extend(Context::Run& run, Millis time);

  // -- For those who run them --------------------------------------------------------------------
  Lazy<Outcome> attempt(Context::Run& run, const Handler& handler);
  // Once for each that was started. Afterwards the worker may be gone.
  void end(Context::Run& run, Outcome outcome);
  static Outcome outcome_of(const Context::Run& run, Outcome::Kind kind) {
    return {.id = run.task.id, .lease = run.task.lease, .kind = kind};
  }

  bool ring(std::string_view queue) override;
  std::vector<TaskId> in_hand() override;
  void hear_of_cancelled(const TaskId& task) override;

 private:
  struct Queue {
    std::string name;
    int concurrency = 1;
    int running = 0;
    bool may_have_more = true;
    std::optional<Millis> again_at{};
  };
  struct Ended {
    Context::Run* run;
    Outcome outcome;
    bool was_late = false;         // When it ended.
    bool was_interrupted = false;  // The same.
  };
  // What one commit is to do.
  struct Round {
    std::vector<Ended> ended;
    std::vector<TaskLines> lines;
    std::vector<Context::Run*> logged;
    std::vector<Outcome> outcomes;
    std::vector<Extension> extensions;
    std::vector<Context::Run*> extended;
    std::vector<Context::Run*> given_back;
    std::vector<ClaimRequest> claims;
    std::vector<Queue*> queues;

    std::vector<Recorded> recorded;
    std::vector<Recorded> renewed;
    std::vector<ClaimResult> claimed;

    bool is_empty() const {
      return ended.empty() && outcomes.empty() && extensions.empty() && claims.empty();
    }
  };

  // -- worker.cpp --------------------------------------------------------------------------------
  Millis clock() const { return core_.clock().since_boot(); }
  void stop_late_and_cancelled(Millis now);
  void interrupt_all();
  std::optional<Millis> late_at(const Context::Run& run) const;
  std::optional<Millis> gives_up_late_at(const Context::Run& run) const;
  std::optional<Millis> next_event(bool claims);
  Deadline sleeps_until(std::optional<TimePoint> gives_up_at);
  void be_hungry(bool would_claim);

  // -- worker_round.cpp --------------------------------------------------------------------------
  void add_outcomes(Round& round);
  void add_extensions(Round& round, Millis now);
  void add_claims(Round& round, Millis now);
  void add_lines_locked(Round& round, Context::Run& run);
  void commit(Round& round);
  void undo(Round& round);
  void take_in(Round& round);
  void give_back(Round& round);
  void give_up_late(Round& round, Millis now);
  std::optional<std::int64_t> register_worker();
  void unregister_worker(std::optional<std::int64_t> row);
  void end_claims();

  // -- worker_attempt.cpp ------------------------------------------------------------------------
  void start(Claimed task, Deadline patience);
  bool hand_in(Context::Run& run, const Handler& handler, Deadline patience);
  bool begin(Context::Run& run);
  Outcome run_plain(Context::Run& run, const Handler& handler);
  Json payload_of(const Context::Run& run) const;
  Outcome outcome_of(const Context::Run& run, const Finish& finish) const;
  void judge(const Ended& ended, Outcome& outcome) const;
  const Handler* handler_of(std::string_view kind) const;  // Null: nobody handles it.
  std::string nobody_handles(std::string_view kind) const;
  class PlainJob;
  class LazyJob;

  // -- worker_context.cpp ------------------------------------------------------------------------
  void has_news_locked(Context::Run& run);

  const Tasks tasks_;
  TasksCore& core_;
  const WorkerOptions options_;
  const std::string name_;
  std::map<std::string, Handler, std::less<>> handlers_;
  std::optional<Handler> any_handler_;  // Of all other kinds.
  std::vector<Queue> queues_;
  WorkerReport report_;
  bool is_until_idle_ = false;
  std::int64_t row_ = 0;                         // Under which the store knows it; 0: not yet.
  std::optional<TimePoint> pool_is_full_until_;  // No claims before.
  Millis after_refusal_{};                       // How long that was, the last time.

  Event bell_;
  handoff::detail::atomic<bool> is_rung_{true};
  // For each of queues_: it sleeps, has room for it, and would claim.
  std::unique_ptr<handoff::detail::atomic<bool>[]> is_hungry_;
  handoff::detail::atomic<bool> is_running_{false};  // In run().
  Event nobody_runs_{{.is_set = true}};
  Mutex lock_{{.name = "a worker's tasks"}};
  // Guarded by lock_.
  std::vector<Ended> ended_;
  std::vector<TaskId> cancelled_;
  std::size_t in_hand_ = 0;  // Started, and not ended.
  std::vector<TaskId> ids_in_hand_;

  std::list<Context::Run> runs_;          // The loop's own.
  std::unique_ptr<WorkerPool> own_pool_;  // Last: its threads use all of the above.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
