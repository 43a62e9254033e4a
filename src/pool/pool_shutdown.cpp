#include <fmt/core.h>

#include <stdexcept>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

void PoolCore::close() {
  queue_.close();
  // Those who wait look again, and find out whether they were the last.
  idle_.rouse_all();
}

void PoolCore::quiet_down() {
  quiet_.store(true, seq_cst);  // Pairs with the loads in the turns.
  idle_.rouse_all();
  reserve_.rouse_all();
}

void PoolCore::end() {
  ended_.store(true, seq_cst);  // Pairs with has_ended().
  end_source_.request_stop();
  idle_.rouse_all();
  reserve_.rouse_all();
}

void PoolCore::collect_unstarted(std::vector<Job>& jobs) {
  const auto keep = [&](Job& job) {
    if (job.withdraw()) {
      jobs.push_back(std::move(job));
    } else {
      ran_early_.fetch_add(1, relaxed);  // A counter only.
      job.reset();
    }
  };
  Job job;
  while (take_unstarted(job)) keep(job);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    while (workers_[i].local.take(job)) keep(job);
  }
  std::vector<Job> in_hand;
  {
    SmallGuard guard(crew_lock_);
    in_hand.swap(unstarted_);
  }
  for (Job& each : in_hand) keep(each);
}

std::vector<RunningJob> PoolCore::running_jobs() const {
  std::vector<RunningJob> jobs;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto where = workers_[i].running.load(relaxed);  // For people.
    if (where.line() == 0) continue;
    jobs.push_back({.thread = thread_name(workers_[i].thread.load(relaxed)), .where = where});
  }
  return jobs;
}

void PoolCore::join_threads() {
  std::vector<Thread> threads;
  {
    SmallGuard guard(crew_lock_);
    threads.swap(threads_);
    threads_.resize(workers_.size());
  }
  for (Thread& each : threads) {
    if (each.joinable()) each.join();
  }
}

ShutdownReport PoolCore::shutdown(const Shutdown& how) {
  const sim::Operation here(*this, "shutdown");
  if (this_worker != nullptr && &this_worker->pool == this) {
    throw std::logic_error(fmt::format(
        "{}: shutdown() was called by one of its own jobs, and would wait for itself", label()));
  }
  const auto turn = shutting_down_.hold();
  ShutdownReport report;
  const auto finished_before = finished();

  // Before it is closed: who hears that it is must not see another job begin. What is accepted in between is handed back.
  if (how.finish() <= Duration::zero()) end();
  report.timers_cancelled = timers_->close();
  close();
  bool is_over = all_gone_.is_set();
  if (!is_over && how.finish() > Duration::zero()) {
    is_over =
        all_gone_.wait({.deadline = within(how.finish()), .stop = how.early_end()}).has_value();
  }
  if (!is_over) {
    end();  // First: a worker whose job heeds the stop must not begin another.
    if (how.interrupts()) stop_source_.request_stop();
    collect_unstarted(report.handed_back);
    is_over = all_gone_.wait({.deadline = within(how.grace())}).has_value();
  }
  if (is_over) join_threads();
  // Also what came into a worker's hands meanwhile.
  collect_unstarted(report.handed_back);
  if (has_ended()) report.timers_cancelled += timers_->drop_due();
  if (!is_over) {
    report.still_running = running_jobs();
    // Otherwise none is left: who is counted still is about to be refused.
    report.coroutines = coroutines();
  }
  report.finished = finished() - finished_before;
  return report;
}

void PoolCore::drop_unstarted() {
  std::vector<Job> jobs;
  collect_unstarted(jobs);
  if (jobs.empty()) return;
  log_line(fmt::format("{}: destroyed with {} jobs that had not begun", label(), jobs.size()));
  for (Job& job : jobs) {
    if (hooks_.on_drop) hooks_.on_drop(job);
  }
}

PoolCore::~PoolCore() {
  // A job that destroys its own pool would wait for itself.
  HANDOFF_ASSERT(this_worker == nullptr || &this_worker->pool != this);
  end();
  static_cast<void>(timers_->close());
  close();
  if (!all_gone_.is_set()) {
    stop_source_.request_stop();
    // Before the wait: a job that runs may wait for one of them.
    drop_unstarted();
    // And meanwhile: one that was about to hand in a job when the pool ended may wait for that, too.
    while (!all_gone_.wait({.deadline = within(std::chrono::milliseconds(10))})) drop_unstarted();
  }
  join_threads();
  drop_unstarted();
  static_cast<void>(timers_->drop_due());
  drops_.flush();
  retire();
}

}  // namespace detail

std::string to_string(const ShutdownReport& report) {
  auto text = fmt::format("{} finished, {} handed back, {} still running", report.finished,
                          report.handed_back.size(), report.still_running.size());
  if (report.coroutines > 0) text += fmt::format(", {} coroutines not ended", report.coroutines);
  const char* separator = ": ";
  for (const RunningJob& job : report.still_running) {
    const std::string_view file = job.where.file_name();
    text += fmt::format("{}{}:{} on {}", separator, file.substr(file.rfind('/') + 1),
                        job.where.line(), job.thread);
    separator = ", ";
  }
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
