// Invariants of the pool:
// - Who holds a permit of room_ has been let in; who holds one of places_ as well has a process or is about to. There are
//   `capacity` more of the former, so that many can wait for a place.
// - A caller counts as inside from its first step to its last. The state outlives them all, because each holds it.
//
// The end, in this order: 1. closing_ refuses newcomers and those who wait for room; 2. stopping_ ends those who wait for a
// place, and those who have a process; 3. the destructor waits until nobody is inside.
#include "handoff/process_pool.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <stop_token>

#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/pool/process_launch.hpp"
#include "handoff/detail/pool/process_run.hpp"
#include "handoff/monitor.hpp"
#include "handoff/semaphore.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail::process {

namespace {

// A token that is stopped when one of two is.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : first_(one, Request{&source_}), second_(other, Request{&source_}) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    std::stop_source* source;
    void operator()() const noexcept { source->request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Request> first_;
  std::stop_callback<Request> second_;
};

std::string part_of(std::string_view name, std::string_view part) {
  return name.empty() ? std::string() : fmt::format("{}.{}", name, part);
}

ProcessPoolOptions validated(const ProcessPoolOptions& options) {
  constexpr std::size_t most = (std::size_t{1} << 31) - 1;
  if (options.processes == 0 || options.processes > most) {
    throw std::invalid_argument(
        fmt::format("processes must be 1 to {}, got {}", most, options.processes));
  }
  if (options.capacity > most - options.processes) {
    throw std::invalid_argument(fmt::format("capacity must be at most {} with {} processes, got {}",
                                            most - options.processes, options.processes,
                                            options.capacity));
  }
  if (options.when_full != WhenFull::block && options.when_full != WhenFull::reject) {
    throw std::invalid_argument(
        "when_full must be block or reject: a dropping policy has nothing to drop here");
  }
  return options;
}

}  // namespace

class PoolState {
 public:
  explicit PoolState(const ProcessPoolOptions& options)
      : when_full_(options.when_full),
        room_({.permits = options.processes + options.capacity,
               .name = part_of(options.name, "room")}),
        places_({.permits = options.processes, .name = part_of(options.name, "place")}),
        inside_(MonitorOptions{.name = part_of(options.name, "callers")}, std::size_t{0}),
        nobody_inside_(inside_, "left") {}

  std::expected<ProcessResult, Refusal> run(const ProcessCommand& command, const Wait& wait,
                                            std::source_location where) {
    const Inside inside(*this);
    if (auto entered = enter(wait, where); !entered) return refused(entered.error());
    const Permits room(room_, 1);
    return run_when_there_is_a_place(command, wait, where);
  }

  void close() { closing_.request_stop(); }
  bool is_closed() const { return closing_.stop_requested(); }
  void stop() {
    close();
    stopping_.request_stop();
  }

  void wait_until_nobody_is_inside() {
    auto inside = inside_.lock();
    static_cast<void>(
        inside.wait(nobody_inside_, [](const std::size_t& count) { return count == 0; }));
  }

  ProcessPoolStats stats() const;

 private:
  class Inside {
   public:
    explicit Inside(PoolState& state) : state_(state) { ++*state_.inside_.lock(); }
    ~Inside() {
      auto inside = state_.inside_.lock();
      if (--*inside == 0) inside.notify_all(state_.nobody_inside_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    PoolState& state_;
  };
  // Holds a place for as long as it lives, and counts it.
  class Place {
   public:
    explicit Place(PoolState& state) : state_(state) {
      SmallGuard guard(state_.lock_);
      ++state_.counts_.running;
      state_.counts_.high_water = std::max(state_.counts_.high_water, state_.counts_.running);
    }
    ~Place() {
      {
        SmallGuard guard(state_.lock_);
        --state_.counts_.running;
      }
      state_.places_.release();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    PoolState& state_;
  };

  std::expected<void, Refusal> enter(const Wait& wait, std::source_location where);
  std::expected<ProcessResult, Refusal> run_when_there_is_a_place(const ProcessCommand& command,
                                                                  const Wait& wait,
                                                                  std::source_location where);
  std::unexpected<Refusal> refused(Refusal refusal);
  void count(const std::expected<ProcessResult, Refusal>& result);

  const WhenFull when_full_;
  std::stop_source closing_;
  std::stop_source stopping_;
  Semaphore room_;
  Semaphore places_;
  Monitor<std::size_t> inside_;
  Condition nobody_inside_;
  mutable SmallLock lock_;
  // Guarded by lock_.
  ProcessPoolStats counts_;
};

std::expected<void, Refusal> PoolState::enter(const Wait& wait, std::source_location where) {
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  if (is_closed()) return std::unexpected(Refusal::closed);
  if (room_.try_acquire()) return {};
  if (when_full_ == WhenFull::reject) return std::unexpected(Refusal::full);
  const EitherStop stop(wait.stop, closing_.get_token());
  auto entered = room_.acquire({.deadline = wait.deadline, .stop = stop.token()}, where);
  const bool was_closed =
      !entered && entered.error() == Refusal::stopped && !wait.stop.stop_requested();
  if (was_closed) return std::unexpected(Refusal::closed);
  return entered;
}

std::expected<ProcessResult, Refusal> PoolState::run_when_there_is_a_place(
    const ProcessCommand& command, const Wait& wait, std::source_location where) {
  const EitherStop stop(wait.stop, stopping_.get_token());
  const Wait either{.deadline = wait.deadline, .stop = stop.token()};
  if (auto taken = places_.acquire(either, where); !taken) return refused(taken.error());
  const Place place(*this);
  // A process takes time, however quick: what would only be killed is not started.
  if (wait.deadline.has_passed()) return refused(Refusal::timed_out);
  auto result = run_to_the_end(command, either);
  count(result);
  return result;
}

std::unexpected<Refusal> PoolState::refused(Refusal refusal) {
  SmallGuard guard(lock_);
  ++counts_.refused;
  return std::unexpected(refusal);
}

void PoolState::count(const std::expected<ProcessResult, Refusal>& result) {
  SmallGuard guard(lock_);
  if (!result) {
    ++counts_.cancelled;
  } else if (result->end == ProcessEnd::could_not_start) {
    ++counts_.could_not_start;
  } else if (result->end == ProcessEnd::timed_out) {
    ++counts_.timed_out;
  } else {
    ++(result->succeeded() ? counts_.succeeded : counts_.failed);
  }
}

ProcessPoolStats PoolState::stats() const {
  const std::size_t waiting = room_.stats().waiting_consumers + places_.stats().waiting_consumers;
  SmallGuard guard(lock_);
  ProcessPoolStats stats = counts_;
  stats.waiting = waiting;
  return stats;
}

}  // namespace detail::process

using detail::process::PoolState;

ProcessPool::ProcessPool(ProcessPoolOptions options)
    : state_(std::make_shared<PoolState>(detail::process::validated(options))) {}

ProcessPool::~ProcessPool() {
  state_->stop();
  state_->wait_until_nobody_is_inside();
}

std::expected<ProcessResult, Refusal> ProcessPool::run(const ProcessCommand& command,
                                                       const Wait& wait,
                                                       std::source_location where) {
  detail::process::validate(command);
  const auto state = state_;  // The destructor may end as soon as this caller has left.
  return state->run(command, wait, where);
}

void ProcessPool::close() { state_->close(); }
bool ProcessPool::is_closed() const { return state_->is_closed(); }
void ProcessPool::stop_all() { state_->stop(); }
ProcessPoolStats ProcessPool::stats() const { return state_->stats(); }

}  // namespace handoff::inline HANDOFF_FLAVOUR
