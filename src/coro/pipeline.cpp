#include "handoff/pipeline.hpp"

#include <fmt/core.h>

#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

Stage::Stage(std::size_t workers, const StageOptions& options)
    : workers_(workers), name_(options.name) {
  if (workers == 0) {
    throw std::invalid_argument(fmt::format("a stage needs at least 1 worker, got 0{}{}",
                                            name_.empty() ? "" : " for ", name_));
  }
}

std::optional<Refusal> Stage::start(Scope& scope, WorkerPool& pool) {
  scope_ = &scope;
  pool_ = &pool;
  left_.store(coroutines(), relaxed);  // The pool publishes it.
  for (std::size_t i = 0; i < coroutines(); ++i) {
    if (auto spawned = scope.spawn(pool, run_worker()); !spawned) return spawned.error();
  }
  return std::nullopt;
}

Lazy<> Stage::run_worker() {
  // However it ends: the last one ends the stage.
  struct AtEnd {
    Stage& stage;
    explicit AtEnd(Stage& owner) : stage(owner) {}
    ~AtEnd() { stage.worker_has_ended(); }
  } at_end(*this);
  co_await work();
}

void Stage::worker_has_ended() {
  // The last one sees what all the others did.
  if (left_.fetch_sub(1, acq_rel) != 1) return;
  for (StageOutput* each : outputs_) each->writer_has_ended();
}

StageStats Stage::stats() const {
  return {.name = name_,
          .received = received_.load(relaxed),  // Counters only.
          .sent = sent_.load(relaxed),
          .filtered = filtered_.load(relaxed),
          .dropped = dropped_.load(relaxed)};
}

}  // namespace detail

Pipeline& Pipeline::add(std::unique_ptr<detail::Stage> stage) {
  if (has_run_) throw std::logic_error("stages are added to a Pipeline before it runs");
  stages_.push_back(std::move(stage));
  return *this;
}

detail::StageOutput& Pipeline::output_of(void* channel, std::function<void()> close) {
  for (const auto& each : outputs_) {
    if (each->is(channel)) return *each;
  }
  outputs_.push_back(std::make_unique<detail::StageOutput>(channel, std::move(close)));
  return *outputs_.back();
}

std::optional<Refusal> Pipeline::start(Scope& scope) {
  if (std::exchange(has_run_, true)) throw std::logic_error("a Pipeline runs once");
  for (const auto& stage : stages_) {
    if (auto refusal = stage->start(scope, pool_)) {
      scope.request_stop();
      return refusal;
    }
  }
  return std::nullopt;
}

void Pipeline::close_all() {
  for (const auto& close : close_all_) close();
  for (const auto& output : outputs_) output->close();
}

namespace {
// Whatever happens: who is outside must not wait for ever.
template <typename F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};
}  // namespace

std::expected<void, Refusal> Pipeline::run(const Wait& wait) {
  const AtEnd closing([this] { close_all(); });
  Scope scope({.name = name_, .deadline = deadline_, .collect = false});
  if (auto refusal = start(scope)) {
    static_cast<void>(scope.join());
    return std::unexpected(*refusal);
  }
  auto joined = scope.join(wait);
  if (joined || (joined.error() != Refusal::timed_out && joined.error() != Refusal::stopped)) {
    return joined;
  }
  scope.request_stop();
  static_cast<void>(scope.join());  // Throws if something has gone wrong as well.
  return joined;
}

Lazy<std::expected<void, Refusal>> Pipeline::async_run() {
  const AtEnd closing([this] { close_all(); });
  const auto body = [this](Scope& scope) -> Lazy<> {
    if (auto refusal = start(scope)) {
      throw std::runtime_error("the pool refused the workers of a pipeline");
    }
    co_return;
  };
  ScopeOptions options;
  options.name = name_;
  options.deadline = deadline_;
  auto run_it = in_scope(body, options);
  co_return co_await std::move(run_it);
}

std::vector<StageStats> Pipeline::stats() const {
  std::vector<StageStats> all;
  for (const auto& stage : stages_) all.push_back(stage->stats());
  return all;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
