#include "server/demo.hpp"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <stop_token>
#include <utility>

#include "handoff/event.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/thread.hpp"

namespace handoff::server {

namespace {

using namespace std::chrono_literals;
using tasks::Context;
using tasks::Finish;
using tasks::Json;

// Waits that long, or until the stop; true if all of it has passed.
bool pass(std::chrono::milliseconds time, const std::stop_token& stop) {
  Event never;
  const auto waited = never.wait({.deadline = within(time), .stop = stop});
  return waited.error() == Refusal::timed_out;
}

// Each thread has its own.
int up_to(int most) {
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_int_distribution<int>(0, most)(random);
}

tasks::QueueSettings settings() {
  tasks::QueueSettings settings;
  settings.retry = {tasks::ExponentialBackoff{.base = 2s, .max = 1min}};
  settings.max_attempts = 4;
  settings.keep_done = 10min;
  settings.keep_dead = 10min;
  return settings;
}

void enqueue(const tasks::Tasks& tasks, tasks::NewTask task) {
  static_cast<void>(tasks.enqueue(task));  // A full queue is something to look at, too.
}

// A customer signs up, uploads some pictures, and now and then somebody wants a report.
void shop(const tasks::Tasks& tasks, const std::stop_token& stop) {
  for (int customer = 1; pass(std::chrono::milliseconds(100 + up_to(500)), stop); ++customer) {
    const std::string group = fmt::format("customer-{}", customer);
    enqueue(tasks, {.queue = "email",
                    .kind = "welcome",
                    .payload = fmt::format(R"({{"to":"{}@example.org"}})", group)});
    for (int i = up_to(4); i > 0; --i) {
      enqueue(tasks, {.queue = "image",
                      .kind = "resize",
                      .payload = fmt::format(R"({{"photo":{}}})", up_to(10'000)),
                      .group = group});
    }
    if (customer % 10 == 0) {
      enqueue(tasks, {.queue = "reports", .kind = "sales", .payload = "{}", .delay = 3s});
    }
  }
}

Finish send_mail(const Json&, Context& context) {
  pass(std::chrono::milliseconds(20 + up_to(100)), context.stop());
  if (up_to(20) == 0) throw std::runtime_error("the mail server does not answer");
  if (up_to(200) == 0) return tasks::Fail{"there is no such mailbox"};
  return Finish();
}

Finish resize(const Json&, Context& context) {
  pass(std::chrono::milliseconds(100 + up_to(400)), context.stop());
  return Finish(Json::parse(R"({"width":320,"height":240})").value());
}

Finish report(const Json&, Context& context) {
  for (int row = 1; row <= 20; ++row) {
    if (!pass(250ms, context.stop())) throw std::runtime_error("it was stopped");
    context.progress(row / 20.0, fmt::format("{} of 20 shops", row));
  }
  return Finish(Json::parse(R"({"shops":20})").value());
}

}  // namespace

struct Demo::Parts {
  explicit Parts(tasks::Tasks store)
      : tasks(std::move(store)),
        worker(tasks, {.queues = {{"email", 4}, {"image", 2}, {"reports", 1}}, .name = "demo"}) {
    for (const auto* queue : {"email", "image", "reports"}) {
      static_cast<void>(tasks.configure(queue, settings()));
    }
    worker.handle("welcome", send_mail);
    worker.handle("resize", resize);
    worker.handle("sales", report);
    works = Thread([this](const std::stop_token& stop) { worker.run(stop, 2s); });
    sells = Thread([this](const std::stop_token& stop) { shop(tasks, stop); });
  }

  const tasks::Tasks tasks;
  tasks::Worker worker;
  Thread works;
  Thread sells;
};

Demo::Demo(tasks::Tasks tasks) : parts_(std::make_unique<Parts>(std::move(tasks))) {}
Demo::~Demo() = default;

}  // namespace handoff::server
