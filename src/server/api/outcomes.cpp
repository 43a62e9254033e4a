// What workers say about the tasks they have claimed.
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "server/api/context.hpp"
#include "server/api/duration_field.hpp"
#include "server/api/lease_text.hpp"
#include "server/api/schema.hpp"
#include "tasks/async_call.hpp"
#include "tasks/utf8.hpp"

namespace handoff::server {

namespace {
// Whatever there is, null too.
struct AnyJson {
  bool is_there = false;
  tasks::Json json;
};
}  // namespace

}  // namespace handoff::server

template <>
struct handoff::tasks::JsonCodec<handoff::server::AnyJson> {
  static std::expected<server::AnyJson, JsonError> read(JsonView view, const ReadOptions&) {
    return server::AnyJson{.is_there = true, .json = view.json()};
  }
  static std::string schema() { return "{}"; }
};

namespace handoff::server {

namespace {

using tasks::Extension;
using tasks::Outcome;
using tasks::Recorded;
using tasks::TaskId;

constexpr std::int64_t most_at_once = 10'000;

// -- Bodies ---------------------------------------------------------------------------------------

struct DoneBody {
  std::string lease;
  tasks::Json result;
  static constexpr auto optional_fields = std::to_array<std::string_view>({"result"});
};
BOOST_DESCRIBE_STRUCT(DoneBody, (), (lease, result))

struct FailBody {
  std::string lease;
  std::string error;
  std::optional<DurationField> retry_in;
  bool dead = false;
  static constexpr auto optional_fields = std::to_array<std::string_view>({"dead"});
};
BOOST_DESCRIBE_STRUCT(FailBody, (), (lease, error, retry_in, dead))

struct DeferBody {
  std::string lease;
  DurationField for_;
};
BOOST_DESCRIBE_STRUCT(DeferBody, (), (lease, for_))

struct ReleaseBody {
  std::string lease;
};
BOOST_DESCRIBE_STRUCT(ReleaseBody, (), (lease))

struct LogBody {
  std::string lease;
  std::string line;
};
BOOST_DESCRIBE_STRUCT(LogBody, (), (lease, line))

struct ProgressBody {
  std::optional<double> fraction;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(ProgressBody, (), (fraction, note))

struct ExtendBody {
  std::string lease;
  std::optional<DurationField> for_;
  std::optional<ProgressBody> progress;
};
BOOST_DESCRIBE_STRUCT(ExtendBody, (), (lease, for_, progress))

struct FailPart {
  std::string error;
  std::optional<DurationField> retry_in;
  bool dead = false;
  static constexpr auto optional_fields = std::to_array<std::string_view>({"dead"});
};
BOOST_DESCRIBE_STRUCT(FailPart, (), (error, retry_in, dead))

struct ExtendPart {
  std::optional<DurationField> for_;
  std::optional<ProgressBody> progress;
};
BOOST_DESCRIBE_STRUCT(ExtendPart, (), (for_, progress))

struct OutcomeBody {
  TaskId id;
  std::string lease;
  AnyJson done;
  std::optional<FailPart> fail;
  std::optional<DurationField> defer;
  bool release = false;
  std::optional<std::string> cancel;
  std::optional<ExtendPart> extend;
  std::vector<std::string> log;
  static constexpr auto optional_fields =
      std::to_array<std::string_view>({"done", "release", "log"});
};
BOOST_DESCRIBE_STRUCT(OutcomeBody, (), (id, lease, done, fail, defer, release, cancel, extend, log))

// -- What they mean -------------------------------------------------------------------------------

tasks::Lease lease_of(std::string_view text, std::string_view field = "lease") {
  auto lease = parse_lease(text);
  if (lease) return *lease;
  throw ApiFailure(
      ApiError::bad_request(std::string(field), fmt::format("{} {}", field, lease.error())));
}

void check_result(const tasks::Json& result, std::string_view field) {
  if (auto problem = depth_problem(result, field)) throw ApiFailure(*std::move(problem));
  const std::size_t size = result.text().size();
  if (size <= tasks::limits::result_size) return;
  throw ApiFailure(ApiError::too_large(std::string(field), tasks::limits::result_size, size));
}

Outcome failed(const TaskId& id, const tasks::Lease& lease, FailPart part) {
  using enum Outcome::Kind;
  if (part.retry_in) must(tasks::check_delay(part.retry_in->value, "retry_in"));
  part.error.resize(tasks::cut_utf8(part.error, tasks::limits::message_size).size());
  return {.id = id,
          .lease = lease,
          .kind = part.dead ? failed_for_good : Outcome::Kind::failed,
          .text = part.error.empty() ? "it failed" : std::move(part.error),
          .later = part.retry_in ? std::optional(part.retry_in->value) : std::nullopt};
}

Outcome done(const ApiContext& api, const TaskId& id, const tasks::Lease& lease,
             tasks::Json result) {
  return {.id = id,
          .lease = lease,
          .kind = Outcome::Kind::done,
          .text = api.core->encoding().encode(std::move(result).text())};
}

void must_say_one_thing(const OutcomeBody& body, std::size_t index) {
  const int said = int{body.done.is_there} + int{body.fail.has_value()} +
                   int{body.defer.has_value()} + int{body.release} + int{body.cancel.has_value()} +
                   int{body.extend.has_value()};
  if (said == 1) return;
  const std::string where = fmt::format("[{}]", index);
  throw ApiFailure(ApiError::bad_request(
      where, where + " must have one of \"done\", \"fail\", \"defer\", \"release\", \"cancel\" "
                     "and \"extend\""));
}

Extension to_extension(const TaskId& id, const tasks::Lease& lease, ExtendPart part,
                       std::string_view where) {
  Extension extension{.id = id, .lease = lease};
  if (part.for_) {
    must(tasks::check_lease(part.for_->value, fmt::format("{}for", where)));
    extension.lease_for = part.for_->value;
  }
  if (!part.progress) return extension;
  if (part.progress->fraction) {
    must(
        tasks::check_fraction(*part.progress->fraction, fmt::format("{}progress.fraction", where)));
  }
  extension.progress = part.progress->fraction;
  extension.note = std::move(part.progress->note).value_or("");
  extension.note.resize(tasks::cut_utf8(extension.note, tasks::limits::note_size).size());
  return extension;
}

Outcome to_outcome(const ApiContext& api, OutcomeBody body, std::size_t index) {
  const std::string where = fmt::format("[{}]", index);
  const tasks::Lease lease = lease_of(body.lease, where + ".lease");
  if (body.defer) {
    must(tasks::check_delay(body.defer->value, where + ".defer"));
    return {
        .id = body.id, .lease = lease, .kind = Outcome::Kind::deferred, .later = body.defer->value};
  }
  if (body.release) return {.id = body.id, .lease = lease, .kind = Outcome::Kind::released};
  if (body.cancel) {
    std::string reason(tasks::cut_utf8(*body.cancel, tasks::limits::message_size));
    return {
        .id = body.id, .lease = lease, .kind = Outcome::Kind::cancelled, .text = std::move(reason)};
  }
  if (body.fail) return failed(body.id, lease, *std::move(body.fail));
  check_result(body.done.json, where + ".done");
  return done(api, body.id, lease, std::move(body.done.json));
}

std::optional<ApiError> error_of(Recorded recorded) {
  switch (recorded) {
    case Recorded::yes:
    case Recorded::again: break;
    case Recorded::stale:
      return ApiError{.status = 409,
                      .code = "stale_lease",
                      .message =
                          "the lease is not good any more: it has ended, and the task may be "
                          "somebody else's by now; stop working on it",
                      .field = "lease"};
    case Recorded::cancelled:
      return ApiError{.status = 409,
                      .code = "cancelled",
                      .message = "the task was cancelled; stop working on it"};
  }
  return std::nullopt;
}

// -- Telling the store ----------------------------------------------------------------------------

Lazy<std::vector<Recorded>> record(ApiContext& api, std::vector<Outcome> outcomes) {
  const auto shared = std::make_shared<const std::vector<Outcome>>(std::move(outcomes));
  const auto work = [shared](tasks::Transaction& transaction) {
    return std::expected<std::vector<Recorded>, tasks::TaskError>(transaction.finish(*shared));
  };
  auto lazy = tasks::async_transact<std::vector<Recorded>>(api.core, work);
  auto recorded = co_await std::move(lazy);
  co_return must(std::move(recorded));
}

Response answer_of(Recorded recorded, const TaskId& id) {
  if (auto error = error_of(recorded)) throw ApiFailure(*std::move(error));
  return json_response(200, fmt::format(R"({{"id":"{}"}})", id.to_string()));
}

Lazy<Response> record_one(ApiContext& api, Outcome outcome) {
  const TaskId id = outcome.id;
  std::vector<Outcome> one;
  one.push_back(std::move(outcome));
  auto lazy = record(api, std::move(one));
  const auto recorded = co_await std::move(lazy);
  co_return answer_of(recorded.front(), id);
}

Lazy<Response> finish_done(ApiContext& api, Call call) {
  auto body = body_of<DoneBody>(call);
  check_result(body.result, "result");
  return record_one(api, done(api, id_of(call), lease_of(body.lease), std::move(body.result)));
}

Lazy<Response> finish_failed(ApiContext& api, Call call) {
  auto body = body_of<FailBody>(call);
  return record_one(
      api, failed(id_of(call), lease_of(body.lease),
                  {.error = std::move(body.error), .retry_in = body.retry_in, .dead = body.dead}));
}

Lazy<Response> defer(ApiContext& api, Call call) {
  const auto body = body_of<DeferBody>(call);
  must(tasks::check_delay(body.for_.value, "for"));
  return record_one(api, {.id = id_of(call),
                          .lease = lease_of(body.lease),
                          .kind = Outcome::Kind::deferred,
                          .later = body.for_.value});
}

Lazy<Response> release(ApiContext& api, Call call) {
  const auto body = body_of<ReleaseBody>(call);
  return record_one(
      api, {.id = id_of(call), .lease = lease_of(body.lease), .kind = Outcome::Kind::released});
}

// Who says something about a task without being done with it, and so may have no time to claim.
struct Standing {
  Recorded recorded = Recorded::stale;
  std::string worker{};
};

Standing extend_one(tasks::Transaction& transaction, const Extension& extension) {
  const auto recorded = transaction.extend(std::span(&extension, 1)).front();
  if (recorded != Recorded::yes) return {.recorded = recorded};
  return {.recorded = recorded, .worker = transaction.holder_of(extension.lease)};
}

Lazy<Response> extend(ApiContext& api, Call call) {
  auto body = body_of<ExtendBody>(call);
  const Extension extension =
      to_extension(id_of(call), lease_of(body.lease),
                   {.for_ = body.for_, .progress = std::move(body.progress)}, "");
  const auto work = [extension](tasks::Transaction& transaction) {
    return std::expected<Standing, tasks::TaskError>(extend_one(transaction, extension));
  };
  auto lazy = tasks::async_transact<Standing>(api.core, work);
  auto result = co_await std::move(lazy);
  const Standing standing = must(std::move(result));
  api.workers.heard_of(standing.worker);
  co_return answer_of(standing.recorded, extension.id);
}

// Lines of who does not hold the lease are not kept.
Lazy<Response> add_line(ApiContext& api, Call call) {
  auto body = body_of<LogBody>(call);
  body.line.resize(tasks::cut_utf8(body.line, tasks::limits::log_line_size).size());
  tasks::TaskLines lines{.id = id_of(call), .lease = lease_of(body.lease), .lines = {}};
  lines.lines.push_back({.number = 0, .at = api.core->clock().now(), .line = std::move(body.line)});
  const auto work = [lines](tasks::Transaction& transaction) {
    const Extension same{.id = lines.id, .lease = lines.lease, .lease_for = tasks::Millis(1)};
    Standing standing = extend_one(transaction, same);
    if (standing.recorded == Recorded::yes) transaction.log(std::span(&lines, 1));
    return std::expected<Standing, tasks::TaskError>(std::move(standing));
  };
  auto lazy = tasks::async_transact<Standing>(api.core, work);
  auto result = co_await std::move(lazy);
  const Standing standing = must(std::move(result));
  api.workers.heard_of(standing.worker);
  co_return answer_of(standing.recorded, lines.id);
}

std::string line_of(const TaskId& id, Recorded recorded) {
  const auto error = error_of(recorded);
  if (!error) {
    return fmt::format(R"({{"id":"{}","ok":true{}}})", id.to_string(),
                       recorded == Recorded::again ? R"(,"again":true)" : "");
  }
  return fmt::format(
      R"({{"id":"{}","ok":false,"error":{{"code":"{}","message":"{}","field":null}}}})",
      id.to_string(), error->code, error->message);
}

// What many have said, in the order in which they have said it.
struct Said {
  std::vector<TaskId> ids{};
  std::vector<tasks::TaskLines> lines{};
  std::vector<Outcome> outcomes{};
  std::vector<Extension> extensions{};
  std::vector<bool> are_extensions{};
};

tasks::TaskLines to_lines(const ApiContext& api, OutcomeBody& body, std::size_t index) {
  const std::string where = fmt::format("[{}].", index);
  must(tasks::check_range(std::ssize(body.log), 0, std::int64_t{tasks::limits::log_lines},
                          where + "log"));
  tasks::TaskLines lines{
      .id = body.id, .lease = lease_of(body.lease, where + "lease"), .lines = {}};
  for (std::string& each : body.log) {
    each.resize(tasks::cut_utf8(each, tasks::limits::log_line_size).size());
    lines.lines.push_back({.number = 0, .at = api.core->clock().now(), .line = std::move(each)});
  }
  return lines;
}

Said to_said(const ApiContext& api, std::vector<OutcomeBody> bodies) {
  Said said;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    OutcomeBody& body = bodies[i];
    must_say_one_thing(body, i);
    said.ids.push_back(body.id);
    said.are_extensions.push_back(body.extend.has_value());
    if (!body.log.empty()) said.lines.push_back(to_lines(api, body, i));
    if (body.extend) {
      const std::string where = fmt::format("[{}].", i);
      said.extensions.push_back(to_extension(body.id, lease_of(body.lease, where + "lease"),
                                             *std::move(body.extend), where + "extend."));
    } else {
      said.outcomes.push_back(to_outcome(api, std::move(body), i));
    }
  }
  return said;
}

// What became of each, and who goes on working.
struct CarriedOut {
  std::vector<Recorded> recorded{};
  std::set<std::string> workers{};
};

// Lines first: who has finished no longer has a say.
CarriedOut carry_out(tasks::Transaction& transaction, const Said& said) {
  transaction.log(said.lines);
  const auto finished = transaction.finish(said.outcomes);
  auto next_finished = finished.begin();
  auto next_extension = said.extensions.begin();
  CarriedOut all;
  for (const bool is_extension : said.are_extensions) {
    if (!is_extension) {
      all.recorded.push_back(*next_finished++);
      continue;
    }
    Standing standing = extend_one(transaction, *next_extension++);
    all.recorded.push_back(standing.recorded);
    if (!standing.worker.empty()) all.workers.insert(std::move(standing.worker));
  }
  return all;
}

Lazy<Response> record_many(ApiContext& api, Call call) {
  auto bodies = body_of<std::vector<OutcomeBody>>(call);
  must(tasks::check_range(std::ssize(bodies), 0, most_at_once, "outcomes"));
  const auto said = std::make_shared<const Said>(to_said(api, std::move(bodies)));
  const auto work = [said](tasks::Transaction& transaction) {
    return std::expected<CarriedOut, tasks::TaskError>(carry_out(transaction, *said));
  };
  auto lazy = tasks::async_transact<CarriedOut>(api.core, work);
  auto result = co_await std::move(lazy);
  const CarriedOut all = must(std::move(result));
  for (const std::string& each : all.workers) api.workers.heard_of(each);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < said->ids.size(); ++i) {
    lines.push_back(line_of(said->ids[i], all.recorded[i]));
  }
  co_return json_response(200, fmt::format(R"({{"results":[{}]}})", fmt::join(lines, ",")));
}

using OfOne = Lazy<Response> (*)(ApiContext& api, Call call);

template <typename Body>
void add(Router& router, ApiContext& api, std::string pattern, std::string summary, OfOne handler) {
  router.add({.method = Method::post,
              .pattern = std::move(pattern),
              .role = Role::work,
              .summary = std::move(summary),
              .body = takes<Body>(),
              .handler = [&api, handler](Call call) { return handler(api, std::move(call)); }});
}

}  // namespace

void add_outcome_routes(Router& router, ApiContext& api) {
  add<DoneBody>(router, api, "/v1/tasks/{id}/done", "It is done", finish_done);
  add<FailBody>(router, api, "/v1/tasks/{id}/fail", "It has failed", finish_failed);
  add<DeferBody>(router, api, "/v1/tasks/{id}/defer", "Later; costs no attempt", defer);
  add<ReleaseBody>(router, api, "/v1/tasks/{id}/release", "Give it back at once", release);
  add<ExtendBody>(router, api, "/v1/tasks/{id}/extend", "It is still being worked on", extend);
  add<LogBody>(router, api, "/v1/tasks/{id}/log", "Keep a line of its log", add_line);
  add<std::vector<OutcomeBody>>(router, api, "/v1/outcomes", "What became of many tasks",
                                record_many);
}

}  // namespace handoff::server
