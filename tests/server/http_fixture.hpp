// A server of which each test decides what it answers.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/testing/eventually.hpp"
#include "server/http/http_server.hpp"
#include "server/raw_client.hpp"

namespace http_test {

using namespace std::chrono_literals;
using handoff::Lazy;
using handoff::server::HttpOptions;
using handoff::server::HttpServer;
using handoff::server::LogLevel;
using handoff::server::Method;
using handoff::server::Request;
using handoff::server::Response;
using handoff::testing::eventually;

// Answers with what it was asked, unless a path has a handler. Paths that begin with /wait may wait; /unwanted takes no large body.
class EchoService final : public handoff::server::Service {
 public:
  using Handler = std::function<Lazy<Response>(Request)>;

  void on(std::string path, Handler handler) { handlers_[std::move(path)] = std::move(handler); }

  Lazy<Response> answer(Request request) override {
    const auto found = handlers_.find(request.path);
    if (found != handlers_.end()) return found->second(std::move(request));
    return echo(std::move(request));
  }
  bool may_wait(const Request& request) const override { return request.path.starts_with("/wait"); }
  std::optional<Response> refuse_large(const Request& head) override {
    if (head.path != "/unwanted") return std::nullopt;
    return Response{.status = 401, .body = "not from " + head.peer};
  }
  Response refuse(int status, std::string_view code, std::string_view message) const override {
    Response response{.status = status};
    response.body.append(R"({"error":{"code":")").append(code).append(R"(","message":")");
    response.body.append(message).append(R"(","field":null}})");
    return response;
  }

 private:
  static Lazy<Response> echo(Request request) {
    Response response{.content_type = "text/plain"};
    response.body.append(to_string(request.method)).append(" ").append(request.path);
    if (!request.body.empty()) response.body.append("\n").append(request.body);
    co_return response;
  }

  std::map<std::string, Handler> handlers_;
};

class HttpTest : public testing::Test {
 protected:
  void TearDown() override { http.reset(); }  // Before what its handlers use.

  // After the handlers are there.
  HttpServer& start() {
    options.log = [this](LogLevel, const std::string& line) {
      const std::lock_guard lock(log_mutex_);
      lines_.push_back(line);
    };
    http = std::make_unique<HttpServer>(options, service);
    http->start();
    return *http;
  }
  std::uint16_t port() const { return http->port(); }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(log_mutex_);
    return lines_;
  }

  HttpOptions options{.threads = 2};
  EchoService service;
  std::unique_ptr<HttpServer> http;

 private:
  mutable std::mutex log_mutex_;
  std::vector<std::string> lines_;
};

}  // namespace http_test
