// Runs tasks: handlers by kind, so many at a time of each queue.
//
//   handoff::tasks::Worker worker{tasks, {.queues = {{"email", 20}, {"image", 4}}}};
//   worker.handle<WelcomeEmail>([&](const WelcomeEmail& mail, Context& context) { smtp.send(mail, context.stop()); });
//   worker.handle<Resize>([](const Resize& job, Context& context) -> Finish {
//     if (busy()) return Defer{10s};                     // later; costs no attempt
//     if (!exists(job.path)) return Fail{"no such photo"};   // dead now
//     return resized(job);                               // any described struct, stored as the result
//   });
//   worker.run(stop);                                    // until a stop is requested; then it gives back what it has not finished
//
// A handler that throws has failed: the task is tried again, as its queue says, until its attempts are used up. One that takes longer than the task's timeout is asked to
// stop, and has failed. A task of a kind that nobody here handles, or with a payload that cannot be read, fails too, with a message that says so: another version of the program may know it.
//
// While a handler runs, its lease is extended. A handler that was asked to stop because its time is over, and does not, loses its lease: the task is run again elsewhere.
//
// Thread safety: handle() before run(); the rest any thread. Handlers run on several threads at once.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "handoff/pool.hpp"
#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/tasks.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// What a handler may return besides its result.
struct Fail {
  std::string message;  // Dead at once, whatever attempts are left.
};
struct Defer {
  std::chrono::milliseconds later;  // Costs no attempt.
};
struct Cancel {
  std::string reason = {};
};

class Finish {
 public:
  Finish() = default;                                  // Done, without a result.
  Finish(Fail fail) : what_(std::move(fail)) {}        // NOLINT: each is a way to finish.
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

  const std::variant<Json, Fail, Defer, Cancel>& what() const { return what_; }

 private:
  std::variant<Json, Fail, Defer, Cancel> what_;
};

// What a handler knows of its task, and can say about it.
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

 private:
  friend class WorkerCore;
  struct Run;
  explicit Context(Run& run) : run_(run) {}
  std::string input_text(std::string_view step) const;
  [[noreturn]] static void throw_unreadable(std::string_view step, const JsonError& error);
  Run& run_;
};

struct WorkerQueue {
  std::string name;
  int concurrency = 1;
};

struct WorkerOptions {
  std::vector<WorkerQueue> queues;
  std::string name = {};                  // How the store calls it; otherwise host and process.
  std::chrono::milliseconds lease_for{};  // 0: as each queue says.
  WorkerPool* pool =
      nullptr;  // Where handlers run; otherwise on one of its own, with a thread for each at a time.
};

struct WorkerReport {
  std::size_t done = 0;
  std::size_t failed = 0;
  std::size_t deferred = 0;
  std::size_t given_back = 0;  // Unfinished when it stopped.
  std::size_t stale = 0;       // Came too late: the lease was lost.
};

class WorkerCore;

class Worker {
 public:
  // Throws std::invalid_argument if an option makes no sense.
  Worker(Tasks tasks, WorkerOptions options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();  // Stops, and waits for handlers that run.

  // `handler(payload, context)` returns a Finish, or anything that is one.
  void handle(std::string kind, std::function<Finish(const Json&, Context&)> handler);
  template <typename T, typename Handler>
  void handle(Handler handler) {
    handle(
        kind_of<T>(), [handler = std::move(handler)](const Json& json, Context& context) -> Finish {
          auto payload = from_json<T>(json.text());
          if (!payload)
            throw std::runtime_error("its payload cannot be read: " + payload.error().to_string());
          if constexpr (std::is_void_v<std::invoke_result_t<const Handler&, const T&, Context&>>) {
            handler(*payload, context);
            return {};
          } else {
            return handler(*payload, context);
          }
        });
  }

  // Takes tasks until a stop is requested; then handlers are asked to stop and have `grace` to end. What is not finished by then goes back to its queue, and costs no attempt.
  WorkerReport run(const std::stop_token& stop,
                   std::chrono::milliseconds grace = std::chrono::seconds(30));
  // Until there is nothing left to do now: for tests, and for scripts.
  WorkerReport run_until_idle();

 private:
  std::unique_ptr<WorkerCore> core_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
