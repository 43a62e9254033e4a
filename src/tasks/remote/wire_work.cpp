// What workers ask for and say.
#include <array>

#include "tasks/lease_text.hpp"
#include "tasks/remote/wire_parts.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire {

namespace {

constexpr int most_at_once = 1000;        // That a server gives,
constexpr std::size_t most_kinds = 1000;  // and that it wants to know of.

struct ClaimedBody {
  TaskId id;
  std::string queue;
  std::string kind;
  Json payload;
  int attempt = 1;
  int max_attempts = 1;
  int crashes = 0;
  std::string lease;
  Time lease_until;
  std::optional<Span> lease_for;
  std::optional<Span> timeout;
  std::optional<std::string> group;
  std::optional<std::string> trace;
  std::optional<std::map<std::string, Json>> inputs;
};
BOOST_DESCRIBE_STRUCT(ClaimedBody, (),
                      (id, queue, kind, payload, attempt, max_attempts, crashes, lease, lease_until,
                       lease_for, timeout, group, trace, inputs))

struct ClaimBody {
  std::vector<ClaimedBody> tasks;
};
BOOST_DESCRIBE_STRUCT(ClaimBody, (), (tasks))

struct ErrorPart {
  std::string code;
};
BOOST_DESCRIBE_STRUCT(ErrorPart, (), (code))

struct ResultBody {
  bool ok = false;
  bool again = false;
  std::optional<ErrorPart> error;

  static constexpr auto optional_fields = std::to_array<std::string_view>({"again"});
};
BOOST_DESCRIBE_STRUCT(ResultBody, (), (ok, again, error))

struct ResultsBody {
  std::vector<ResultBody> results;
};
BOOST_DESCRIBE_STRUCT(ResultsBody, (), (results))

Claimed to_claimed(ClaimedBody body, bool has_codec) {
  const auto lease = parse_lease(body.lease);
  if (!lease) throw_unreadable("lease");
  Claimed claimed{.id = body.id,
                  .lease = *lease,
                  .lease_until = body.lease_until,
                  .lease_for = body.lease_for ? body.lease_for->value : std::chrono::seconds(30),
                  .queue = std::move(body.queue),
                  .kind = std::move(body.kind),
                  .payload = from_wire(std::move(body.payload).text(), has_codec),
                  .attempt = body.attempt,
                  .max_attempts = body.max_attempts,
                  .crashes = body.crashes,
                  .timeout = body.timeout ? body.timeout->value : Millis(0),
                  .group = std::move(body.group).value_or(""),
                  .trace = std::move(body.trace).value_or(""),
                  .has_inputs = body.inputs.has_value()};
  if (body.inputs) {
    claimed.inputs.emplace();
    for (auto& [step, result] : *body.inputs) {
      claimed.inputs->push_back(
          {.step = step, .task = {}, .result = from_wire(std::move(result).text(), has_codec)});
    }
  }
  return claimed;
}

Object begin(const TaskId& id, const Lease& lease, const LinesOf& lines) {
  Object body;
  body.add("id", id).add("lease", to_text(lease));
  const auto said = lines.find(id);
  if (said == lines.end()) return body;
  std::vector<std::string> texts;
  for (const LogLine& each : said->second) texts.push_back(each.line);
  body.add("log", texts);
  return body;
}

std::string failure_of(const Outcome& outcome) {
  Object fail;
  fail.add("error", readable_utf8(outcome.text, outcome.text.size()));
  if (outcome.later) fail.add("retry_in", *outcome.later);
  if (outcome.kind == Outcome::Kind::failed_for_good) fail.raw("dead", "true");
  return fail.text();
}

}  // namespace

std::string write_claim(const Claim& claim) {
  std::vector<std::string> queues;
  std::map<std::string, int> limits;
  int most = 0;
  for (const auto& [queue, count] : claim.queues) {
    queues.push_back(queue);
    limits[queue] = std::min(count, most_at_once);
    most = std::min(most + limits[queue], most_at_once);
  }
  Object body;
  body.add("claim_id", claim.claim_id).add("queues", queues).add("max", most);
  body.add("limits", limits).if_any("wait", claim.wait);
  body.if_any("lease_for", claim.lease_for);
  if (claim.worker == nullptr) return body.text();
  std::map<std::string, int> takes;
  for (const WorkerLook::Queue& each : claim.worker->queues) takes[each.name] = each.concurrency;
  body.add("worker", claim.worker->name);
  if (takes.size() > most_queues) return body.text();
  Object presence;
  presence.add("queues", takes);
  if (claim.worker->kinds.size() <= most_kinds) presence.add("kinds", claim.worker->kinds);
  body.raw("presence", presence.text());
  return body.text();
}

std::string write_release(const std::string& claim_id) {
  return Object().add("claim_id", claim_id).text();
}

std::string write_leaving(const std::string& worker) {
  return Object().add("worker", worker).text();
}

std::vector<Claimed> read_claimed(std::string_view body, bool has_codec) {
  if (body.empty()) return {};  // 204: the wait is over.
  std::vector<Claimed> all;
  for (ClaimedBody& each : read<ClaimBody>(body).tasks) {
    all.push_back(to_claimed(std::move(each), has_codec));
  }
  return all;
}

std::string write_outcome(const Outcome& outcome, const LinesOf& lines) {
  using enum Outcome::Kind;
  Object body = begin(outcome.id, outcome.lease, lines);
  switch (outcome.kind) {
    case done: body.raw("done", to_wire(outcome.text)); break;
    case failed:
    case failed_for_good: body.raw("fail", failure_of(outcome)); break;
    case deferred: body.add("defer", outcome.later.value_or(Millis(0))); break;
    case released: body.raw("release", "true"); break;
    case cancelled: body.add("cancel", outcome.text); break;
  }
  return body.text();
}

std::string write_extension(const Extension& extension, const LinesOf& lines) {
  Object news;
  if (extension.progress) news.add("fraction", *extension.progress);
  news.if_any("note", extension.note);
  Object extend;
  extend.if_any("for", extension.lease_for);
  if (!news.is_empty()) extend.raw("progress", news.text());
  Object body = begin(extension.id, extension.lease, lines);
  body.raw("extend", extend.text());
  return body.text();
}

std::vector<Recorded> read_recorded(std::string_view body, std::size_t count) {
  std::vector<Recorded> all;
  for (const ResultBody& each : read<ResultsBody>(body).results) {
    const bool is_cancelled = each.error && each.error->code == "cancelled";
    if (each.ok) {
      all.push_back(each.again ? Recorded::again : Recorded::yes);
    } else {
      all.push_back(is_cancelled ? Recorded::cancelled : Recorded::stale);
    }
  }
  if (all.size() != count) throw_unreadable("results");
  return all;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire
