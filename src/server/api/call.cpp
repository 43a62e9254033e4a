#include "server/api/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/limits.hpp"
#include "server/api/media_type.hpp"
#include "tasks/nearest.hpp"

namespace handoff::server {

namespace {

[[noreturn]] void refuse(std::string_view field, std::string_view rest) {
  throw ApiFailure(ApiError::bad_request(std::string(field), fmt::format("{} {}", field, rest)));
}

[[noreturn]] void refuse_unknown(std::string_view name, const std::vector<Parameter>& known) {
  std::vector<std::string_view> names;
  for (const Parameter& each : known) names.push_back(each.name);
  throw ApiFailure(ApiError::bad_request(
      std::string(name),
      fmt::format("unknown parameter \"{}\"{}", name, tasks::did_you_mean(name, names))));
}

void check_known(const Pairs& pairs, const std::vector<Parameter>& known) {
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : pairs) {
    if (std::ranges::find(known, name, &Parameter::name) == known.end()) {
      refuse_unknown(name, known);
    }
    if (std::ranges::find(seen, name) != seen.end()) refuse(name, "is there twice");
    seen.push_back(name);
  }
}

// What clients send that always send an object.
struct Nothing {};
BOOST_DESCRIBE_STRUCT(Nothing, (), ())

}  // namespace

tasks::TaskId id_of(const Call& call, std::string_view what) {
  const auto id = tasks::TaskId::parse(call.parameters.front());
  if (!id) refuse(what, id.error());
  return *id;
}

const std::string& queue_of(const Call& call) {
  must(tasks::check_queue(call.parameters.front()));
  return call.parameters.front();
}

void must_be_json(const Request& request) {
  const std::string_view type = request.content_type;
  if (is_media_type(type, "") || is_media_type(type, "application/json")) return;
  throw ApiFailure(
      {.status = 415,
       .code = "unsupported_media_type",
       .message = fmt::format("send JSON with `Content-Type: application/json` (curl: -H "
                              "'Content-Type: application/json'), got \"{}\"",
                              request.content_type)});
}

void check_strangers(const Route& route, const Request& request) {
  if (route.strangers == Strangers::ignored) return;
  check_known(request.query, route.query);
  if (route.body || request.body.empty()) return;
  must_be_json(request);
  must(tasks::from_json<Nothing>(request.body, strictly));
}

std::string Query::text(std::string_view name) const {
  const auto found = std::ranges::find(pairs_, name, &Pairs::value_type::first);
  return found == pairs_.end() ? std::string() : found->second;
}

std::optional<std::chrono::milliseconds> Query::duration(std::string_view name) const {
  const std::string given = text(name);
  if (given.empty()) return std::nullopt;
  const auto parsed = tasks::parse_duration(given);
  if (!parsed) refuse(name, parsed.error());
  return *parsed;
}

int Query::number(std::string_view name, int otherwise, int least, int most) const {
  const std::string given = text(name);
  if (given.empty()) return otherwise;
  int number = 0;
  const char* const end = given.data() + given.size();
  const auto read = std::from_chars(given.data(), end, number);
  if (read.ptr != end || read.ec != std::errc() || number < least || number > most) {
    refuse(name,
           fmt::format("must be a whole number from {} to {}, got \"{}\"", least, most, given));
  }
  return number;
}

std::optional<tasks::TaskState> Query::state(std::string_view name) const {
  const std::string given = text(name);
  if (given.empty()) return std::nullopt;
  return state_of(given, name);
}

bool Query::flag(std::string_view name, bool otherwise) const {
  const std::string given = text(name);
  if (given.empty()) return otherwise;
  if (given != "true" && given != "false") {
    refuse(name, fmt::format("must be true or false, got \"{}\"", given));
  }
  return given == "true";
}

tasks::TaskId Query::id(std::string_view name) const {
  const auto id = tasks::TaskId::parse(text(name));
  if (!id) refuse(name, id.error());
  return *id;
}

tasks::TaskState state_of(std::string_view text, std::string_view field) {
  const auto state = tasks::parse_state(text);
  if (!state) {
    refuse(field, fmt::format("must be scheduled, waiting, ready, running, done, dead or "
                              "cancelled, got \"{}\"",
                              text));
  }
  return *state;
}

}  // namespace handoff::server
