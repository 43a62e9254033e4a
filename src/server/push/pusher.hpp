// Works off the queues that say where their tasks are to be delivered (`deliver_to`), and tells those who want to know that a task has ended (`notify`).
//
//   const auto bell = std::make_shared<Event>();
//   api.on_settings([bell] { bell->set(); });                     // what it would find by itself within seconds
//   Pusher pusher(tasks, {.hosts = hosts, .notify_secret = secret, .bell = bell}, log);
//   ...
//   pusher.begin_to_stop();                                       // takes no more
//   pusher.finish();                                              // requests are answered, or given up and their tasks given back
//
// Each such queue has a courier (courier.hpp). Two servers of one store both deliver: each task is claimed once.
// Thread safety: any member, any thread; finish() once.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/thread.hpp"
#include "net/http_client.hpp"
#include "server/log.hpp"
#include "server/push/courier.hpp"
#include "server/push/push_hosts.hpp"
#include "tasks/store.hpp"

namespace handoff::server {

struct PusherOptions {
  PushHosts hosts{};
  std::string notify_secret{};  // Notices are signed with it; empty: they are not.
  // Requests at a time. A queue has a quarter of them at most: a receiver that hangs does not hold up others.
  std::size_t threads = 32;
  std::chrono::milliseconds grace = std::chrono::seconds(30);
  // How often it looks for what other processes have set.
  std::chrono::milliseconds period = std::chrono::seconds(2);
  std::shared_ptr<Event> bell =
      std::make_shared<Event>();  // Whoever sets it makes it look at once.
};

class Pusher {
 public:
  Pusher(tasks::Tasks tasks, PusherOptions options, Log& log);
  ~Pusher();

  void begin_to_stop();
  void finish();

 private:
  void run(const std::stop_token& stop);
  void look();
  void adopt_locked(const std::vector<tasks::DeliveringQueue>& wanted);
  void start_locked(const tasks::DeliveringQueue& wanted);
  std::vector<tasks::DeliveringQueue> wanted() const;

  const tasks::Tasks tasks_;
  const PusherOptions options_;
  Log& log_;
  net::HttpClient client_;
  WorkerPool pool_;
  const CourierMeans means_;
  std::string trouble_;  // The last, which is not said again. The thread's own.

  Mutex lock_{{.name = "couriers"}};
  // Guarded by lock_.
  bool is_stopping_ = false;
  std::map<std::string, std::unique_ptr<Courier>, std::less<>> couriers_;
  std::vector<std::unique_ptr<Courier>> leaving_;

  Thread thread_;  // Last: it uses all of the above.
};

}  // namespace handoff::server
