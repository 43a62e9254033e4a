#include "handoff/detail/pool/pool_core.hpp"

#include <fmt/core.h>

#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

const PoolOptions& checked(const PoolOptions& options) {
  const auto refuse = [](std::string what) { throw std::invalid_argument(std::move(what)); };
  if (options.workers < 1 || options.workers > PoolCore::most_workers) {
    refuse(fmt::format("workers must be from 1 to {}, got {}", PoolCore::most_workers,
                       options.workers));
  }
  if (options.spares > PoolCore::most_spares) {
    refuse(fmt::format("spares must be at most {}, got {}", PoolCore::most_spares, options.spares));
  }
  if (!(options.rate.per_second >= 0)) {
    refuse(fmt::format("rate must be 0 (no limit) or positive, got {} per second",
                       options.rate.per_second));
  }
  return options;
}

}  // namespace

PoolCore::PoolCore(const PoolOptions& options, PoolHooks hooks)
    : Primitive("WorkerPool", checked(options).name),
      prefix_(options.name.empty() ? "worker" : options.name),
      when_full_(options.when_full),
      hooks_(std::move(hooks)),
      most_spares_(options.spares),
      claim_size_(options.rate.per_second > 0 ? 1 : Worker::claim_size),
      idle_(*this),
      queue_(*this, workers_, idle_, options.capacity),
      timers_(std::make_shared<PoolTimers>(*this, options.timers)),
      drops_(*this),
      most_coroutines_(options.coroutines),
      target_(options.workers),
      reserve_(*this) {
  if (options.rate.per_second > 0) {
    limiter_.emplace(RateLimiterOptions{.rate = options.rate, .burst = options.rate_burst});
  }
  enter_if_named();
  try {
    alive_ = target_;
    for (std::size_t i = 0; i < target_; ++i) start_worker();
  } catch (...) {
    {
      SmallGuard guard(crew_lock_);
      alive_ =
          workers_.size() - free_records_.size();  // Without those that were not tried any more.
      if (alive_ == 0) all_gone_.set();
    }
    queue_.close();
    end();
    static_cast<void>(all_gone_.wait());
    join_threads();
    retire();
    throw;
  }
}

std::uint64_t PoolCore::finished() const {
  std::uint64_t sum = ran_early_.load(relaxed);  // Counters only.
  for (std::size_t i = 0; i < workers_.size(); ++i) sum += workers_[i].finished.load(relaxed);
  return sum;
}

Duration PoolCore::busy_time() const {
  Duration::rep sum = 0;
  const auto at = now().time_since_epoch().count();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto since =
        workers_[i].busy_since.load(relaxed);  // For the stats; the two may not belong together.
    sum += workers_[i].busy.load(relaxed) + (since == 0 ? 0 : at - since);
  }
  return Duration(sum);
}

void PoolCore::note_arrivals(TimePoint at) {
  // Counters only.
  arrivals_.note(at, queue_.accepted() + refused_.load(relaxed) + drops_.total());
}

std::optional<Advice> PoolCore::advice(const AdviceQuestion& question) const {
  PoolMeasurements measured{.label = label(),
                            .finished = finished(),
                            .busy = busy_time(),
                            .peak_arrivals = arrivals_.peak()};
  {
    SmallGuard guard(crew_lock_);
    measured.workers = target_;
  }
  return advise(measured, question);
}

PoolStats PoolCore::pool_stats() const {
  PoolStats stats{.idle = idle_.totals().waiting,
                  .queued = queue_.size(),
                  .capacity = queue_.capacity(),
                  .high_water = queue_.high_water(),
                  .accepted = queue_.accepted(),
                  .timed = timers_->runs(),
                  .finished = finished(),
                  .refused = refused_.load(relaxed),  // A counter only.
                  .dropped = drops_.total(),
                  .timers = timers_->armed(),
                  .coroutines = coroutines()};
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    stats.spawned += workers_[i].spawned.load(relaxed);  // Counters only.
    stats.failed += workers_[i].failed.load(relaxed);
  }
  SmallGuard guard(crew_lock_);
  stats.workers = target_;
  stats.threads = alive_;
  stats.blocked = blocked_;
  stats.spare_limit_hits = limit_hits_;
  return stats;
}

Stats PoolCore::stats() const {
  const auto producers = queue_.producers();
  const auto idle = idle_.totals();
  return {.size = queue_.size(),
          .capacity = queue_.capacity(),
          .high_water = queue_.high_water(),
          .puts = queue_.accepted(),
          .takes = queue_.started(),
          .refused = refused_.load(relaxed),  // A counter only.
          .dropped = drops_.total(),
          .waiting_producers = producers.waiting,
          .waiting_consumers = idle.waiting,
          .producer_waits = producers.waits,
          .consumer_waits = idle.waits,
          .producers_blocked = producers.blocked,
          .consumers_blocked = idle.blocked};
}

void PoolCore::report_waits(std::vector<WaitInfo>& waits) const {
  queue_.report(waits);
  idle_.report(waits);
  reserve_.report(waits);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
