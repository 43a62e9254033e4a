#include "handoff/tasks/worker.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/log.hpp"
#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/limits.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr Duration progress_period = std::chrono::seconds(1);
constexpr Duration after_failure = std::chrono::milliseconds(500);  // Of the store.

std::string default_name() {
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}/{}", host.data(), ::getpid());
}

int check_concurrency(const WorkerOptions& options) {
  if (options.queues.empty()) throw std::invalid_argument("queues must name at least one queue");
  int all = 0;
  for (const WorkerQueue& each : options.queues) {
    if (each.concurrency < 1 || each.concurrency > 1000) {
      throw std::invalid_argument(
          fmt::format("concurrency of queue \"{}\" must be from 1 to 1000, got {}", each.name,
                      each.concurrency));
    }
    if (const auto good = check_queue(each.name, "queues"); !good) {
      throw std::invalid_argument(good.error().message);
    }
    all += each.concurrency;
  }
  return all;
}

}  // namespace

// -- Context --------------------------------------------------------------------------------------

const TaskId& Context::id() const { return run_.task.id; }
const std::string& Context::queue() const { return run_.task.queue; }
const std::string& Context::kind() const { return run_.task.kind; }
int Context::attempt() const { return run_.task.attempt; }
int Context::max_attempts() const { return run_.task.max_attempts; }
const std::string& Context::group() const { return run_.task.group; }
const std::string& Context::trace() const { return run_.task.trace; }
std::stop_token Context::stop() const { return run_.stop.get_token(); }
void Context::progress(double fraction, std::string_view note) {
  run_.worker->note_progress(run_, fraction, note);
}

// -- The worker -----------------------------------------------------------------------------------

WorkerCore::WorkerCore(Tasks tasks, WorkerOptions options)
    : tasks_(std::move(tasks)),
      core_(TasksAccess::core(tasks_)),
      options_(std::move(options)),
      name_(options_.name.empty() ? default_name() : options_.name) {
  const int all = check_concurrency(options_);
  for (const WorkerQueue& each : options_.queues) {
    queues_.push_back({.name = each.name, .concurrency = each.concurrency});
  }
  if (options_.pool == nullptr) {
    const auto threads = static_cast<std::size_t>(all);
    own_pool_ = std::make_unique<WorkerPool>(
        PoolOptions{.workers = threads, .capacity = threads, .name = "tasks"});
  }
}

WorkerCore::~WorkerCore() = default;

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

void WorkerCore::note_progress(Context::Run& run, double fraction, std::string_view note) {
  const auto turn = lock_.hold();
  run.progress = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  run.note = note.substr(0, 1000);
}

// -- One attempt ----------------------------------------------------------------------------------

Outcome WorkerCore::outcome_of(Context::Run& run) {
  Outcome outcome{.id = run.task.id, .lease = run.task.lease, .kind = Outcome::Kind::failed};
  const auto handler = handlers_.find(run.task.kind);
  if (handler == handlers_.end()) {
    outcome.text = fmt::format("no handler for kind \"{}\" in worker {}", run.task.kind, name_);
    return outcome;
  }
  try {
    auto payload = Json::parse(run.task.payload);
    if (!payload)
      throw std::runtime_error("its payload is no JSON: " + payload.error().to_string());
    Context context(run);
    const Finish finish = handler->second(*payload, context);
    struct Reader {
      Outcome& outcome;
      void operator()(const Json& result) const {
        outcome.kind = Outcome::Kind::done;
        outcome.text = result.text();
      }
      void operator()(const Fail& fail) const {
        outcome.kind = Outcome::Kind::failed_for_good;
        outcome.text = fail.message;
      }
      void operator()(const Defer& defer) const {
        outcome.kind = Outcome::Kind::deferred;
        outcome.later = std::clamp(defer.later, Millis(0), longest_duration);
      }
      void operator()(const Cancel& cancel) const {
        outcome.kind = Outcome::Kind::cancelled;
        outcome.text = cancel.reason;
      }
    };
    std::visit(Reader{outcome}, finish.what());
  } catch (const std::exception& error) {
    outcome.text = error.what();
  } catch (...) {
    outcome.text = "its handler threw something that is no std::exception";
  }
  return outcome;
}

void WorkerCore::execute(Context::Run& run) {
  Outcome outcome = outcome_of(run);
  const auto turn = lock_.hold();
  ended_.push_back({.run = &run, .outcome = std::move(outcome)});
  bell_.set();
}

