// The transport of `handoff serve` with nothing behind it.
//
//   handoff <port> <threads>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "answer.hpp"
#include "server/http/http_server.hpp"

namespace {

using handoff::Lazy;
using handoff::server::Request;
using handoff::server::Response;

class Accepting final : public handoff::server::Service {
 public:
  Lazy<Response> answer(Request request) override {
    static_cast<void>(request);
    Response response{.status = 202, .body = bench::body};
    response.headers.emplace_back("Location", bench::location);
    co_return response;
  }
  bool may_wait(const Request& /*request*/) const override { return false; }
  std::optional<Response> refuse_large(const Request& /*head*/) override { return std::nullopt; }
  Response refuse(int status, std::string_view /*code*/, std::string_view message) const override {
    return {.status = status, .body = std::string(message)};
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Accepting service;
  handoff::server::HttpServer http(
      {.port = static_cast<std::uint16_t>(std::atoi(argv[1])), .threads = std::atoi(argv[2])},
      service);
  http.start();
  while (::pause() != 0) {
  }
}
