// Stands before a server's API, answers some requests in its place, and counts what was answered.
//
//   server.meddler().answer_with([](const server::Request& request) { return Meddler::away_if(request.path == "/v1/events"); });
//   eventually([&] { return server.meddler().answered("GET /v1/events") > 0; });
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/service.hpp"

namespace handoff::tests {

class Meddler final : public server::Service {
 public:
  // Nothing: the server itself answers.
  using Answer = std::function<std::optional<server::Response>(const server::Request&)>;

  // As what stands between us and a server that is not there says it.
  static std::optional<server::Response> away_if(bool is_away) {
    return is_away ? std::optional(failure(503, "unavailable")) : std::nullopt;
  }
  static server::Response failure(int status, std::string_view code) {
    server::Response response{.status = status};
    response.body.append(R"({"error":{"code":")").append(code);
    response.body.append(R"(","message":"by a test","field":null}})");
    return response;
  }

  // While no request is being answered.
  void stand_before(server::Service& server) { server_ = &server; }
  void answer_with(Answer answer) {
    const std::lock_guard turn(lock_);
    answer_ = std::move(answer);
  }
  // How many requests that begin so: "POST /v1/tasks".
  int answered(std::string_view begin) const {
    const std::lock_guard turn(lock_);
    return static_cast<int>(std::ranges::count_if(
        answered_, [&](const std::string& each) { return each.starts_with(begin); }));
  }

  Lazy<server::Response> answer(server::Request request) override {
    std::string line(to_string(request.method));
    line.append(" ").append(request.path);
    auto response = answer_of_ours(request);
    if (!response) {
      auto lazy = server_->answer(std::move(request));
      response = co_await std::move(lazy);
    }
    {
      const std::lock_guard turn(lock_);
      answered_.push_back(std::move(line));
    }
    co_return *std::move(response);
  }
  bool may_wait(const server::Request& request) const override {
    return server_->may_wait(request);
  }
  std::optional<server::Response> refuse_large(const server::Request& head) override {
    return server_->refuse_large(head);
  }
  server::Response refuse(int status, std::string_view code,
                          std::string_view message) const override {
    return server_->refuse(status, code, message);
  }

 private:
  std::optional<server::Response> answer_of_ours(const server::Request& request) const {
    const std::lock_guard turn(lock_);
    return answer_ ? answer_(request) : std::nullopt;
  }

  server::Service* server_ = nullptr;
  mutable std::mutex lock_;
  Answer answer_;                      // Guarded by lock_.
  std::vector<std::string> answered_;  // The same.
};

}  // namespace handoff::tests
