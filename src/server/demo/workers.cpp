#include "server/demo/workers.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "server/demo/chance.hpp"

namespace handoff::server::demo {

namespace {

using namespace std::chrono_literals;
using tasks::Context;
using tasks::Finish;
using tasks::Json;

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

struct Card {
  std::string card;
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(Card, (), (card, cents))

// Two of three times the bank does not answer, and a card that has expired stays so.
Finish charge(const Json& payload, Context& context) {
  pass(std::chrono::milliseconds(50 + up_to(200)), context.stop());
  const auto card = tasks::from_json<Card>(payload.text());
  if (card && card->card == "expired") throw std::runtime_error("the bank says: card expired");
  if (up_to(2) > 0) throw std::runtime_error("the bank does not answer");
  return Finish(Json::parse(R"({"charged":true})").value());
}

Finish send_text(const Json&, Context& context) {
  pass(20ms, context.stop());
  return Finish();
}

Finish count_click(const Json&, Context& context) {
  pass(5ms, context.stop());
  return Finish();
}

Finish order_step(const Json&, Context& context) {
  for (int part = 1; part <= 4; ++part) {
    if (!pass(std::chrono::milliseconds(100 + up_to(300)), context.stop())) {
      throw std::runtime_error("it was stopped");
    }
    context.progress(part / 4.0, {});
  }
  return Finish(Json::parse(R"({"ok":true})").value());
}

tasks::QueueSettings usual() {
  tasks::QueueSettings settings;
  settings.retry = {tasks::ExponentialBackoff{.base = 2s, .max = 1min}};
  settings.max_attempts = 4;
  settings.keep_done = 10min;
  settings.keep_dead = 10min;
  return settings;
}

tasks::QueueSettings of_payments() {
  tasks::QueueSettings settings = usual();
  settings.retry = {tasks::ExponentialBackoff{.base = 1s, .max = 5s}};
  settings.max_attempts = 3;
  return settings;
}

tasks::QueueSettings of_sms() {
  tasks::QueueSettings settings = usual();
  settings.rate = 2;
  settings.burst = 2;
  return settings;
}

tasks::QueueSettings of_clicks() {
  tasks::QueueSettings settings = usual();
  settings.capacity = 1000;
  settings.keep_done = 1min;
  return settings;
}

}  // namespace

void configure_queues(const tasks::Tasks& tasks) {
  const std::pair<std::string_view, tasks::QueueSettings> all[] = {
      {"email", usual()},          {"image", usual()}, {"reports", usual()},   {"orders", usual()},
      {"payments", of_payments()}, {"sms", of_sms()},  {"clicks", of_clicks()}};
  for (const auto& [queue, settings] : all) static_cast<void>(tasks.configure(queue, settings));
}

tasks::WorkerOptions worker_options() {
  return {.queues = {{"email", 4},
                     {"image", 2},
                     {"reports", 2},
                     {"orders", 3},
                     {"payments", 2},
                     {"sms", 2},
                     {"clicks", 4}},
          .name = "demo"};
}

void add_handlers(tasks::Worker& worker) {
  worker.handle("welcome", send_mail);
  worker.handle("resize", resize);
  worker.handle("sales", report);
  worker.handle("charge", charge);
  worker.handle("text", send_text);
  worker.handle("click", count_click);
  for (const auto* step : {"reserve", "pack", "invoice", "ship", "thank"}) {
    worker.handle(step, order_step);
  }
}

}  // namespace handoff::server::demo
