#include "server/api/openapi.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

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
std::string parameters_of(std::string_view pattern) {
  std::vector<std::string> items;
  for (auto open = pattern.find('{'); open != std::string_view::npos;
       open = pattern.find('{', open + 1)) {
    const auto name = pattern.substr(open + 1, pattern.find('}', open) - open - 1);
    items.push_back(fmt::format(
        R"({{"name":"{}","in":"path","required":true,"schema":{{"type":"string"}}}})", name));
  }
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string operation(const Route& route) {
  const bool is_open = route.role == Role::nobody;
  return fmt::format(
      R"("{}":{{"summary":"{}","x-role":"{}","parameters":{},"security":[{}],"responses":{{"default":{{"description":"An error","content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/Error"}}}}}}}},"2XX":{{"description":"As docs/http-api.md tells"}}}}}})",
      verb(route.method), route.summary, to_string(route.role), parameters_of(route.pattern),
      is_open ? "" : R"({"token":[]})");
}

constexpr std::string_view components =
    R"({"securitySchemes":{"token":{"type":"http","scheme":"bearer"}},"schemas":{"Error":{"type":"object","required":["error"],"properties":{"error":{"type":"object","required":["code","message","field"],"properties":{"code":{"type":"string"},"message":{"type":"string"},"field":{"type":["string","null"]}}}}}}})";

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
      fmt::join(items, ","), components);
}

}  // namespace handoff::server
