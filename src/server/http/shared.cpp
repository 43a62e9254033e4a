#include "server/http/shared.hpp"

#include <utility>

#include "handoff/log.hpp"

namespace handoff::server {

namespace {

// Those past the limit are answered too, which takes a moment: of them there are at most so many.
std::size_t most_refused_at_once(std::size_t connections) { return 16 + connections / 16; }

std::optional<TlsContext> make_tls(const HttpOptions& options) {
  if (options.tls_certificate.empty() && options.tls_key.empty()) return std::nullopt;
  if (options.tls_certificate.empty() || options.tls_key.empty()) {
    throw std::invalid_argument("TLS needs both a certificate and its key");
  }
  return std::optional<TlsContext>(std::in_place, options.tls_certificate, options.tls_key);
}

}  // namespace

Shared::Shared(HttpOptions given, Service& answers)
    : options(std::move(given)),
      service(answers),
      hosts(options.address, options.host_names),
      tls(make_tls(options)) {}

void Shared::log(LogLevel level, std::string line) const noexcept {
  try {
    if (!options.log) return handoff::detail::log_line(line);
    options.log(level, std::move(line));
  } catch (...) {  // What a log throws is lost.
  }
}

Shared::Admission Shared::admit() {
  total_.fetch_add(1, detail::relaxed);
  const auto before = open_.fetch_add(1);
  if (before < limits.connections) return Admission::serve;
  refused_.fetch_add(1, detail::relaxed);
  if (before < limits.connections + most_refused_at_once(limits.connections))
    return Admission::refuse;
  connection_has_ended();
  return Admission::drop;
}

void Shared::connection_has_ended() {
  if (open_.fetch_sub(1) == 1 && no_more_.load()) all_gone.set();
}

void Shared::no_more_connections() {
  no_more_.store(true);
  if (open_.load() == 0) all_gone.set();
}

}  // namespace handoff::server
