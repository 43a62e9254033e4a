// Which handler answers which request.
//
//   router.add({.method = Method::post, .pattern = "/v1/tasks/{id}/cancel", .role = Role::admin, .summary = "...", .handler = ...});
//
// It takes the parameters and the body that it names, and no others. A segment in braces stands for any one segment, which the handler gets in order. The table is also what /openapi.json is made of.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handoff/lazy.hpp"
#include "server/api/error.hpp"
#include "server/auth/role.hpp"
#include "server/http/message.hpp"

namespace handoff::server {

// A request that was matched.
struct Call {
  Call(std::shared_ptr<const Request> whole, std::vector<std::string> values)
      : kept(std::move(whole)), request(*kept), parameters(std::move(values)) {}

  std::shared_ptr<const Request> kept;  // A job on a pool may live longer than who waits for it.
  const Request& request;
  std::vector<std::string> parameters;  // What stands for the braces.
};

using Handler = std::function<Lazy<Response>(Call)>;

// Whether the answer takes its time by design.
enum class Waits : std::uint8_t {
  never,
  if_asked,  // By ?wait=.
  always,    // A long poll, a stream.
};

// One behind the question mark.
struct Parameter {
  enum class Kind : std::uint8_t { text, number, duration, flag, id, state };
  std::string name;
  Kind kind = Kind::text;
};

// What it is, as JSON Schema: api/schema.hpp makes it.
struct BodyTaken {
  std::string schema;
  std::string line_schema{};  // If it may also be one such in each line.
  bool may_be_left_out = false;
};

// Of parameters and a body that the route does not name.
enum class Strangers : std::uint8_t {
  refused,
  ignored,  // Probes and browsers add some of their own.
};

struct Route {
  Method method = Method::get;
  std::string pattern;
  Role role = Role::admin;  // Who may do it at least.
  std::string summary;
  std::vector<Parameter> query{};
  std::optional<BodyTaken> body{};
  std::vector<int> answers = {200};  // If it goes well.
  Strangers strangers = Strangers::refused;
  Waits waits = Waits::never;
  Handler handler{};
};

class Router {
 public:
  void add(Route route);
  const std::vector<Route>& routes() const { return routes_; }

  struct Match {
    const Route* route;
    std::vector<std::string> parameters;
  };
  // 404 if nothing has that path, 405 if something else may be done with it.
  std::expected<Match, ApiError> find(const Request& request) const;

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> patterns_;  // Their segments.
};

}  // namespace handoff::server
