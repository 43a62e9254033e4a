#include "server/demo/demo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/thread.hpp"
#include "server/demo/burst.hpp"
#include "server/demo/chance.hpp"
#include "server/demo/offers.hpp"
#include "server/demo/workers.hpp"

namespace handoff::server {

namespace {

using namespace std::chrono_literals;
using tasks::TaskError;

constexpr int sms_at_once = 20;
constexpr int payments_at_once = 5;

constexpr auto all_things = std::to_array<Demo::Thing>({
    {"email", "Send an e-mail",
     "One task, done within a moment. Now and then the mail server does not answer, and it is "
     "tried again.",
     "email"},
    {"image", "Upload pictures", "Four pictures of one customer, made smaller two at a time.",
     "image"},
    {"report", "Make a report", "Five seconds of work that say how far they are.", "reports"},
    {"flaky", "Charge five cards",
     "The bank fails two of three times: watch the retries. One card has expired: after three "
     "attempts it is a dead letter.",
     "payments"},
    {"limited", "Send twenty text messages",
     "The queue may start two a second. Ask one of those that wait why it is not running.", "sms"},
    {"workflow", "Place an order",
     "Five steps that depend on each other, two of them side by side.", "orders"},
    {"burst", "Fire 50,000 clicks",
     "Within five seconds, at a queue with room for 1,000: it takes what it can, refuses the rest, "
     "and stays up.",
     "clicks"},
});

}  // namespace

struct Demo::Parts {
  explicit Parts(tasks::Tasks store) : tasks(std::move(store)) {}

  // A customer signs up, uploads some pictures, pays and gets a message; now and then somebody wants a report or orders something.
  void shop(const std::stop_token& stop) {
    while (demo::pass(std::chrono::milliseconds(200 + demo::up_to(600)), stop)) {
      const int customer = ++customers;
      enqueue(demo::email(customer));
      for (int i = demo::up_to(3); i > 0; --i) enqueue(demo::picture(customer));
      if (customer % 4 == 0) enqueue(demo::payment(customer % 40 == 0));
      if (customer % 3 == 0) enqueue(demo::text_message(customer));
      if (customer % 20 == 5) enqueue(demo::report());
      if (customer % 15 == 2) static_cast<void>(tasks.start(demo::order(customer)));
    }
  }
  // A full queue is something to look at, too.
  void enqueue(const tasks::NewTask& task) { static_cast<void>(tasks.enqueue(task)); }

  std::expected<Started, TaskError> give(std::string message,
                                         const std::vector<tasks::NewTask>& all) {
    const auto enqueued = tasks.enqueue(all);
    if (!enqueued) return std::unexpected(enqueued.error());
    Started started{.message = std::move(message), .tasks = {}, .workflow = {}};
    for (const auto& each : *enqueued) started.tasks.push_back(each.id);
    return started;
  }
  std::expected<Started, TaskError> give_order() {
    const auto order = tasks.start(demo::order(++customers));
    if (!order) return std::unexpected(order.error());
    Started started{.message = "an order of five steps", .tasks = {}, .workflow = order->id};
    for (const auto& [step, id] : order->tasks) started.tasks.push_back(id);
    return started;
  }
  std::expected<Started, TaskError> fire() {
    if (burst->start()) {
      return Started{
          .message = fmt::format("{} clicks, for a queue with room for 1000", demo::Burst::clicks),
          .tasks = {},
          .workflow = {}};
    }
    return std::unexpected(TaskError{.code = TaskError::Code::conflict,
                                     .message = "a burst goes on; wait until it is over",
                                     .field = {}});
  }

  const tasks::Tasks tasks;
  detail::atomic<int> customers{0};
  std::optional<demo::Burst> burst;
  std::optional<tasks::Worker> worker;
  Thread works;
  Thread sells;
};

Demo::Demo(tasks::Tasks tasks) : parts_(std::make_unique<Parts>(std::move(tasks))) {}
Demo::~Demo() { end(); }

void Demo::prepare() {
  parts_->burst.emplace(parts_->tasks);
  demo::configure_queues(parts_->tasks);
}

void Demo::begin() {
  Parts& parts = *parts_;
  parts.worker.emplace(parts.tasks, demo::worker_options());
  demo::add_handlers(*parts.worker);
  parts.works = Thread([&parts](const std::stop_token& stop) { parts.worker->run(stop, 2s); });
  parts.sells = Thread([&parts](const std::stop_token& stop) { parts.shop(stop); });
}

void Demo::end() {
  if (parts_->burst) parts_->burst->end();
  parts_->sells = Thread();
  parts_->works = Thread();
}

std::span<const Demo::Thing> Demo::things() { return all_things; }

std::expected<Demo::Started, TaskError> Demo::start(std::string_view name) {
  Parts& parts = *parts_;
  if (name == "email") return parts.give("one e-mail", {demo::email(++parts.customers)});
  if (name == "image") {
    return parts.give("four pictures", std::vector(4, demo::picture(++parts.customers)));
  }
  if (name == "report") return parts.give("a report", {demo::report()});
  if (name == "flaky") {
    std::vector<tasks::NewTask> all(payments_at_once - 1, demo::payment(false));
    all.push_back(demo::payment(true));
    return parts.give("five payments, one of them with a card that has expired", all);
  }
  if (name == "limited") {
    return parts.give("twenty text messages, two a second",
                      std::vector(sms_at_once, demo::text_message(++parts.customers)));
  }
  if (name == "workflow") return parts.give_order();
  if (name == "burst") return parts.fire();
  return std::unexpected(TaskError{.code = TaskError::Code::not_found,
                                   .message = fmt::format("there is no \"{}\" to try", name),
                                   .field = {}});
}

}  // namespace handoff::server
