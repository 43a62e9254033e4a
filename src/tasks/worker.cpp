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
#include "tasks/elsewhere.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr int most_at_a_time = 10'000;
constexpr std::size_t most_threads = 1000;
constexpr Duration after_failure = std::chrono::milliseconds(500);  // Of the store.

// Host and process; the second of a process and those after it have a number too.
std::string default_name() {
  static handoff::detail::atomic<int> count{0};
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  const int number = ++count;
  const std::string name = fmt::format("{}/{}", host.data(), ::getpid());
  return number == 1 ? name : fmt::format("{}/{}", name, number);
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
    if (std::ranges::count(options.queues, each.name, &WorkerQueue::name) > 1) {
      throw std::invalid_argument(fmt::format("queue \"{}\" is named twice", each.name));
    }
    all += static_cast<std::size_t>(each.concurrency);
  }
  return all;
}

void check_rest(const WorkerOptions& options) {
  if (options.lease_for != Millis(0)) {
    if (const auto good = check_lease(options.lease_for, "lease_for"); !good) {
      throw std::invalid_argument(good.error().message);
    }
  }
  if (options.name.empty()) return;
  if (const auto good = check_worker(options.name, "name"); !good) {
    throw std::invalid_argument(good.error().message);
  }
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

void throw_unless(const Checked& good) {
  if (!good) throw std::invalid_argument(good.error().message);
}

void check_options(const HandlerOptions& options) {
  if (options.max_attempts != 0) {
    throw_unless(check_max_attempts(options.max_attempts, "max_attempts"));
  }
  if (options.retry) throw_unless(options.retry->check("retry"));
}

}  // namespace

WorkerCore::WorkerCore(Tasks tasks, WorkerOptions options)
    : tasks_(std::move(tasks)),
      core_(TasksAccess::core(tasks_)),
      options_(std::move(options)),
      name_(options_.name.empty() ? default_name() : options_.name) {
  const std::size_t all = check_concurrency(options_);
  check_places(options_);
  check_rest(options_);
  for (const WorkerQueue& each : options_.queues) {
    queues_.push_back({.name = each.name, .concurrency = each.concurrency});
  }
  is_hungry_ = std::make_unique<handoff::detail::atomic<bool>[]>(queues_.size());
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
  if (handlers_.contains(kind)) {
    throw std::invalid_argument(fmt::format("kind \"{}\" has a handler already", kind));
  }
  handlers_.emplace(std::move(kind), std::move(handler));
}

void WorkerCore::handle_any(Handler handler) {
  if (any_handler_) throw std::invalid_argument("there is a handler of any kind already");
  any_handler_ = std::move(handler);
}

bool WorkerCore::ring(std::string_view queue) {
  is_rung_ = true;
  bell_.set();
  const auto found = std::ranges::find(queues_, queue, &Queue::name);
  return is_hungry_[static_cast<std::size_t>(found - queues_.begin())].exchange(false);
}

std::vector<TaskId> WorkerCore::in_hand() {
  constexpr std::size_t most = 1000;  // Of more it hears with their heartbeats.
  const auto turn = lock_.hold();
  return ids_in_hand_.size() > most ? std::vector<TaskId>() : ids_in_hand_;
}

void WorkerCore::hear_of_cancelled(const TaskId& task) {
  const auto turn = lock_.hold();
  cancelled_.push_back(task);
  bell_.set();
}

// -- Time -----------------------------------------------------------------------------------------

void WorkerCore::stop_late_and_cancelled(Millis now) {
  std::vector<Context::Run*> to_stop;
  {
    const auto turn = lock_.hold();
    const auto cancelled = std::exchange(cancelled_, {});
    for (Context::Run& each : runs_) {
      const bool is_cancelled = std::ranges::find(cancelled, each.task.id) != cancelled.end();
      const auto until = late_at(each);
      const bool is_late = until && now >= *until;
      if (is_late) each.is_late = true;
      if (is_cancelled || is_late) to_stop.push_back(&each);
    }
  }
  for (Context::Run* const each : to_stop) each->stop.request_stop();  // Calls what users want.
}

// Under the lock, both.
std::optional<Millis> WorkerCore::late_at(const Context::Run& run) const {
  if (!run.began || run.task.timeout == Millis(0)) return std::nullopt;
  return *run.began + run.task.timeout;
}
std::optional<Millis> WorkerCore::gives_up_late_at(const Context::Run& run) const {
  // Its lease is good for longer: it was extended until it was late.
  return run.is_late ? std::optional(*late_at(run) + run.task.lease_for / 3) : std::nullopt;
}

// Each queue for itself: a worker that is rung for one it has no room in would keep the ring from another that has.
void WorkerCore::be_hungry(bool would_claim) {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    is_hungry_[i] = would_claim && queues_[i].running < queues_[i].concurrency;
  }
}

void WorkerCore::interrupt_all() {
  // First all of them: one that stops leaves its thread to the next, which is not to begin.
  for (Context::Run& each : runs_) each.is_interrupted = true;
  for (Context::Run& each : runs_) each.stop.request_stop();
}

std::optional<Millis> WorkerCore::next_event(bool claims) {
  std::optional<Millis> next;
  const auto consider = [&](std::optional<Millis> at) {
    if (at) next = next ? std::min(*next, *at) : at;
  };
  {
    const auto turn = lock_.hold();
    for (const Context::Run& each : runs_) {
      if (each.is_given_back) continue;
      if (each.is_late) {
        consider(gives_up_late_at(each));
        continue;
      }
      consider(each.next_extension);
      consider(each.news_due);
      consider(late_at(each));
    }
  }
  if (claims) {
    for (const Queue& each : queues_) consider(each.again_at);
  }
  return next;
}

