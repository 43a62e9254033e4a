// The HTTP API of a store: docs/http-api.md. What is between it and the network is http/http_server.hpp's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/pool.hpp"
#include "server/api/context.hpp"
#include "server/api/few_lines.hpp"
#include "server/auth/tokens.hpp"
#include "server/http/http_server.hpp"
#include "server/http/router.hpp"
#include "server/http/service.hpp"
#include "server/log.hpp"

namespace handoff::server {

class RequestMeters;

struct ApiOptions {
  std::size_t payload_limit = std::size_t{1} << 20;
  std::size_t waiting_limit = 4096;  // Of requests that wait for a commit.
  std::size_t threads = 4;           // For what only looks.
  std::size_t long_threads = 2;      // For what goes through many tasks.
  std::size_t looks_limit = 1024;    // That wait for one of these.
  PushHosts push_hosts{};
  std::string store = "memory";  // Its kind, for /v1/server.
  Demo* demo = nullptr;
};

class Api final : public Service {
 public:
  Api(tasks::Tasks tasks, ApiOptions options, Log& log);
  ~Api();

  Lazy<Response> answer(Request given) override;
  bool may_wait(const Request& request) const override;
  std::optional<Response> refuse_large(const Request& head) override;
  Response refuse(int status, std::string_view code, std::string_view message) const override;

  const Router& router() const { return router_; }
  Tokens& tokens() { return tokens_; }
  // What /metrics tells of the connections.
  void count_with(std::function<HttpCounters()> counters) { counters_ = std::move(counters); }
  // Called by any thread after the settings of a queue were changed here. To be set before there are requests.
  void on_settings(std::function<void()> changed) {
    context_.settings_changed = std::move(changed);
  }
  // Ends what runs on its pool, by then at the latest; nothing more begins. Before what count_with() was given is gone.
  void finish(Deadline deadline);
  // Of those who work elsewhere, who was not seen for a while is forgotten, unless it has tasks in hand. Done now and then; by tests, when they like.
  void look_after_workers();
  // From now on /readyz says so.
  // What takes many commits ends after the one it is at.
  void begin_to_shut_down() {
    is_shutting_down_ = true;
    shutting_down_.request_stop();
  }

 private:
  // What comes to be known of a request, for the log and the meters.
  struct Asking {
    const Route* route = nullptr;
    Tokens::Holder who{.name = {}, .role = Role::nobody};
    TimePoint began = now();
  };

  // Throws ApiFailure. `holder` is who it is, also if that one may not.
  void let_in(const Route& route, const Request& request, Tokens::Holder& holder);
  void audit(const Route& route, const Request& request, const Tokens::Holder& who, int status);
  std::optional<std::uint64_t> turn_to_audit(const Route& route, const Tokens::Holder& who);
  // Of each request, when it is about to be answered.
  Response to_answer(const Request& request, const ApiError& error);
  void note(const Request& request, const Asking& asking, int status);
  void list_worker(const std::string& name, const std::vector<std::string>& queues);
  void note_failure(const Request& request, const ApiError& error);
  void add_system_routes();
  Response metrics();
  Response about(const Request& request);
  Response readiness();

  Log& log_;
  std::stop_source shutting_down_;
  const std::string store_;
  EventLog events_;
  Meters meters_;
  StatsBoards stats_;
  RateTurns rate_turns_;
  StoreLine line_;
  RemoteWorkers workers_;
  ApiContext context_;
  Tokens tokens_;
  Router router_;
  std::unique_ptr<RequestMeters> requests_;
  std::function<HttpCounters()> counters_;
  detail::atomic<bool> is_shutting_down_{false};
  FewLines failures_;
  FewLines strangers_;     // Who wanted to change something, and are not known.
  FewLines overreaching_;  // The same, and known, but may not.
  WorkerPool long_pool_;   // Last: the jobs of these use all of the above.
  WorkerPool pool_;
};

}  // namespace handoff::server
