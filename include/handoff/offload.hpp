// Pushes CPU work off a thread that must not be held up: an event loop, a coroutine's executor, a user interface.
//
//   handoff::offload(pool, [photo] { return resize(photo); },
//                    [&](handoff::Job job) { loop.post(std::move(job)); },                  // how to get back
//                    [](std::expected<Image, std::exception_ptr> image) { show(image); });  // on the loop again
//
//   auto image = handoff::offload(pool, [photo] { return resize(photo); });   // or as a Future, to be waited for
//
// The last function is called exactly once if the work was accepted, with the result, with what the work threw, or, if the
// pool was shut down before it began, with an OffloadAbandoned; and never if it was refused.
#pragma once

#include <exception>
#include <expected>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "handoff/log.hpp"
#include "handoff/pool.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// The work never began: its pool was shut down, or it was dropped.
class OffloadAbandoned : public std::runtime_error {
 public:
  OffloadAbandoned() : std::runtime_error("the pool was shut down before the work began") {}
};

// What the work returned, or threw.
template <typename R>
using Offloaded = std::expected<R, std::exception_ptr>;

namespace detail {

template <typename F, typename Back, typename Done>
class OffloadJob {
  using R = JobResult<F>;
  struct Parts {
    F work;
    Back back;
    Done done;
  };

 public:
  template <typename A, typename B, typename C>
  OffloadJob(A&& work, B&& back, C&& done)
      : parts_(Parts{std::forward<A>(work), std::forward<B>(back), std::forward<C>(done)}) {}
  OffloadJob(OffloadJob&& other) noexcept(std::is_nothrow_move_constructible_v<Parts>)
      : parts_(std::exchange(other.parts_, std::nullopt)) {}
  OffloadJob& operator=(OffloadJob&&) = delete;
  ~OffloadJob() {
    if (!parts_) return;
    try {
      deliver(Offloaded<R>(std::unexpect, std::make_exception_ptr(OffloadAbandoned())));
    } catch (...) {
      log_line("offload: an abandoned job could not be delivered");  // A destructor has no caller.
    }
  }

  void operator()(const std::stop_token& stop) { deliver(result(stop)); }

 private:
  Offloaded<R> result(const std::stop_token& stop) {
    std::exception_ptr error;
    try {
      if constexpr (std::is_void_v<R>) {
        call_job(parts_->work, stop);
        return Offloaded<R>(std::in_place);
      } else {
        return Offloaded<R>(std::in_place, call_job(parts_->work, stop));
      }
    } catch (...) {
      error = std::current_exception();
    }
    return Offloaded<R>(std::unexpect, std::move(error));
  }
  void deliver(Offloaded<R>&& result) {
    Parts parts = *std::exchange(parts_, std::nullopt);
    parts.back(Job([done = std::move(parts.done), result = std::move(result)]() mutable {
      done(std::move(result));
    }));
  }

  std::optional<Parts> parts_;
};

}  // namespace detail

// As pool.submit(): the result is in the future. Refused as submit() is.
template <JobFunction F>
[[nodiscard]] auto offload(WorkerPool& pool, F&& work, const Wait& wait = {},
                           std::source_location where = std::source_location::current()) {
  return pool.submit(std::forward<F>(work), wait, where);
}

// Runs `work` on the pool; then `back` gets a Job there, which it has to run on the thread that wants the result; the job
// calls `done` with it. Refused as post() is.
template <JobFunction F, typename Back, typename Done>
  requires std::invocable<std::decay_t<Back>&, Job>
[[nodiscard]] std::expected<void, Refusal> offload(
    WorkerPool& pool, F&& work, Back&& back, Done&& done, const Wait& wait = {},
    std::source_location where = std::source_location::current()) {
  using Stored = detail::OffloadJob<std::decay_t<F>, std::decay_t<Back>, std::decay_t<Done>>;
  auto make = [&](Job* place) {
    std::construct_at(
        place, Stored(std::forward<F>(work), std::forward<Back>(back), std::forward<Done>(done)),
        where);
  };
  if (auto refusal = detail::PoolAccess::core(pool).add(make, wait,
                                                        {.operation = "offload", .where = where})) {
    return std::unexpected(*refusal);
  }
  return {};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
