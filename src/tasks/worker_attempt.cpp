// One attempt: a handler is called, on a pool or here, and what it says becomes an outcome.
#include <fmt/format.h>

#include <algorithm>
#include <source_location>
#include <stdexcept>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/detail/coro/pool_task.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/limits.hpp"
#include "tasks/entropy.hpp"
#include "tasks/utf8.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

// How long a pool that has refused something is left alone: twice as long each time.
constexpr Millis first_after_refusal{100};
constexpr Millis longest_after_refusal{5000};

// The pool of a handler shuts down.
struct Interrupt {
  Context::Run* run;
  void operator()() const noexcept {
    run->is_interrupted = true;
    run->stop.request_stop();
  }
};
using InterruptedBy = handoff::detail::StopCallback<Interrupt>;

Outcome failed(const Context::Run& run, std::exception_ptr error) {
  Outcome outcome = WorkerCore::outcome_of(run, Outcome::Kind::failed);
  try {
    std::rethrow_exception(std::move(error));
  } catch (const RetryAfter& retry) {
    outcome.text = retry.what();
    outcome.later = std::clamp(retry.after, Millis(0), longest_duration);
  } catch (const std::exception& thrown) {
    outcome.text = thrown.what();
  } catch (...) {
    outcome.text = "its handler threw something that is no std::exception";
  }
  return outcome;
}

}  // namespace

// -- What a handler says --------------------------------------------------------------------------

Json WorkerCore::payload_of(const Context::Run& run) const {
  auto decoded = core_.encoding().decode(run.task.payload);
  if (!decoded) throw std::runtime_error("its payload cannot be decoded: " + decoded.error());
  auto payload = Json::parse(*std::move(decoded));
  if (!payload) throw std::runtime_error("its payload is no JSON: " + payload.error().to_string());
  return std::move(*payload);
}

Outcome WorkerCore::outcome_of(const Context::Run& run, const Finish& finish) const {
  struct Reader {
    const Context::Run& run;
    const Encoding& encoding;
    Outcome operator()(const Json& result) const {
      if (result.text().size() > limits::result_size) {
        return with(Outcome::Kind::failed_for_good,
                    fmt::format("its result has {} bytes; {} are allowed", result.text().size(),
                                limits::result_size));
      }
      return with(Outcome::Kind::done, encoding.encode(result.text()));
    }
    Outcome operator()(const Fail& fail) const {
      return with(Outcome::Kind::failed_for_good, fail.message);
    }
    Outcome operator()(const Retry& retry) const {
      return with(Outcome::Kind::failed,
                  retry.message.empty() ? "its handler wants to try again" : retry.message,
                  retry.after);
    }
    Outcome operator()(const Defer& defer) const {
      return with(Outcome::Kind::deferred, "", defer.later);
    }
    Outcome operator()(const Cancel& cancel) const {
      return with(Outcome::Kind::cancelled, cancel.reason);
    }
    Outcome with(Outcome::Kind kind, std::string text, std::optional<Millis> later = {}) const {
      Outcome outcome = WorkerCore::outcome_of(run, kind);
      outcome.text = std::move(text);
      if (later) outcome.later = std::clamp(*later, Millis(0), longest_duration);
      return outcome;
    }
  };
  return std::visit(Reader{run, core_.encoding()}, finish.what());
}

// False if it is not to begin any more.
bool WorkerCore::begin(Context::Run& run) {
  const auto turn = lock_.hold();
  if (run.is_given_back || run.is_interrupted) return false;
  run.began = clock();
  if (run.task.timeout > Millis(0)) bell_.set();  // The loop has to know until when.
  return true;
}

Outcome WorkerCore::run_plain(Context::Run& run, const Handler& handler) {
  if (!begin(run)) return outcome_of(run, Outcome::Kind::released);
  try {
    const Json payload = payload_of(run);
    Context context(run);
    return outcome_of(run, handler.plain(payload, context));
  } catch (...) {
    return failed(run, std::current_exception());
  }
}