void WorkerCore::start(Claimed task) {
  Context::Run& run = runs_.emplace_back();
  run.worker = this;
  run.task = std::move(task);
  run.began = now();
  run.next_extension = run.began + run.task.lease_for / 3;
  WorkerPool& pool = options_.pool == nullptr ? *own_pool_ : *options_.pool;
  if (pool.post([this, &run] { execute(run); })) return;
  // No room there: somebody else may have some.
  const auto turn = lock_.hold();
  ended_.push_back(
      {.run = &run,
       .outcome = {.id = run.task.id, .lease = run.task.lease, .kind = Outcome::Kind::released}});
}

// -- What a commit is to do -----------------------------------------------------------------------

void WorkerCore::add_outcomes(Round& round) {
  {
    const auto turn = lock_.hold();
    round.ended = std::exchange(ended_, {});
  }
  for (Ended& each : round.ended) {
    if (each.run->is_given_back) continue;
    Outcome outcome = each.outcome;
    const bool has_failed = outcome.kind == Outcome::Kind::failed;
    if (has_failed && each.run->is_late) {
      outcome.text =
          fmt::format("it took longer than {}: {}", to_text(each.run->task.timeout), outcome.text);
    } else if (has_failed && each.run->is_interrupted) {
      outcome.kind = Outcome::Kind::released;  // It has only done as it was told.
    }
    round.outcomes.push_back(std::move(outcome));
  }
}

void WorkerCore::add_extensions(Round& round, TimePoint at) {
  const auto turn = lock_.hold();
  for (Context::Run& each : runs_) {
    if (each.is_given_back || each.is_late) continue;
    const bool has_news = each.progress && at >= each.began + progress_period;
    if (at < each.next_extension && !has_news) continue;
    const bool has_ended =
        std::ranges::any_of(round.ended, [&](const Ended& one) { return one.run == &each; });
    if (has_ended) continue;
    round.extensions.push_back({.id = each.task.id,
                                .lease = each.task.lease,
                                .lease_for = each.task.lease_for,
                                .progress = std::exchange(each.progress, std::nullopt),
                                .note = std::exchange(each.note, {})});
    round.extended.push_back(&each);
    each.next_extension = at + each.task.lease_for / 3;
  }
}

void WorkerCore::add_claims(Round& round, TimePoint at) {
  const bool is_rung = is_rung_.exchange(false);
  for (Queue& each : queues_) {
    if (each.again_at && at >= *each.again_at) {
      each.again_at.reset();
      each.may_have_more = true;
    }
    each.may_have_more |= is_rung;
    // Places that this round frees count.
    const auto freed = std::ranges::count_if(
        round.ended, [&](const Ended& one) { return one.run->task.queue == each.name; });
    const int free = each.concurrency - each.running + static_cast<int>(freed);
    if (!each.may_have_more || free <= 0) continue;
    round.claims.push_back(
        {.queue = each.name, .most = free, .lease_for = options_.lease_for, .worker = name_});
    round.queues.push_back(&each);
  }
}

void WorkerCore::commit(Round& round) {
  core_.batcher().run([&](Transaction& transaction) {
    round.recorded = transaction.finish(round.outcomes);
    round.renewed = transaction.extend(round.extensions);
    round.claimed.clear();
    for (const ClaimRequest& each : round.claims) round.claimed.push_back(transaction.claim(each));
  });
}

// The store has failed. What there is to say is said once more; leases that end meanwhile are taken by others.
void WorkerCore::undo(Round& round) {
  const auto turn = lock_.hold();
  ended_.insert(ended_.begin(), std::make_move_iterator(round.ended.begin()),
                std::make_move_iterator(round.ended.end()));
  for (Context::Run* const each : round.given_back) each->is_given_back = false;
  for (Context::Run* const each : round.extended) each->next_extension = now() + after_failure;
  is_rung_ = true;
}

void WorkerCore::take_in(Round& round) {
  for (std::size_t i = 0; i < round.recorded.size(); ++i) {
    if (round.recorded[i] == Recorded::stale || round.recorded[i] == Recorded::cancelled) {
      ++report_.stale;
      continue;
    }
    switch (round.outcomes[i].kind) {
      case Outcome::Kind::done: ++report_.done; break;
      case Outcome::Kind::failed:
      case Outcome::Kind::failed_for_good: ++report_.failed; break;
      case Outcome::Kind::deferred: ++report_.deferred; break;
      case Outcome::Kind::released: ++report_.given_back; break;
      case Outcome::Kind::cancelled: break;
    }
  }
  for (const Ended& each : round.ended) {
    const auto queue = std::ranges::find(queues_, each.run->task.queue, &Queue::name);
    --queue->running;
    each.run->is_over = true;
  }
  if (!round.ended.empty()) runs_.remove_if(std::mem_fn(&Context::Run::is_over));
  for (std::size_t i = 0; i < round.renewed.size(); ++i) {
    if (round.renewed[i] != Recorded::yes) round.extended[i]->stop.request_stop();
  }
  for (std::size_t i = 0; i < round.claimed.size(); ++i) {
    Queue& queue = *round.queues[i];
    ClaimResult& result = round.claimed[i];
    queue.may_have_more = std::ssize(result.tasks) == round.claims[i].most;
    if (result.again_in) queue.again_at = now() + *result.again_in;
    for (Claimed& task : result.tasks) {
      ++queue.running;
      start(std::move(task));
    }
  }
}

