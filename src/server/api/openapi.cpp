#include "server/api/openapi.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "handoff/tasks/state.hpp"

namespace handoff::server {

namespace {

std::string_view verb(Method method) {
  switch (method) {
    case Method::get: return "get";
    case Method::post: return "post";
    case Method::put: return "put";
    case Method::del: return "delete";
    case Method::other: break;
  }
  return "x-other";
}

// The names in braces.
std::vector<std::string_view> names_in(std::string_view pattern) {
  std::vector<std::string_view> names;
  for (auto open = pattern.find('{'); open != std::string_view::npos;
       open = pattern.find('{', open + 1)) {
    names.push_back(pattern.substr(open + 1, pattern.find('}', open) - open - 1));
  }
  return names;
}

// "post_v1_tasks_by_id_cancel": of the method and the path, so that it stays as long as these.
std::string id_of(const Route& route) {
  std::string id(verb(route.method));
  if (route.pattern == "/") return id + "_dashboard";
  for (const char c : route.pattern) {
    if (c == '{') id += "by_";
    if (c == '{' || c == '}') continue;
    id += c == '/' || c == '.' || c == '-' ? '_' : c;
  }
  return id;
}

std::string states_schema() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tasks::task_states; ++i) {
    names.push_back(fmt::format(R"("{}")", to_string(static_cast<tasks::TaskState>(i))));
  }
  return fmt::format(R"({{"type":"string","enum":[{}]}})", fmt::join(names, ","));
}

std::string schema_of(Parameter::Kind kind) {
  using enum Parameter::Kind;
  switch (kind) {
    case text:
    case duration: break;
    case number: return R"({"type":"integer"})";
    case flag: return R"({"type":"boolean"})";
    case id: return R"({"type":"string","format":"uuid"})";
    case state: return states_schema();
  }
  return R"({"type":"string"})";
}

std::string parameters_of(const Route& route) {
  std::vector<std::string> items;
  for (const std::string_view name : names_in(route.pattern)) {
    items.push_back(fmt::format(
        R"({{"name":"{}","in":"path","required":true,"schema":{{"type":"string"}}}})", name));
  }
  for (const Parameter& each : route.query) {
    items.push_back(fmt::format(R"({{"name":"{}","in":"query","required":false,"schema":{}}})",
                                each.name, schema_of(each.kind)));
  }
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string request_of(const Route& route) {
  if (!route.body) return "";
  const auto content = [](std::string_view type, std::string_view schema) {
    return fmt::format(R"("{}":{{"schema":{}}})", type, schema);
  };
  std::string contents = content("application/json", route.body->schema);
  if (const std::string& line = route.body->line_schema; !line.empty()) {
    contents += "," + content("application/x-ndjson", line);
  }
  return fmt::format(R"("requestBody":{{"required":{},"content":{{{}}}}},)",
                     !route.body->may_be_left_out, contents);
}

std::vector<int> refusals_of(const Route& route) {
  std::vector<int> statuses;
  if (route.strangers == Strangers::refused) statuses.push_back(400);
  if (route.role != Role::nobody) statuses.insert(statuses.end(), {401, 403});
  if (route.pattern.find('{') != std::string::npos) statuses.push_back(404);
  if (route.body) statuses.insert(statuses.end(), {413, 415});
  statuses.push_back(503);
  return statuses;
}

std::string answers_of(const Route& route) {
  std::vector<std::string> items;
  for (const int status : route.answers) {
    items.push_back(fmt::format(R"("{}":{{"description":"As docs/http-api.md tells"}})", status));
  }
  for (const int status : refusals_of(route)) {
    items.push_back(fmt::format(R"("{}":{{"$ref":"#/components/responses/{}"}})", status,
                                status == 503 ? "Later" : "Error"));
  }
  items.emplace_back(R"("default":{"$ref":"#/components/responses/Error"})");
  return fmt::format("{{{}}}", fmt::join(items, ","));
}

std::string operation(const Route& route) {
  const bool is_open = route.role == Role::nobody;
  return fmt::format(
      R"("{}":{{"operationId":"{}","summary":"{}","x-role":"{}","parameters":{},{}"security":[{}],"responses":{}}})",
      verb(route.method), id_of(route), route.summary, to_string(route.role), parameters_of(route),
      request_of(route), is_open ? "" : R"({"token":[]})", answers_of(route));
}

constexpr std::string_view error_content =
    R"("content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}})";
constexpr std::string_view error_schema =
    R"({"type":"object","required":["error"],"properties":{"error":{"type":"object","required":["code","message","field"],"properties":{"code":{"type":"string"},"message":{"type":"string"},"field":{"type":["string","null"]}}}}})";

std::string components() {
  const std::string later = fmt::format(
      R"({{"description":"No room, or the store cannot be used now","headers":{{"Retry-After":{{"description":"Seconds","schema":{{"type":"integer"}}}}}},{}}})",
      error_content);
  return fmt::format(
      R"({{"securitySchemes":{{"token":{{"type":"http","scheme":"bearer"}}}},"schemas":{{"Error":{}}},"responses":{{"Error":{{"description":"An error",{}}},"Later":{}}}}})",
      error_schema, error_content, later);
}

}  // namespace

std::string openapi_text(const Router& router) {
  std::map<std::string, std::vector<std::string>> paths;
  for (const Route& each : router.routes()) paths[each.pattern].push_back(operation(each));
  std::vector<std::string> items;
  for (const auto& [path, operations] : paths) {
    items.push_back(fmt::format(R"("{}":{{{}}})", path, fmt::join(operations, ",")));
  }
  return fmt::format(
      R"({{"openapi":"3.1.0","info":{{"title":"Handoff","version":"1"}},"paths":{{{}}},"components":{}}})",
      fmt::join(items, ","), components());
}

}  // namespace handoff::server
