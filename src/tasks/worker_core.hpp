// What a Worker does: one thread claims, extends and records, in shared commits; handlers run on a pool.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/worker.hpp"
#include "tasks/core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// A task that a handler has in hand.
class WorkerCore;

struct Context::Run {
  WorkerCore* worker = nullptr;
  Claimed task;
  std::stop_source stop{};
  TimePoint began{};
  TimePoint next_extension{};
  bool is_late = false;         // Its time is over.
  bool is_interrupted = false;  // The worker shuts down.
  bool is_over = false;         // Its handler has ended, and that is recorded.
  bool is_given_back = false;   // What its handler says no longer counts.
  // Guarded by the worker's lock.
  std::optional<double> progress{};
  std::string note{};
};

class WorkerCore final : public HungryOne {
 public:
  using Handler = std::function<Finish(const Json&, Context&)>;

  WorkerCore(Tasks tasks, WorkerOptions options);
  ~WorkerCore();

  void handle(std::string kind, Handler handler);
  WorkerReport run(const std::stop_token& stop, Millis grace, bool until_idle);
  void note_progress(Context::Run& run, double fraction, std::string_view note);

  void ring() override;
  bool is_hungry() const override { return true; }
  void hear_of_cancelled(const TaskId& task) override;

 private:
  struct Queue {
    std::string name;
    int concurrency = 1;
    int running = 0;
    bool may_have_more = true;
    std::optional<TimePoint> again_at{};
  };
  struct Ended {
    Context::Run* run;
    Outcome outcome;
  };
  // What one commit is to do.
  struct Round {
    std::vector<Ended> ended;
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

  void execute(Context::Run& run);
  Outcome outcome_of(Context::Run& run);
  void add_outcomes(Round& round);
  void add_extensions(Round& round, TimePoint now);
  void add_claims(Round& round, TimePoint now);
  void stop_late_and_cancelled(TimePoint now);
  void commit(Round& round);
  void undo(Round& round);
  void take_in(Round& round);
  void start(Claimed task);
  void give_back(Round& round);
  void interrupt_all();
  std::optional<TimePoint> next_event() const;

  const Tasks tasks_;
  TasksCore& core_;
  const WorkerOptions options_;
  const std::string name_;
  std::map<std::string, Handler, std::less<>> handlers_;
  std::vector<Queue> queues_;
  WorkerReport report_;

  Event bell_;
  std::atomic<bool> is_rung_{true};
  Mutex lock_{{.name = "a worker's tasks"}};
  // Guarded by lock_.
  std::vector<Ended> ended_;
  std::vector<TaskId> cancelled_;

  std::list<Context::Run> runs_;          // The running thread's own.
  std::unique_ptr<WorkerPool> own_pool_;  // Last: its threads use all of the above.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
