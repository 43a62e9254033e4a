// One run of a simulation: its threads, who of them runs, virtual time.
//
// Every simulated thread is an OS thread that waits for its baton; one has it at a time. The running thread itself chooses who goes on, so
// only a real change of threads costs anything. OS threads are reused by later threads and runs.
//
// A run that fails is abandoned: its threads never get their batons again. They cannot be unwound, because they stand in the middle of code that
// does not throw.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "sim/strategy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

class Scheduler;

class SimThread {
 public:
  enum class State : std::uint8_t { ready, blocked, finished };

  SimThread(Scheduler& of, unsigned its_number, std::move_only_function<void()> to_run)
      : run(of), number(its_number), body(std::move(to_run)) {}

  Scheduler& run;
  const unsigned number;  // From 1 on; 1 runs the body of the test.
  std::move_only_function<void()> body;
  State state = State::ready;
  const void* address = nullptr;  // What it is blocked on.
  TimePoint deadline = TimePoint::max();
  bool has_timed_out = false;
  std::uint64_t steps = 0;              // Its own points so far.
  std::uint64_t turn = 0;               // How often in a row it went on though others could.
  std::uint64_t blocked_since = 0;      // The run's step.
  unsigned uninterrupted = 0;           // How deep.
  std::source_location at;              // Of its last point.
  std::string given_name;               // By name_this_thread().
  std::vector<std::string> operations;  // That it is in, the innermost last; if events are kept.
  std::string name() const;
  std::atomic<std::uint32_t> baton{0};
};

// What happened, for the table.
struct Event {
  enum class Kind : std::uint8_t { access, begin, end, other };
  Kind kind;
  std::uint64_t step;
  unsigned thread;
  std::size_t depth;      // Of the operation it is part of.
  std::string operation;  // That one, if any.
  std::string what;
  const void* object;  // For its number only.
  std::source_location where;
};

struct RunLimits {
  std::uint64_t most_steps = 1'000'000;
  Duration patience = std::chrono::seconds(10);  // Real time without a step.
  Faults faults;
};

struct RunResult {
  std::optional<std::string> failure;
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
};

class Scheduler {
 public:
  // A run that has failed keeps its strategy: a thread that was thought to be stuck may still come and ask.
  Scheduler(std::shared_ptr<Strategy> strategy, const RunLimits& limits, bool keeps_events);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  // Runs the body to its end on a simulated thread, or until the run has failed. Then the scheduler must be left where it is, for ever.
  RunResult run(std::function<void()> body);
  const std::vector<Event>& events() const { return events_; }
  const std::vector<std::shared_ptr<SimThread>>& threads() const { return threads_; }
  const Schedule& schedule() const { return schedule_; }

  // -- For simulated threads, while they have the baton ------------------------------------------

  std::shared_ptr<SimThread> start(std::move_only_function<void()> body);
  void join(SimThread& thread);
  void point(const void* object, Access access, const std::source_location& where);
  bool block(const void* address, TimePoint deadline);
  void wake_one(const void* address);
  void wake_all(const void* address);
  std::uint64_t draw(std::uint64_t below);
  bool happens(double probability);
  const Faults& faults() const { return limits_.faults; }
  TimePoint now() const { return now_; }
  std::uint64_t next_number() { return ++last_number_; }
  // Requested at a moment that is drawn, or at the end of the body.
  std::stop_token sudden_stop();
  // The run ends here, and so does this thread.
  [[noreturn]] void fail(std::string why);
  // The same at the next step of any thread.
  void fail_soon(std::string why);

  bool keeps_events() const { return keeps_events_; }
  void begin_operation(std::string what);
  void end_operation();
  void note(Event::Kind kind, std::string_view what, const void* object = nullptr,
            const std::source_location& where = {});
  Slot& slot(Once which) { return slots_[static_cast<std::size_t>(which)]; }

  // -- For the OS threads that carry them --------------------------------------------------------

  // Returns who gets the baton then; null if the run is over: finish_run() then.
  SimThread* run_thread(SimThread& thread);
  void finish_run();

 private:
  void run_body(const std::function<void()>& body);
  void destroy_slots();
  void check_nobody_lives();
  void end_sudden_stop();
  SimThread& choose(SimThread& from);
  void switch_to(SimThread& self, SimThread& next);
  void let_time_pass();
  void wake(SimThread& thread, bool has_timed_out);
  void do_faults(SimThread& self);
  [[noreturn]] void park_for_ever();
  void stop_here_if_dead();
  std::optional<std::string> await_end();
  std::string who_is_blocked() const;
  std::string who_runs() const;

  const std::shared_ptr<Strategy> strategy_;
  const RunLimits limits_;
  const bool keeps_events_;
  Random draws_;
  TimePoint now_;
  std::atomic<std::uint64_t> steps_{0};
  std::uint64_t switches_ = 0;
  std::vector<std::shared_ptr<SimThread>> threads_;
  std::vector<SimThread*> ready_;  // By number.
  Schedule schedule_;
  std::vector<Event> events_;
  std::array<Slot, once_count> slots_;
  std::uint64_t last_number_ = 0;
  std::stop_source sudden_;
  std::shared_ptr<SimThread> stopper_;
  std::string doom_;  // Why it fails soon; empty if it does not.
  std::atomic<const SimThread*> running_{nullptr};
  std::atomic<bool> is_dead_{false};

  std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by mutex_.
  bool has_ended_ = false;
  std::optional<std::string> failure_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
