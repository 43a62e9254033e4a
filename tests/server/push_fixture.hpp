// A server that delivers, with a store in memory.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "server/api_fixture.hpp"
#include "server/push/pusher.hpp"
#include "server/receiver.hpp"

namespace handoff::tests {

class PushTest : public ApiTest {
 protected:
  PushTest() : ApiTest(Start::later) {
    api.on_settings([bell = bell] { bell->set(); });
    restart();
    http.start();
  }
  ~PushTest() override {
    http.stop(within(10s));
    pusher.reset();
  }

  // It looks only when it is told, so that a test sees who has told it.
  static server::PusherOptions usual() {
    return {.notify_secret = "told", .threads = 8, .grace = 10s, .period = 1h};
  }
  void restart(server::PusherOptions options = usual()) {
    pusher.reset();
    options.bell = bell;
    pusher = std::make_unique<server::Pusher>(tasks, std::move(options), log);
  }
  // `more` begins with a comma: ,"secret":"s".
  Reply deliver(std::string_view queue, const std::string& url, std::string_view more = "",
                std::string_view settings = R"(,"backoff":{"kind":"fixed","delay":"1ms"})") {
    return put(fmt::format("/v1/queues/{}", queue),
               fmt::format(R"({{"deliver_to":{{"url":"{}"{}}}{}}})", url, more, settings));
  }
  Reply task(const std::string& id) { return get("/v1/tasks/" + id); }
  std::string state(const std::string& id) { return task(id).at("state"); }
  // The task once it has ended.
  Reply ended(const std::string& id) { return get("/v1/tasks/" + id + "?wait=9s"); }
  // The task once it has failed that often.
  Reply failed(const std::string& id, std::size_t times = 1) {
    Reply seen;
    testing::eventually([&] {
      seen = task(id);
      return seen.size("errors") >= times;
    });
    return seen;
  }

  const std::shared_ptr<Event> bell = std::make_shared<Event>();
  std::unique_ptr<server::Pusher> pusher;
};

}  // namespace handoff::tests
