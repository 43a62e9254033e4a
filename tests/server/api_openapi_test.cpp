// GET /openapi.json against the routes that it is about.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "server/api/task_body.hpp"
#include "server/api_fixture.hpp"

namespace handoff::tests {
namespace {

using server::Method;
using server::Route;
using tasks::JsonView;

std::string verb(Method method) {
  std::string text(to_string(method));
  for (char& each : text) each = static_cast<char>(each | 0x20);
  return text;
}

std::set<std::string> strings_in(std::optional<JsonView> list) {
  std::set<std::string> all;
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    all.emplace(list->element(i).string());
  }
  return all;
}

class ApiDocument : public ApiTest {
 protected:
  // Of an operation, what stands at a path of names; nothing if it is not there.
  std::optional<JsonView> at(const Route& route, std::vector<std::string> names = {}) {
    std::vector<std::string> all{"paths", route.pattern, verb(route.method)};
    all.insert(all.end(), names.begin(), names.end());
    std::optional<JsonView> view = document_->root();
    for (const std::string& each : all) {
      if (view) view = view->member(each);
    }
    return view;
  }
  std::set<std::string> parameters(const Route& route, std::string_view place) {
    std::set<std::string> names;
    const auto list = at(route, {"parameters"});
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const JsonView each = list->element(i);
      if (each.member("in")->string() == place) names.emplace(each.member("name")->string());
    }
    return names;
  }
  const Route& route(Method method, std::string_view pattern) {
    return *std::ranges::find_if(api.router().routes(), [&](const Route& each) {
      return each.method == method && each.pattern == pattern;
    });
  }
  std::optional<JsonView> body(const Route& route, std::string_view type = "application/json") {
    return at(route, {"requestBody", "content", std::string(type), "schema"});
  }

 private:
  const Reply reply_ = get("/openapi.json");
  const std::expected<tasks::JsonDocument, tasks::JsonError> document_ =
      tasks::JsonDocument::parse(reply_.answer.body);
};

TEST_F(ApiDocument, NamesTheParametersOfEveryRoute) {
  for (const Route& each : api.router().routes()) {
    std::set<std::string> taken;
    for (const server::Parameter& one : each.query) taken.insert(one.name);
    EXPECT_EQ(parameters(each, "query"), taken) << each.pattern;
    EXPECT_EQ(parameters(each, "path").size(), std::ranges::count(each.pattern, '{'))
        << each.pattern;
  }
  EXPECT_EQ(parameters(route(Method::get, "/v1/events"), "query"),
            (std::set<std::string>{"queue", "task", "workflow", "state", "stats"}));
}

TEST_F(ApiDocument, NamesNoParameterThatIsRefused) {
  for (const Route& each : api.router().routes()) {
    for (const std::string& name : parameters(each, "query")) {
      // It makes no sense to most, and is refused before anybody waits for it.
      const auto target = fmt::format("{}?{}=%21", each.pattern, name);
      const Reply reply = reply_of(raw::ask(
          port(), raw::request("GET", target.substr(0, target.find('{')) +
                                          (target.find('{') == target.npos
                                               ? ""
                                               : "01a1e8d0-9b61-7000-9072-e55e3f0443e8" +
                                                     target.substr(target.find('}') + 1)))));
      EXPECT_THAT(reply.answer.body, ::testing::Not(::testing::HasSubstr("unknown parameter")))
          << target;
    }
  }
}

TEST_F(ApiDocument, GivesEveryOperationANameOfItsOwn) {
  std::set<std::string> names;
  for (const Route& each : api.router().routes()) {
    const auto name = at(each, {"operationId"});
    ASSERT_TRUE(name) << each.pattern;
    EXPECT_TRUE(names.emplace(name->string()).second) << name->string();
  }
  EXPECT_TRUE(names.contains("post_v1_tasks"));
  EXPECT_TRUE(names.contains("post_v1_tasks_by_id_cancel"));
}

TEST_F(ApiDocument, HasEveryFieldOfATask) {
  const auto schema = body(route(Method::post, "/v1/tasks"));
  ASSERT_TRUE(schema);
  const auto fields = schema->member("properties");
  for (const auto name : detail::names_of<detail::MembersOf<server::TaskBody>>()) {
    EXPECT_TRUE(fields->member(name)) << name;
  }
  EXPECT_EQ(strings_in(schema->member("required")), (std::set<std::string>{"queue", "kind"}));
  EXPECT_EQ(fields->member("priority")->member("type")->string(), "integer");
  EXPECT_EQ(fields->member("notify")->member("properties")->member("url")->member("type")->string(),
            "string");
  EXPECT_EQ(fields->member("after")->member("items")->member("format")->string(), "uuid");
}

TEST_F(ApiDocument, SaysWhichRoutesTakeABodyAndWhetherItMayBeLeftOut) {
  for (const Route& each : api.router().routes()) {
    EXPECT_EQ(at(each, {"requestBody"}).has_value(), each.body.has_value()) << each.pattern;
  }
  const auto is_required = [&](std::string_view pattern) {
    return at(route(Method::post, pattern), {"requestBody", "required"})->json().text();
  };
  EXPECT_EQ(is_required("/v1/claim"), "true");
  EXPECT_EQ(is_required("/v1/tasks/{id}/cancel"), "false");
  EXPECT_TRUE(body(route(Method::post, "/v1/tasks/batch"), "application/x-ndjson"));
  EXPECT_EQ(body(route(Method::post, "/v1/tasks/batch"))->member("type")->string(), "array");
}

TEST_F(ApiDocument, SaysHowARequestMayEnd) {
  const auto has = [&](Method method, std::string_view pattern, const std::string& status) {
    return at(route(method, pattern), {"responses", status}).has_value();
  };
  for (const auto* status : {"200", "202", "400", "401", "403", "503", "default"}) {
    EXPECT_TRUE(has(Method::post, "/v1/tasks", status)) << status;
  }
  EXPECT_TRUE(has(Method::post, "/v1/claim", "204"));
  EXPECT_TRUE(has(Method::get, "/v1/tasks/{id}", "404"));
  EXPECT_FALSE(has(Method::get, "/healthz", "401"));
}

// A reference that leads nowhere is an error to every reader of such documents.
TEST_F(ApiDocument, RefersOnlyToWhatIsThere) {
  const Reply document = get("/openapi.json");
  const std::string& text = document.answer.body;
  constexpr std::string_view mark = "\"$ref\":\"#/";
  int references = 0;
  for (auto found = text.find(mark); found != text.npos; found = text.find(mark, found + 1)) {
    const auto begin = found + mark.size();
    std::string path = text.substr(begin, text.find('"', begin) - begin);
    std::ranges::replace(path, '/', '.');
    EXPECT_NE(document.at(path), "(none)") << path;
    ++references;
  }
  EXPECT_GT(references, 0);
}

}  // namespace
}  // namespace handoff::tests
