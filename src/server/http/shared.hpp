// What all threads of a server share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/event.hpp"
#include "server/http/host_policy.hpp"
#include "server/http/http_server.hpp"
#include "server/http/memory_budget.hpp"
#include "server/http/tls.hpp"

namespace handoff::server {

class Shared {
 public:
  Shared(HttpOptions given, Service& answers);

  void log(LogLevel level, std::string line) const noexcept;

  // Connections. `refuse` is one too many that is told so; `drop` is one more than these.
  enum class Admission : std::uint8_t { serve, refuse, drop };
  Admission admit();
  void connection_has_ended();
  // Answers are the last of their connections from now on.
  void begin_stopping() { is_stopping_.store(true, detail::relaxed); }
  bool is_stopping() const { return is_stopping_.load(detail::relaxed); }
  // None begins any more. Sets all_gone once there are none.
  void no_more_connections();
  std::uint64_t open() const { return open_.load(detail::relaxed); }
  std::uint64_t total() const { return total_.load(detail::relaxed); }
  std::uint64_t refused() const { return refused_.load(detail::relaxed); }

  const HttpOptions options;
  const HttpLimits& limits = options.limits;
  MemoryBudget body_memory{limits.all_bodies};     // Of large requests.
  MemoryBudget answer_memory{limits.all_answers};  // Of large answers.
  Service& service;
  const HostPolicy hosts;
  const std::optional<TlsContext> tls;
  Event all_gone{{.name = "http connections are gone"}};

 private:
  // Plain counts, except that the last to go must see no_more_connections(), or be seen by it: hence sequentially consistent.
  detail::atomic<std::uint64_t> open_{0};
  detail::atomic<bool> no_more_{false};
  detail::atomic<bool> is_stopping_{
      false};  // The threads are told on their own as well: a little late does no harm.
  detail::atomic<std::uint64_t> total_{0};
  detail::atomic<std::uint64_t> refused_{0};
};

}  // namespace handoff::server
