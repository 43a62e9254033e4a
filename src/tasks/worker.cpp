#include "handoff/tasks/worker.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/log.hpp"
#include "handoff/tasks/limits.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr int most_at_a_time = 10'000;
constexpr std::size_t most_threads = 1000;
constexpr Duration after_failure = std::chrono::milliseconds(500);  // Of the store.

std::string default_name() {
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}/{}", host.data(), ::getpid());
}

std::size_t check_concurrency(const WorkerOptions& options) {
  if (options.queues.empty()) throw std::invalid_argument("queues must name at least one queue");
  std::size_t all = 0;
  for (const WorkerQueue& each : options.queues) {
    if (each.concurrency < 1 || each.concurrency > most_at_a_time) {
      throw std::invalid_argument(
          fmt::format("concurrency of queue \"{}\" must be from 1 to {}, got {}", each.name,
                      most_at_a_time, each.concurrency));
    }
    if (const auto good = check_queue(each.name, "queues"); !good) {
      throw std::invalid_argument(good.error().message);
    }
    all += static_cast<std::size_t>(each.concurrency);
  }
  return all;
}

void check_places(const WorkerOptions& options) {
  if (options.threads > most_threads) {
    throw std::invalid_argument(
        fmt::format("threads must be from 0 to {}, got {}", most_threads, options.threads));
  }
  const int chosen =
      int{options.pool != nullptr} + int{options.threads > 0} + int{options.runs_inline};
  if (chosen > 1) throw std::invalid_argument("pool, threads and runs_inline: choose one of them");
}

}  // namespace

WorkerCore::WorkerCore(Tasks tasks, WorkerOptions options)
    : tasks_(std::move(tasks)),
      core_(TasksAccess::core(tasks_)),
      options_(std::move(options)),
      name_(options_.name.empty() ? default_name() : options_.name) {
  const std::size_t all = check_concurrency(options_);
  check_places(options_);
  for (const WorkerQueue& each : options_.queues) {
    queues_.push_back({.name = each.name, .concurrency = each.concurrency});
  }
  if (options_.pool == nullptr && !options_.runs_inline) {
    const std::size_t threads =
        options_.threads > 0 ? options_.threads : std::min(all, most_threads);
    own_pool_ = std::make_unique<WorkerPool>(
        PoolOptions{.workers = threads, .capacity = all, .name = "tasks"});
  }
}

// Handlers that were given back may still run, also on a pool that is not ours.
WorkerCore::~WorkerCore() {
  interrupt_all();
  static_cast<void>(nobody_runs_.wait());
  const auto last = lock_.hold();  // Who has set it is out of here.
}

void WorkerCore::handle(std::string kind, Handler handler) {
  handlers_[std::move(kind)] = std::move(handler);
}

void WorkerCore::ring() {
  is_rung_ = true;
  bell_.set();
}

void WorkerCore::hear_of_cancelled(const TaskId& task) {
  const auto turn = lock_.hold();
  cancelled_.push_back(task);
  bell_.set();
}

// -- Time -----------------------------------------------------------------------------------------

void WorkerCore::stop_late_and_cancelled(Millis now) {
  std::vector<TaskId> cancelled;
  {
    const auto turn = lock_.hold();
    cancelled = std::exchange(cancelled_, {});
  }
  for (Context::Run& each : runs_) {
    const bool is_cancelled = std::ranges::find(cancelled, each.task.id) != cancelled.end();
    const bool is_late = each.task.timeout > Millis(0) && now >= each.began + each.task.timeout;
    if (is_late) each.is_late = true;
    if (is_cancelled || is_late) each.stop.request_stop();
  }
}

void WorkerCore::interrupt_all() {
  for (Context::Run& each : runs_) {
    each.is_interrupted = true;
    each.stop.request_stop();
  }
}

std::optional<Millis> WorkerCore::next_event() {
  std::optional<Millis> next = pool_is_full_until_;
  const auto consider = [&](std::optional<Millis> at) {
    if (at) next = next ? std::min(*next, *at) : at;
  };
  {
    const auto turn = lock_.hold();
    for (const Context::Run& each : runs_) {
      if (each.is_late || each.is_given_back) continue;
      consider(each.next_extension);
      consider(each.news_due);
      if (each.task.timeout > Millis(0)) consider(each.began + each.task.timeout);
    }
  }
  for (const Queue& each : queues_) consider(each.again_at);
  return next;
}

Deadline WorkerCore::sleeps_until(std::optional<TimePoint> gives_up_at) {
  Deadline deadline;
  const auto next = next_event();
  if (next && core_.clock().moves_by_itself()) deadline = within(*next - clock());
  if (gives_up_at) deadline = std::min(deadline.when(), *gives_up_at);
  return deadline;
}