Lazy<Outcome> WorkerCore::attempt(Context::Run& run, const Handler& handler) {
  if (!begin(run)) co_return outcome_of(run, Outcome::Kind::released);
  std::exception_ptr error;
  try {
    const Json payload = payload_of(run);
    Context context(run);
    auto lazy = handler.lazy(payload, context);
    const Finish finish = co_await std::move(lazy);
    co_return outcome_of(run, finish);
  } catch (...) {
    error = std::current_exception();
  }
  co_return failed(run, std::move(error));
}

// What follows from a failure: why it came, and when the task is tried again.
void WorkerCore::judge(const Ended& ended, Outcome& outcome) const {
  const Context::Run& run = *ended.run;
  if (outcome.kind != Outcome::Kind::done) {
    outcome.text = readable_utf8(outcome.text, limits::message_size);
  }
  if (outcome.kind != Outcome::Kind::failed) return;
  if (ended.was_late) {
    outcome.text =
        fmt::format("it took longer than {}: {}", to_text(run.task.timeout), outcome.text);
  } else if (ended.was_interrupted && !outcome.later) {
    outcome.kind = Outcome::Kind::released;  // It has only done as it was told.
    return;
  }
  const Handler* const handler = handler_of(run.task.kind);
  if (handler == nullptr) return;
  const HandlerOptions& options = handler->options;
  if (options.max_attempts > 0 && run.task.attempt >= options.max_attempts) {
    outcome.kind = Outcome::Kind::failed_for_good;
  } else if (!outcome.later && options.retry) {
    outcome.later = options.retry->delay(run.task.attempt, random_bits());
  }
}

const WorkerCore::Handler* WorkerCore::handler_of(std::string_view kind) const {
  const auto found = handlers_.find(kind);
  if (found != handlers_.end()) return &found->second;
  return any_handler_ ? &*any_handler_ : nullptr;
}

// Names other versions of the kind, if there are any: "resize/1" beside "resize/2".
std::string WorkerCore::nobody_handles(std::string_view kind) const {
  constexpr std::size_t most = 20;
  const auto base_of = [](std::string_view name) { return name.substr(0, name.rfind('/')); };
  std::vector<std::string_view> versions;
  std::vector<std::string_view> all;
  for (const auto& [known, handler] : handlers_) {
    all.push_back(known);
    if (base_of(known) == base_of(kind)) versions.push_back(known);
  }
  auto& named = versions.empty() ? all : versions;
  const bool has_more = named.size() > most;
  if (has_more) named.resize(most);
  return fmt::format("no handler for kind \"{}\"; this worker knows {}{}", kind,
                     named.empty() ? "none" : fmt::to_string(fmt::join(named, ", ")),
                     has_more ? ", ..." : "");
}

// -- Where it runs --------------------------------------------------------------------------------

// If the pool drops it, or hands it back, the task goes back too.
class WorkerCore::PlainJob {
 public:
  PlainJob(WorkerCore& worker, Context::Run& run, const Handler& handler)
      : worker_(&worker), run_(&run), handler_(&handler) {}
  PlainJob(PlainJob&& other) noexcept
      : worker_(std::exchange(other.worker_, nullptr)),
        run_(other.run_),
        handler_(other.handler_) {}
  PlainJob& operator=(PlainJob&&) = delete;
  ~PlainJob() {
    if (worker_ != nullptr) worker_->end(*run_, outcome_of(*run_, Outcome::Kind::released));
  }

  void operator()(const std::stop_token& pool_stop) {
    WorkerCore& worker = *std::exchange(worker_, nullptr);
    worker.end(*run_, call(worker, pool_stop));
  }
  bool withdraw() noexcept { return false; }

 private:
  Outcome call(WorkerCore& worker, const std::stop_token& pool_stop) {
    const InterruptedBy interrupted(pool_stop, Interrupt{run_});
    return worker.run_plain(*run_, *handler_);
  }

