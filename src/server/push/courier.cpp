#include "server/push/courier.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "handoff/tasks/notify.hpp"
#include "handoff/tasks/worker.hpp"
#include "tasks/core.hpp"

namespace handoff::server {

namespace {

struct Notice {
  std::string url;
  tasks::Json task;
};
BOOST_DESCRIBE_STRUCT(Notice, (), (url, task))

Notice read_notice(const tasks::Json& payload) {
  auto notice = tasks::from_json<Notice>(payload);
  if (!notice) throw std::runtime_error("this is no notice: " + notice.error().to_string());
  return *std::move(notice);
}

}  // namespace

Courier::Courier(tasks::Tasks tasks, std::string queue, tasks::Delivery delivery,
                 const CourierMeans& means)
    : tasks_(std::move(tasks)),
      queue_(std::move(queue)),
      means_(means),
      delivery_(std::move(delivery)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Courier::~Courier() {
  begin_to_stop();
  thread_.join();
}

void Courier::begin_to_stop() { thread_.request_stop(); }

void Courier::change(const tasks::Delivery& delivery) {
  const auto turn = lock_.hold();
  delivery_ = delivery;
}

void Courier::run(const std::stop_token& stop) {
  try {
    tasks::Worker worker{tasks_,
                         {.queues = {{queue_, means_.at_a_time}},
                          .name = fmt::format("push/{}/{}", ::getpid(), queue_),
                          .pool = &means_.pool}};
    worker.handle_any([this, stop](const tasks::Json& payload, const tasks::Context& context) {
      return deliver(payload, context, stop);
    });
    worker.run(stop, means_.grace);
    give_up_.request_stop();  // What it has given back may be claimed by others now.
  } catch (const std::exception& error) {
    means_.log.error("a queue is not delivered", {{"queue", queue_}, {"why", error.what()}});
  }
  has_ended_ = true;
  if (stop.stop_requested()) means_.has_ended();  // Otherwise it is tried again, but not at once.
}

tasks::Finish Courier::deliver(const tasks::Json& payload, const tasks::Context& context,
                               const std::stop_token& stopping) {
  const tasks::Delivery delivery = [&] {
    const auto turn = lock_.hold();
    return delivery_;
  }();
  Notice notice{.url = delivery.url, .task = payload};
  if (queue_ == tasks::notify_queue) notice = read_notice(payload);
  // Once more: it may come from another time, or from somebody else who writes to the store.
  if (const auto why = means_.hosts.refusal(notice.url)) {
    throw std::runtime_error("the URL " + *why);
  }
  // Who stops lets an answer come that is on its way. Who is late, or was cancelled, does not wait for it.
  std::stop_source stop;
  const std::stop_callback at_last(give_up_.get_token(), [&] { stop.request_stop(); });
  const std::stop_callback at_once(context.stop(), [&] {
    if (!stopping.stop_requested()) stop.request_stop();
  });
  const auto now = tasks::TasksAccess::core(tasks_).clock().now();
  return post(means_.client,
              {.url = std::move(notice.url),
               .timeout = delivery.timeout,
               .secret = delivery.secret,
               .body = notice.task.text()},
              context, now, stop.get_token());
}

}  // namespace handoff::server
