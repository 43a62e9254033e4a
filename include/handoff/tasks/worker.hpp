// Runs tasks: handlers by kind, so many at a time of each queue.
//
//   handoff::tasks::Worker worker{tasks, {.queues = {{"email", 20}, {"image", 4}}}};
//   worker.handle<WelcomeEmail>([&](const WelcomeEmail& mail, Context& context) { smtp.send(mail, context.stop()); });
//   worker.handle<Resize>([](const Resize& job, Context& context) -> Finish { ... });     // what it may say: handler.hpp
//   worker.run(stop);                                    // until a stop is requested; then it gives back what it has not finished
//
// A handler that throws has failed: the task is tried again, as its queue or the handler's options say, until its attempts are used up. One that takes longer than the task's timeout is asked to
// stop, and has failed. A task of a kind that nobody here handles, or with a payload that cannot be read, fails too, with a message that says so: another version of the program may know it.
//
// While a handler runs, its lease is extended. One that was asked to stop because its time is over, and does not within a third of its lease, has failed all the same: what it says no longer counts. It may still run while the
// task is tried again. One that returns although it is late is done.
//
// Handlers that are coroutines count as the others do, and hold a thread only while they run: 10,000 of them wait on two threads.
//
//   Worker worker{tasks, {.queues = {{"fetch", 10'000}}, .threads = 2}};
//   worker.handle<Fetch>([&](Fetch job, Context& context) -> handoff::Lazy<Finish> { ... co_await ... });
//
// Versions. A payload that changes in a way that payload.hpp does not forgive is another kind: "resize/2" beside "resize/1", by struct ResizeV2 { static constexpr auto kind = "resize/2"; }. Handle both while
// tasks of both are there. A worker that meets a newer one says: no handler for kind "resize/3"; this worker knows resize/1, resize/2.
//
// Thread safety: handle() before run(); run() one thread at a time. Handlers run on several threads at once.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "handoff/detail/tasks/task_handler.hpp"
#include "handoff/pool.hpp"
#include "handoff/tasks/handler.hpp"
#include "handoff/tasks/tasks.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

struct WorkerQueue {
  std::string name;
  int concurrency = 1;  // From 1 to 10000.
};

struct WorkerOptions {
  std::vector<WorkerQueue> queues;
  std::string name = {};                  // How the store calls it; otherwise host and process.
  std::chrono::milliseconds lease_for{};  // 0: as each queue says.
  // Where handlers run; otherwise on one of its own. What it has no room for is given back. If it is shut down, handlers are asked to stop.
  WorkerPool* pool = nullptr;
  std::size_t threads = 0;  // Of its own pool; 0: one for each handler at a time, up to 1000.
  // On the thread that calls run(), one after the other, in the order in which they are claimed: for tests. Meanwhile nobody extends leases or looks at timeouts.
  bool runs_inline = false;
};

struct WorkerReport {
  std::size_t done = 0;
  std::size_t failed = 0;
  std::size_t deferred = 0;
  std::size_t cancelled = 0;   // By their handler, or by somebody while they ran.
  std::size_t given_back = 0;  // Unfinished when it stopped, or refused by a pool.
  std::size_t stale = 0;       // Came too late: the lease was lost.
};

class WorkerCore;

class Worker {
 public:
  // Throws std::invalid_argument if an option makes no sense.
  Worker(Tasks tasks, WorkerOptions options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();  // Asks handlers that still run to stop, and waits for them.

  // `handler(json, context)` returns nothing, a Finish, anything that is one, or a Lazy of these. Throws std::invalid_argument if the kind or an option makes no sense, or the kind has one already.
  template <typename Handler>
    requires std::invocable<const Handler&, const Json&, Context&>
  void handle(std::string kind, Handler handler, HandlerOptions options = {}) {
    add(std::move(kind), detail::handler_of(std::move(handler), std::move(options)));
  }
  // The same with a payload of type T, for kind_of<T>().
  template <typename T, typename Handler>
    requires std::invocable<const Handler&, T, Context&>
  void handle(Handler handler, HandlerOptions options = {}) {
    add(kind_of<T>(), detail::typed_handler_of<T>(std::move(handler), std::move(options)));
  }
  // For tasks of all kinds that have no handler of their own here; context.kind() says which. Throws std::invalid_argument if there is one already, or an option makes no sense.
  template <typename Handler>
    requires std::invocable<const Handler&, const Json&, Context&>
  void handle_any(Handler handler, HandlerOptions options = {}) {
    add_any(detail::handler_of(std::move(handler), std::move(options)));
  }

  // Takes tasks until a stop is requested; then handlers are asked to stop and have `grace` to end. What is not finished by then goes back to its queue, and costs no attempt.
  WorkerReport run(const std::stop_token& stop,
                   std::chrono::milliseconds grace = std::chrono::seconds(30));
  // Until there is nothing left to do now: for tests, and for scripts.
  WorkerReport run_until_idle();
  // The same; a stop ends it earlier, as it ends run().
  WorkerReport run_until_idle(const std::stop_token& stop,
                              std::chrono::milliseconds grace = std::chrono::seconds(30));

 private:
  void add(std::string kind, detail::TaskHandler handler);
  void add_any(detail::TaskHandler handler);

  std::unique_ptr<WorkerCore> core_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