  WorkerCore* worker_;
  Context::Run* run_;
  const Handler* handler_;
};

class WorkerCore::LazyJob final : public handoff::detail::PoolTask {
 public:
  LazyJob(handoff::detail::PoolCore& pool, WorkerCore& worker, Context::Run& its_run,
          const Handler& handler)
      : PoolTask(pool, its_run.limits, std::source_location::current()),
        worker_(worker),
        run_(its_run),
        lazy_(worker.attempt(its_run, handler)),
        interrupted_(std::in_place, pool.stop_token(), Interrupt{&its_run}) {}

 private:
  using Access = handoff::detail::LazyAccess;

  handoff::detail::PromiseBase& root() override { return Access::promise(*lazy_); }
  bool may_withdraw() noexcept override { return false; }
  void ended() noexcept override {
    auto& promise = Access::promise(*lazy_);
    leave(promise.error() ? failed(run_, promise.error()) : std::move(*promise.value()));
  }
  void never_began() noexcept override { leave(outcome_of(run_, Outcome::Kind::released)); }
  // All of it is gone before the worker hears of that.
  void leave(Outcome outcome) noexcept {
    WorkerCore& worker = worker_;
    Context::Run& its_run = run_;
    delete this;
    worker.end(its_run, std::move(outcome));
  }

  WorkerCore& worker_;
  Context::Run& run_;
  std::optional<Lazy<Outcome>> lazy_;
  std::optional<InterruptedBy> interrupted_;
};

bool WorkerCore::hand_in(Context::Run& run, const Handler& handler, Deadline patience) {
  WorkerPool& pool = options_.pool == nullptr ? *own_pool_ : *options_.pool;
  const Wait wait{.deadline = patience, .stop = {}};
  if (handler.plain) return pool.post(PlainJob(*this, run, handler), wait).has_value();
  auto& core = handoff::detail::PoolAccess::core(pool);
  const auto make = [&]() -> handoff::detail::PoolTask& {
    return *new LazyJob(core, *this, run, handler);
  };
  if (!handoff::detail::hand_in(core, make, wait, std::source_location::current())) return true;
  end(run, outcome_of(run, Outcome::Kind::released));
  return false;
}

void WorkerCore::start(Claimed task, Deadline patience) {
  Context::Run& run = runs_.emplace_back();
  run.worker = this;
  run.task = std::move(task);
  run.next_extension = clock() + run.task.lease_for / 3;
  {
    const auto turn = lock_.hold();
    if (++in_hand_ == 1) nobody_runs_.reset();
    ids_in_hand_.push_back(run.task.id);
  }
  const Handler* const found = handler_of(run.task.kind);
  if (found == nullptr) {
    Outcome outcome = outcome_of(run, Outcome::Kind::failed);
    outcome.text = nobody_handles(run.task.kind);
    return end(run, std::move(outcome));
  }
  const Handler& handler = *found;
  if (options_.runs_inline) {
    return end(run, handler.plain ? run_plain(run, handler)
                                  : sync_wait(attempt(run, handler), run.limits.stop));
  }
  // No room there: somebody else may have some.
  if (hand_in(run, handler, patience)) {
    after_refusal_ = Millis(0);
    return;
  }
  if (!pool_is_full_until_) {  // Once for all that were claimed together.
    after_refusal_ = std::clamp(after_refusal_ * 2, first_after_refusal, longest_after_refusal);
  }
  pool_is_full_until_ = now() + after_refusal_;
}

void WorkerCore::end(Context::Run& run, Outcome outcome) {
  const auto turn = lock_.hold();
  ended_.push_back({.run = &run,
                    .outcome = std::move(outcome),
                    .was_late = run.is_late,
                    .was_interrupted = run.is_interrupted});
  bell_.set();
  if (--in_hand_ == 0) nobody_runs_.set();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