// -- Time -----------------------------------------------------------------------------------------

void WorkerCore::stop_late_and_cancelled(TimePoint at) {
  std::vector<TaskId> cancelled;
  {
    const auto turn = lock_.hold();
    cancelled = std::exchange(cancelled_, {});
  }
  for (Context::Run& each : runs_) {
    const bool is_cancelled = std::ranges::find(cancelled, each.task.id) != cancelled.end();
    const bool is_late = each.task.timeout > Millis(0) && at >= each.began + each.task.timeout;
    each.is_late |= is_late;
    if (is_cancelled || is_late) each.stop.request_stop();
  }
}

void WorkerCore::interrupt_all() {
  for (Context::Run& each : runs_) {
    each.is_interrupted = true;
    each.stop.request_stop();
  }
}

// Those that have not ended in time: what they say no longer counts.
void WorkerCore::give_back(Round& round) {
  for (Context::Run& each : runs_) {
    const bool has_ended =
        std::ranges::any_of(round.ended, [&](const Ended& one) { return one.run == &each; });
    if (has_ended || std::exchange(each.is_given_back, true)) continue;
    round.given_back.push_back(&each);
    round.outcomes.push_back(
        {.id = each.task.id, .lease = each.task.lease, .kind = Outcome::Kind::released});
  }
}

std::optional<TimePoint> WorkerCore::next_event() const {
  std::optional<TimePoint> next;
  const auto consider = [&](TimePoint at) { next = next ? std::min(*next, at) : at; };
  for (const Context::Run& each : runs_) {
    if (!each.is_late) {
      consider(each.next_extension);
      if (each.task.timeout > Millis(0)) consider(each.began + each.task.timeout);
    }
  }
  for (const Queue& each : queues_) {
    if (each.again_at) consider(*each.again_at);
  }
  return next;
}

WorkerReport WorkerCore::run(const std::stop_token& stop, Millis grace, bool until_idle) {
  report_ = {};
  is_rung_ = true;
  core_.listeners().add(*this, [&] {
    std::vector<std::string> names;
    for (const Queue& each : queues_) names.push_back(each.name);
    return names;
  }());
  const std::stop_callback wakes(stop, [this] { bell_.set(); });
  std::optional<TimePoint> gives_up_at;
  for (;;) {
    bell_.reset();
    const TimePoint at = now();
    if (stop.stop_requested() && !gives_up_at) {
      gives_up_at = at + grace;
      interrupt_all();
    }
    stop_late_and_cancelled(at);
    Round round;
    add_outcomes(round);
    if (gives_up_at && at >= *gives_up_at) give_back(round);
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
    const bool has_runs = !runs_.empty();
    if (!has_runs && (gives_up_at || until_idle)) break;
    if (gives_up_at && at >= *gives_up_at) {
      // Their handlers still run, and are waited for by the destructor of the pool.
      if (std::ranges::all_of(runs_, &Context::Run::is_given_back)) break;
    }
    auto next = next_event();
    if (gives_up_at) next = next ? std::min(*next, *gives_up_at) : *gives_up_at;
    static_cast<void>(bell_.wait({.deadline = next ? Deadline(*next) : Deadline(), .stop = {}}));
  }
  core_.listeners().remove(*this);
  return report_;
}

// -- Worker ---------------------------------------------------------------------------------------

Worker::Worker(Tasks tasks, WorkerOptions options)
    : core_(std::make_unique<WorkerCore>(std::move(tasks), std::move(options))) {}
Worker::~Worker() = default;

void Worker::handle(std::string kind, std::function<Finish(const Json&, Context&)> handler) {
  if (const auto good = check_kind(kind); !good) throw std::invalid_argument(good.error().message);
  core_->handle(std::move(kind), std::move(handler));
}

WorkerReport Worker::run(const std::stop_token& stop, std::chrono::milliseconds grace) {
  return core_->run(stop, grace, false);
}

WorkerReport Worker::run_until_idle() { return core_->run({}, Millis(0), true); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