Deadline WorkerCore::sleeps_until(std::optional<TimePoint> gives_up_at) {
  Deadline deadline;
  const bool is_refused = pool_is_full_until_.has_value();
  const auto next = next_event(!gives_up_at && !is_refused);
  if (next && core_.clock().moves_by_itself()) deadline = within(*next - clock());
  if (gives_up_at) deadline = std::min(deadline.when(), *gives_up_at);
  if (!gives_up_at && is_refused) deadline = std::min(deadline.when(), *pool_is_full_until_);
  return deadline;
}

// -- For those who look: see Tasks::workers() and explain() ---------------------------------------

std::optional<std::int64_t> WorkerCore::register_worker() {
  WorkerRow row{.name = name_, .queues = {}, .kinds = {}};
  for (const Queue& each : queues_) {
    row.queues.push_back({.name = each.name, .concurrency = each.concurrency});
  }
  for (const auto& [kind, handler] : handlers_) {
    if (!any_handler_) row.kinds.push_back(kind);
  }
  std::optional<std::int64_t> id;
  try {
    core_.batcher().run([&](Transaction& transaction) { id = transaction.add_worker(row); });
  } catch (const std::exception&) {  // It works all the same, once the store does.
  }
  row_ = id.value_or(0);
  if (auto* const there = core_.elsewhere(); there != nullptr && is_until_idle_) {
    there->wait_for_nothing(row_);
  }
  return id;
}

// A server may have more for it.
void WorkerCore::end_claims() {
  if (auto* const there = core_.elsewhere()) there->end_claims(row_);
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
  if (is_running_.exchange(true)) throw std::logic_error("the worker runs already");
  struct Running {
    ~Running() { flag = false; }
    handoff::detail::atomic<bool>& flag;
  } const running{is_running_};
  report_ = {};
  is_rung_ = true;
  is_until_idle_ = until_idle;
  // Is seen, and is told of what happens, as long as it runs.
  struct Listening {
    explicit Listening(WorkerCore& who) : worker(who), row(worker.register_worker()) {
      for (const Queue& each : worker.queues_) names.push_back(each.name);
      worker.core_.listeners().add(worker, names);
      worker.core_.clock().subscribe(&worker, [this] { worker.bell_.set(); });
    }
    ~Listening() {
      worker.core_.clock().unsubscribe(&worker);
      worker.core_.listeners().remove(worker);
      worker.core_.listeners().ring(names);  // For what it was rung, and has not looked at.
      worker.unregister_worker(row);
    }
    WorkerCore& worker;
    std::optional<std::int64_t> row;
    std::vector<std::string> names{};
  } listening(*this);
  const std::stop_callback wakes(stop, [this] { bell_.set(); });
  std::optional<TimePoint> gives_up_at;
  for (;;) {
    bell_.reset();
    const bool is_over = gives_up_at && now() >= *gives_up_at;
    if (stop.stop_requested() && !gives_up_at) {
      gives_up_at = within(grace).when();
      interrupt_all();
      end_claims();
      // For what it was rung a moment ago: it looks no more.
      core_.listeners().ring(listening.names);
    }
    const Millis at = clock();
    stop_late_and_cancelled(at);
    Round round;
    add_outcomes(round);
    if (is_over) give_back(round);
    give_up_late(round, at);
    add_extensions(round, at);
    if (!gives_up_at) add_claims(round, at);
    if (!round.is_empty()) {
      try {
        commit(round);
      } catch (const std::exception& error) {
        undo(round);
        if (is_over) {  // Who opens the store next, or the leases, take back what it has.
          handoff::detail::log_line(
              fmt::format("tasks: worker {} ends without its store: {}", name_, error.what()));
          break;
        }
        handoff::detail::log_line(
            fmt::format("tasks: worker {} waits for its store: {}", name_, error.what()));
        static_cast<void>(bell_.wait({.deadline = within(after_failure), .stop = {}}));
        continue;
      }
      take_in(round);
      if (!listening.row) listening.row = register_worker();
      continue;
    }
    if (runs_.empty() && gives_up_at) break;
    const bool may_get_room = pool_is_full_until_ && after_refusal_ < std::chrono::seconds(1);
    if (runs_.empty() && until_idle && !may_get_room) {
      core_.work_now();  // What is due by now, the keeper may not have seen yet.
      if (is_rung_ && !pool_is_full_until_) continue;
      break;
    }
    // Their handlers still run, and are waited for by the destructor.
    const auto is_given_back = [](const Context::Run& run) { return run.is_given_back.load(); };
    if (is_over && std::ranges::all_of(runs_, is_given_back)) break;
    be_hungry(!gives_up_at && !pool_is_full_until_);
    static_cast<void>(bell_.wait({.deadline = sleeps_until(gives_up_at), .stop = {}}));
    be_hungry(false);
  }
  return report_;
}

// -- Worker ---------------------------------------------------------------------------------------

Worker::Worker(Tasks tasks, WorkerOptions options)
    : core_(std::make_unique<WorkerCore>(std::move(tasks), std::move(options))) {}
Worker::~Worker() = default;

void Worker::add(std::string kind, handoff::detail::TaskHandler handler) {
  throw_unless(check_kind(kind));
  check_options(handler.options);
  core_->handle(std::move(kind), std::move(handler));
}

void Worker::add_any(handoff::detail::TaskHandler handler) {
  check_options(handler.options);
  core_->handle_any(std::move(handler));
}

WorkerReport Worker::run(const std::stop_token& stop, std::chrono::milliseconds grace) {
  return core_->run(stop, grace, false);
}

WorkerReport Worker::run_until_idle() { return core_->run({}, Millis(0), true); }

WorkerReport Worker::run_until_idle(const std::stop_token& stop, std::chrono::milliseconds grace) {
  return core_->run(stop, grace, true);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
