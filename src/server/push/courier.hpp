// Delivers the tasks of one queue: a worker whose handler POSTs them.
//
// Where to is asked for each of them, so that a change of it counts from the next one on, and stops nobody. What is asked for at a time has a limit, and so has what all couriers
// ask for together: they share the threads of a pool.
//
// When it stops, it takes no more tasks; requests that are under way may be answered within `grace`. What is not answered then is given back, at no cost.
// Thread safety: any member, any thread.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/tasks/handler.hpp"
#include "handoff/tasks/queue.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/thread.hpp"
#include "net/http_client.hpp"
#include "server/log.hpp"
#include "server/push/parcel.hpp"
#include "server/push/push_hosts.hpp"

namespace handoff::server {

// What couriers share.
struct CourierMeans {
  net::HttpClient& client;
  WorkerPool& pool;
  const PushHosts& hosts;
  Log& log;
  int at_a_time;  // Requests of one of them.
  std::chrono::milliseconds grace;
  std::function<void()> has_ended;  // Called when one has stopped, by a thread of its own.
};

class Courier {
 public:
  // For the queue of notices the URL is each task's own, and `delivery` has the rest.
  Courier(tasks::Tasks tasks, std::string queue, tasks::Delivery delivery,
          const CourierMeans& means);
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;
  ~Courier();  // Stops, and waits for that.

  void change(const tasks::Delivery& delivery);
  void begin_to_stop();
  bool has_ended() const { return has_ended_; }
  const std::string& queue() const { return queue_; }

 private:
  void run(const std::stop_token& stop);
  tasks::Finish deliver(const tasks::Json& payload, const tasks::Context& context,
                        const std::stop_token& stopping);

  const tasks::Tasks tasks_;
  const std::string queue_;
  const CourierMeans& means_;
  std::stop_source give_up_;  // Requests that are not answered yet.
  handoff::detail::atomic<bool> has_ended_{false};
  Mutex lock_{{.name = "where tasks are delivered to"}};
  tasks::Delivery delivery_;  // Guarded by lock_.
  Thread thread_;             // Last: it uses all of the above.
};

}  // namespace handoff::server
