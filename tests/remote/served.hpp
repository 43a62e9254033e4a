// A server in this process, on a port of its own, with a store in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "handoff/tasks/tasks.hpp"
#include "remote/meddler.hpp"
#include "server/api/api.hpp"
#include "server/http/http_server.hpp"
#include "support/port.hpp"

namespace handoff::tests {

class Served {
 public:
  explicit Served(tasks::Tasks store = tasks::open("memory:").value()) : store_(std::move(store)) {
    start();
  }
  ~Served() { stop(); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  // The store itself, without the server.
  const tasks::Tasks& store() const { return store_; }
  std::uint16_t port() const { return port_.number(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  tasks::Tasks open(tasks::OpenOptions options = {}) const {
    return tasks::open(url(), options).value();
  }
  server::Api& api() { return *api_; }
  Meddler& meddler() { return meddler_; }

  void stop() {
    if (http_) http_->stop(within(std::chrono::seconds(10)));
    http_.reset();
    api_.reset();
  }
  // On the same port as before.
  void start() {
    api_ = std::make_unique<server::Api>(store_, server::ApiOptions{}, log_);
    meddler_.stand_before(*api_);
    server::HttpOptions options;
    options.port = port();
    http_ = std::make_unique<server::HttpServer>(options, meddler_);
    http_->start();
  }

 private:
  const tasks::Tasks store_;
  server::Log log_{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  const Port port_;
  std::unique_ptr<server::Api> api_;
  Meddler meddler_;
  std::unique_ptr<server::HttpServer> http_;
};

}  // namespace handoff::tests