// -- For those who look: see Tasks::workers() and explain() ---------------------------------------

std::optional<std::int64_t> WorkerCore::register_worker() {
  WorkerRow row{.name = name_, .queues = {}, .kinds = {}};
  for (const Queue& each : queues_) {
    row.queues.push_back({.name = each.name, .concurrency = each.concurrency});
  }
  for (const auto& [kind, handler] : handlers_) row.kinds.push_back(kind);
  std::optional<std::int64_t> id;
  try {
    core_.batcher().run([&](Transaction& transaction) { id = transaction.add_worker(row); });
  } catch (const std::exception&) {  // It works all the same, once the store does.
  }
  return id;
}

void WorkerCore::unregister_worker(std::optional<std::int64_t> row) {
  if (!row) return;
  try {
    core_.batcher().run([&](Transaction& transaction) { transaction.remove_worker(*row); });
  } catch (const std::exception&) {  // It is forgotten with its process.
  }
}

// -- The loop -------------------------------------------------------------------------------------

WorkerReport WorkerCore::run(const std::stop_token& stop, Millis grace, bool until_idle) {
  report_ = {};
  is_rung_ = true;
  // Is seen, and is told of what happens, as long as it runs.
  struct Listening {
    explicit Listening(WorkerCore& who) : worker(who), row(worker.register_worker()) {
      std::vector<std::string> names;
      for (const Queue& each : worker.queues_) names.push_back(each.name);
      worker.core_.listeners().add(worker, names);
      worker.core_.clock().subscribe(&worker, [this] { worker.bell_.set(); });
    }
    ~Listening() {
      worker.core_.clock().unsubscribe(&worker);
      worker.core_.listeners().remove(worker);
      worker.unregister_worker(row);
    }
    WorkerCore& worker;
    const std::optional<std::int64_t> row;
  } const listening(*this);
  const std::stop_callback wakes(stop, [this] { bell_.set(); });
  std::optional<TimePoint> gives_up_at;
  for (;;) {
    bell_.reset();
    const bool is_over = gives_up_at && now() >= *gives_up_at;
    if (stop.stop_requested() && !gives_up_at) {
      gives_up_at = now() + grace;
      interrupt_all();
    }
    const Millis at = clock();
    stop_late_and_cancelled(at);
    Round round;
    add_outcomes(round);
    if (is_over) give_back(round);
    add_extensions(round, at);
    if (!gives_up_at) add_claims(round, at);
    if (!round.is_empty()) {
      try {
        commit(round);
      } catch (const std::exception& error) {
        undo(round);
        handoff::detail::log_line(
            fmt::format("tasks: worker {} waits for its store: {}", name_, error.what()));
        static_cast<void>(bell_.wait({.deadline = within(after_failure), .stop = {}}));
        continue;
      }
      take_in(round);
      continue;
    }
    if (runs_.empty() && gives_up_at) break;
    if (runs_.empty() && until_idle && !pool_is_full_until_) {
      core_.keeper().work_now();  // What is due by now, the keeper may not have seen yet.
      if (is_rung_) continue;
      break;
    }
    // Their handlers still run, and are waited for by the destructor.
    const auto is_given_back = [](const Context::Run& run) { return run.is_given_back.load(); };
    if (is_over && std::ranges::all_of(runs_, is_given_back)) break;
    static_cast<void>(bell_.wait({.deadline = sleeps_until(gives_up_at), .stop = {}}));
  }
  return report_;
}

// -- Worker ---------------------------------------------------------------------------------------

Worker::Worker(Tasks tasks, WorkerOptions options)
    : core_(std::make_unique<WorkerCore>(std::move(tasks), std::move(options))) {}
Worker::~Worker() = default;

void Worker::add(std::string kind, handoff::detail::TaskHandler handler) {
  const auto check = [](const Checked& good) {
    if (!good) throw std::invalid_argument(good.error().message);
  };
  check(check_kind(kind));
  if (handler.options.max_attempts != 0) {
    check(check_max_attempts(handler.options.max_attempts, "max_attempts"));
  }
  if (handler.options.retry) check(handler.options.retry->check("retry"));
  core_->handle(std::move(kind), std::move(handler));
}

WorkerReport Worker::run(const std::stop_token& stop, std::chrono::milliseconds grace) {
  return core_->run(stop, grace, false);
}

WorkerReport Worker::run_until_idle() { return core_->run({}, Millis(0), true); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
