// Any bytes at all, as the target and the body of a request to the API: whatever they are, the answer is one that the API knows, and JSON.
//
// The first byte is the method; then come the target, up to the first line end, and the body.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "handoff/sync_wait.hpp"
#include "handoff/tasks/json.hpp"
#include "handoff/tasks/tasks.hpp"
#include "server/api/api.hpp"

namespace {

using namespace handoff;
using server::Method;

struct Fuzzed {
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  std::optional<server::Api> api;
  int requests = 0;

  // A new store now and then: what one request leaves behind, others find, but not for ever.
  server::Api& one() {
    if (!api || ++requests % 1000 == 0) {
      api.reset();
      api.emplace(tasks::open("memory:").value(),
                  server::ApiOptions{.payload_limit = 1000, .threads = 1}, log);
    }
    return *api;
  }
};

Method method_of(std::uint8_t byte) {
  constexpr Method methods[] = {Method::get, Method::post, Method::put, Method::del};
  return methods[byte % 4];
}

bool is_known(int status) {
  for (const int each : {200, 202, 204, 400, 404, 405, 409, 413, 415, 503}) {
    if (status == each) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fuzzed fuzzed;
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto line = std::min(rest.find('\n'), rest.size());
  auto target = server::parse_target(rest.substr(0, line));
  if (!target) return 0;
  static const std::stop_source now = [] {
    std::stop_source source;
    source.request_stop();  // Nobody waits here.
    return source;
  }();
  server::Request request{.method = method_of(data[0]),
                          .path = std::move(target->path),
                          .segments = std::move(target->segments),
                          .query = std::move(target->query),
                          .body = std::string(rest.substr(std::min(line + 1, rest.size()))),
                          .hurry = now.get_token()};
  const auto response = sync_wait(fuzzed.one().answer(std::move(request)));
  if (!is_known(response.status)) std::abort();
  if (response.content_type == "application/json" && !tasks::JsonDocument::parse(response.body))
    std::abort();
  return 0;
}
