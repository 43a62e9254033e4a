// A store in memory, its API, and a server for it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/tasks/json.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/testing/eventually.hpp"
#include "server/api/api.hpp"
#include "server/http/http_server.hpp"
#include "server/raw_client.hpp"

namespace handoff::tests {

using namespace std::chrono_literals;

struct Reply {
  int status = 0;
  raw::Answer answer;

  // What stands at "tasks.0.id", as text: strings without their quotes, everything else as JSON. "(none)" if there is nothing.
  std::string at(std::string_view path) const {
    const auto document = tasks::JsonDocument::parse(answer.body);
    if (!document) return "(no JSON: " + answer.body + ")";
    tasks::JsonView view = document->root();
    while (!path.empty()) {
      const auto dot = std::min(path.find('.'), path.size());
      const auto next = step(view, std::string(path.substr(0, dot)));
      if (!next) return "(none)";
      view = *next;
      path.remove_prefix(std::min(dot + 1, path.size()));
    }
    if (view.kind() == tasks::JsonKind::string) return std::string(view.string());
    return view.json().text();
  }
  std::size_t size(std::string_view list) const {
    const auto document = tasks::JsonDocument::parse(answer.body);
    if (!document) return 0;
    const auto found = document->root().member(list);
    return found && found->kind() == tasks::JsonKind::array ? found->size() : 0;
  }

 private:
  static std::optional<tasks::JsonView> step(tasks::JsonView view, const std::string& name) {
    if (view.kind() == tasks::JsonKind::object) return view.member(name);
    if (view.kind() != tasks::JsonKind::array) return std::nullopt;
    const auto index = std::strtoul(name.c_str(), nullptr, 10);
    if (index >= view.size()) return std::nullopt;
    return view.element(index);
  }
};

inline Reply reply_of(raw::Answer answer) {
  return {.status = answer.status, .answer = std::move(answer)};
}

class ApiTest : public ::testing::Test {
 protected:
  Reply get(std::string_view target, std::string_view headers = {}) {
    return reply_of(raw::get(port(), target, headers));
  }
  Reply post(std::string_view target, std::string_view body, std::string_view headers = {}) {
    return reply_of(raw::post(port(), target, body, headers));
  }
  // A batch, one task in each line.
  Reply post_lines(const std::string& lines) {
    return reply_of(raw::ask(port(),
                             "POST /v1/tasks/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                             "application/x-ndjson\r\nContent-Length: " +
                                 std::to_string(lines.size()) + "\r\n\r\n" + lines));
  }
  Reply put(std::string_view target, std::string_view body) {
    return reply_of(raw::ask(port(), raw::request("PUT", target, body)));
  }
  Reply remove(std::string_view target) {
    return reply_of(raw::ask(port(), raw::request("DELETE", target)));
  }
  // The id of a new task.
  std::string add(std::string_view queue = "q", std::string_view more = "") {
    const Reply made =
        post("/v1/tasks", fmt::format(R"({{"queue":"{}","kind":"k"{}}})", queue, more));
    EXPECT_EQ(made.status, 202) << made.answer.body;
    return made.at("id");
  }
  Reply claim(std::string_view queue = "q", std::string_view more = "") {
    return post("/v1/claim", fmt::format(R"({{"queues":["{}"]{}}})", queue, more));
  }
  // With the lease of the first task that it has claimed.
  Reply say(const Reply& claimed, std::string_view what, std::string_view more = "") {
    return post(fmt::format("/v1/tasks/{}/{}", claimed.at("tasks.0.id"), what),
                fmt::format(R"({{"lease":"{}"{}}})", claimed.at("tasks.0.lease"), more));
  }
  std::uint16_t port() const { return http.port(); }

  const tasks::Tasks tasks = tasks::open("memory:").value();
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  server::Api api;
  server::HttpServer http{{}, api};

  enum class Start : std::uint8_t { now, later };
  explicit ApiTest(Start start = Start::now, const server::ApiOptions& options = {})
      : api(tasks, options, log) {
    if (start == Start::now) http.start();
  }
  ~ApiTest() override { http.stop(within(10s)); }
};

}  // namespace handoff::tests
