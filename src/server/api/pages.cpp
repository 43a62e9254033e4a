// GET / and what it needs: the dashboard.
#include <fmt/format.h>

#include "server/api/context.hpp"
#include "server/web/web_answer.hpp"

namespace handoff::server {

namespace {

Lazy<Response> at_once(Response response) { co_return response; }

const WebFile* file_at(std::string_view path) {
  for (const WebFile& each : web_files()) {
    if (each.path == path) return &each;
  }
  return nullptr;
}

Response front_page(const Request& request) {
  const WebFile* const index = file_at("/index.html");
  return index == nullptr ? page_without_dashboard() : web_answer(*index, request);
}

Response page(const Request& request) {
  if (const WebFile* const file = file_at(request.path)) return web_answer(*file, request);
  throw ApiFailure(ApiError::not_found(fmt::format("there is nothing at {}", request.path)));
}

}  // namespace

void add_pages(Router& router) {
  const auto add = [&](std::string pattern, std::string summary,
                       Response (*answer)(const Request&)) {
    router.add({.method = Method::get,
                .pattern = std::move(pattern),
                .role = Role::nobody,
                .summary = std::move(summary),
                .strangers = Strangers::ignored,
                .handler = [answer](Call call) { return at_once(answer(call.request)); }});
  };
  add("/", "The dashboard", front_page);
  add("/assets/{file}", "A part of the dashboard", page);
  for (const WebFile& each : web_files()) {
    const bool is_at_top = each.path.find('/', 1) == each.path.npos;
    if (is_at_top && each.path != "/index.html") {
      add(std::string(each.path), "A part of the dashboard", page);
    }
  }
}

}  // namespace handoff::server
