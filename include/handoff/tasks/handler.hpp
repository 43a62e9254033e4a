// What a handler of tasks gets, and what it may return.
//
//   worker.handle<Resize>([](const Resize& job, Context& context) -> Finish {
//     if (busy()) return Defer{10s};                         // later; costs no attempt
//     if (is_throttled()) return Retry{1min, "429"};         // failed; tried again in a minute, if attempts are left
//     if (!exists(job.path)) return Fail{"no such photo"};   // dead now
//     context.log("reading " + job.path);                    // kept with the task: tasks.log(id)
//     return resized(job);                                   // any described struct, stored as the result
//   });
//
// One that waits much may be a coroutine, which holds no thread meanwhile. What it awaits ends with `stopped` when it is asked to stop:
//
//   worker.handle<Fetch>([&](Fetch job, Context& context) -> handoff::Lazy<Finish> {
//     auto page = co_await http.get(job.url);
//     if (!page) co_return Retry{10s, "no answer"};
//     co_return *page;
//   });
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "handoff/lazy.hpp"
#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/retry.hpp"
#include "handoff/tasks/task_id.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// -- What it may return besides its result --------------------------------------------------------

struct Fail {
  std::string message;  // Dead at once, whatever attempts are left.
};
struct Retry {
  std::chrono::milliseconds after;  // It has failed, and is tried again then: if attempts are left.
  std::string message = {};
};
struct Defer {
  std::chrono::milliseconds later;  // Costs no attempt.
};
struct Cancel {
  std::string reason = {};
};

// The same as a Retry, for who cannot return: thrown by what a handler calls.
class RetryAfter : public std::runtime_error {
 public:
  explicit RetryAfter(std::chrono::milliseconds time, const std::string& message = {})
      : std::runtime_error(message), after(time) {}
  std::chrono::milliseconds after;
};

class Finish {
 public:
  using What = std::variant<Json, Fail, Retry, Defer, Cancel>;

  Finish() = default;                                  // Done, without a result.
  Finish(Fail fail) : what_(std::move(fail)) {}        // NOLINT: each is a way to finish.
  Finish(Retry retry) : what_(std::move(retry)) {}     // NOLINT
  Finish(Defer defer) : what_(defer) {}                // NOLINT
  Finish(Cancel cancel) : what_(std::move(cancel)) {}  // NOLINT
  Finish(Json result) : what_(std::move(result)) {}    // NOLINT
  template <typename T>
    requires requires(const T& result) { to_json(result); }
  Finish(const T& result) {  // NOLINT
    auto json = to_json(result);
    if (json) {
      what_ = std::move(*json);
    } else {
      what_ = Fail{"its result cannot be written as JSON: " + json.error().to_string()};
    }
  }

  const What& what() const { return what_; }

 private:
  What what_;
};

// -- What it gets ---------------------------------------------------------------------------------

// What a handler knows of its task, and can say about it. Any thread, while the handler runs.
class Context {
 public:
  const TaskId& id() const;
  const std::string& queue() const;
  const std::string& kind() const;
  int attempt() const;  // From 1 on.
  int max_attempts() const;
  const std::string& group() const;
  const std::string& trace() const;
  // Requested if the task is cancelled, takes too long, has lost its lease, or the worker shuts down.
  std::stop_token stop() const;
  // 0 to 1. Stored with the next heartbeat, or after a second: call it as often as you like.
  void progress(double fraction, std::string_view note = {});
  // Kept with the task, through all of its attempts: the last 1000 lines, of up to 4 KiB each. Stored as progress is, or with the outcome.
  void log(std::string_view line);
  // The worker extends leases by itself. Before a step in which it may not come to that, since all the process is held up, ask for more time: nobody else gets the task before
  // that has passed. False if the lease is lost, or the task's time is over: then nothing that the handler says counts. Returns after a commit. Throws std::invalid_argument
  // unless from 1 s to 1 day, std::runtime_error if the store cannot be written now.
  [[nodiscard]] bool extend(std::chrono::milliseconds time);

  // What a step before this one has returned, also one further up. By its name; by its id, if it is no step of a workflow. Throws std::runtime_error if
  // there is none of that name before this one, or if it is no T.
  template <typename T>
  T input(std::string_view step) const {
    auto result = from_json<T>(input_text(step));
    if (!result) throw_unreadable(step, result.error());
    return *std::move(result);
  }
  // All of them.
  std::map<std::string, Json> inputs() const;

  struct Run;  // The worker's own.

 private:
  friend class WorkerCore;
  explicit Context(Run& run) : run_(run) {}
  std::string input_text(std::string_view step) const;
  [[noreturn]] static void throw_unreadable(std::string_view step, const JsonError& error);
  Run& run_;
};

// -- How it is run --------------------------------------------------------------------------------

struct HandlerOptions {
  std::optional<RetryPolicy> retry{};  // For tasks of its kind; nothing: as their queue says.
  int max_attempts = 0;  // No more than so many, whatever the task says; 0: as the task says.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
