// POST /v1/claim: tasks for workers elsewhere. A claim that finds nothing waits, and is rung when there is something for it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "server/api/claim_book.hpp"
#include "server/api/context.hpp"
#include "server/api/duration_field.hpp"
#include "server/api/json_parts.hpp"
#include "server/api/lease_text.hpp"
#include "server/api/schema.hpp"
#include "server/api/task_json.hpp"
#include "tasks/async_call.hpp"

namespace handoff::server {

namespace {

using tasks::Millis;

constexpr int most_at_once = 1000;
constexpr std::size_t most_queues = 100;
constexpr std::size_t most_kinds = 1000;
constexpr std::size_t largest_answer = 8 << 20;  // About: of payloads and inputs.
constexpr auto longest_wait = std::chrono::minutes(5);

// Who claims, as others see it: what it takes, also where it has no room now.
struct PresenceBody {
  std::map<std::string, int> queues;  // How many of each at a time.
  std::vector<std::string> kinds;     // None: any.
  static constexpr auto optional_fields = std::to_array<std::string_view>({"kinds"});
};
BOOST_DESCRIBE_STRUCT(PresenceBody, (), (queues, kinds))

struct ClaimBody {
  std::vector<std::string> queues;
  int max = 1;
  std::optional<DurationField> wait;
  std::optional<DurationField> lease_for;
  std::string worker;
  std::map<std::string, int> limits;  // Of single queues.
  std::string claim_id;
  std::optional<PresenceBody> presence;

  static constexpr auto optional_fields =
      std::to_array<std::string_view>({"max", "worker", "limits", "claim_id"});
};
BOOST_DESCRIBE_STRUCT(ClaimBody, (),
                      (queues, max, wait, lease_for, worker, limits, claim_id, presence))

struct ReleaseBody {
  std::string claim_id;
};
BOOST_DESCRIBE_STRUCT(ReleaseBody, (), (claim_id))

// Without its payload and its inputs: these are written as they are stored, however deep they are nested.
struct ClaimedJson {
  tasks::TaskId id;
  std::string queue;
  std::string kind;
  int attempt = 1;
  int max_attempts = 1;
  int crashes = 0;
  std::string lease;
  tasks::Time lease_until;
  DurationField lease_for;
  std::optional<DurationField> timeout;
  std::optional<std::string> group;
  std::optional<std::string> trace;
};
BOOST_DESCRIBE_STRUCT(ClaimedJson, (),
                      (id, queue, kind, attempt, max_attempts, crashes, lease, lease_until,
                       lease_for, timeout, group, trace))

struct Taken {
  tasks::Claimed task;
  tasks::StepResults inputs;
};

struct Round {
  std::vector<Taken> taken{};
  std::size_t bytes = 0;
  std::map<std::string, Millis> again_in{};  // When the rate of a queue lets one more through.
  bool looks_again = false;                  // There may be more, at once.
  std::optional<std::int64_t> worker_row{};
  std::vector<std::string> unseen{};  // Queues that were not looked at to their end.
};

void check_presence(const PresenceBody& presence) {
  must(tasks::check_range(std::ssize(presence.queues), 1, most_queues, "presence.queues"));
  must(tasks::check_range(std::ssize(presence.kinds), 0, most_kinds, "presence.kinds"));
  for (const auto& [queue, most] : presence.queues) {
    must(tasks::check_queue(queue, "presence.queues"));
    must(tasks::check_range(most, 1, 1'000'000, fmt::format("presence.queues.{}", queue)));
  }
  for (const std::string& each : presence.kinds) must(tasks::check_kind(each, "presence.kinds"));
}

tasks::WorkerRow row_of(const ClaimBody& body) {
  tasks::WorkerRow row{.name = body.worker, .queues = {}, .kinds = {}};
  if (body.presence) {
    for (const auto& [queue, most] : body.presence->queues) {
      row.queues.push_back({.name = queue, .concurrency = most});
    }
    row.kinds = body.presence->kinds;
    return row;
  }
  for (const std::string& each : body.queues)
    row.queues.push_back({.name = each, .concurrency = 1});
  return row;
}

ClaimBody read_claim(const Call& call) {
  auto body = body_of<ClaimBody>(call);
  must(tasks::check_range(std::ssize(body.queues), 1, most_queues, "queues"));
  for (std::size_t i = 0; i < body.queues.size(); ++i) {
    must(tasks::check_queue(body.queues[i], fmt::format("queues[{}]", i)));
  }
  must(tasks::check_range(body.max, 1, most_at_once, "max"));
  if (body.wait) must(tasks::check_range(body.wait->value, Millis(0), longest_wait, "wait"));
  if (body.lease_for) must(tasks::check_lease(body.lease_for->value));
  if (body.worker.empty()) body.worker = "http:" + call.request.peer;
  must(tasks::check_worker(body.worker));
  for (const auto& [queue, most] : body.limits) {
    must(tasks::check_range(most, 1, most_at_once, fmt::format("limits.{}", queue)));
  }
  if (!body.claim_id.empty()) must(tasks::check_queue(body.claim_id, "claim_id"));
  if (body.presence) check_presence(*body.presence);
  return body;
}

tasks::ClaimRequest request_of(const ClaimBody& body, const std::string& queue, int most,
                               std::size_t most_bytes) {
  return {.queue = queue,
          .most = most,
          .lease_for = body.lease_for ? body.lease_for->value : Millis(0),
          .worker = body.worker,
          .most_bytes = most_bytes,
          .is_for_others = true};
}

tasks::Outcome released(const tasks::Claimed& claimed) {
  return {.id = claimed.id, .lease = claimed.lease, .kind = tasks::Outcome::Kind::released};
}

// False if it is too large to go beside the others.
bool add(Round& round, tasks::Transaction& transaction, tasks::Claimed& claimed) {
  tasks::StepResults inputs;
  if (claimed.has_inputs) inputs = transaction.inputs_within(claimed.id, largest_answer);
  std::size_t bytes = claimed.payload.size();
  for (const tasks::StepResult& each : inputs.results) bytes += each.result.size();
  if (!round.taken.empty() && round.bytes + bytes > largest_answer) return false;
  round.bytes += bytes;
  round.taken.push_back({.task = std::move(claimed), .inputs = std::move(inputs)});
  return true;
}

// Those that do not fit go back at once, as if they had not been claimed.
bool add_all(Round& round, tasks::Transaction& transaction, std::vector<tasks::Claimed>& claimed) {
  std::vector<tasks::Outcome> surplus;
  for (tasks::Claimed& each : claimed) {
    if (!surplus.empty() || !add(round, transaction, each)) surplus.push_back(released(each));
  }
  if (!surplus.empty()) transaction.finish(surplus);
  return surplus.empty();
}

// Until there are enough of them, or the answer would be larger than anybody wants.
void claim_from(Round& round, tasks::Transaction& transaction, const ClaimBody& body,
                const std::string& queue) {
  const auto limit = body.limits.find(queue);
  const auto before = std::ssize(round.taken);
  for (;;) {
    auto room = body.max - std::ssize(round.taken);
    if (limit != body.limits.end()) {
      room = std::min(room, limit->second - (std::ssize(round.taken) - before));
    }
    if (room <= 0 || round.bytes >= largest_answer) return round.unseen.push_back(queue);
    const int wanted = static_cast<int>(std::min<std::ptrdiff_t>(room, 100));
    auto result = transaction.claim(request_of(body, queue, wanted, largest_answer - round.bytes));
    const bool is_last = std::ssize(result.tasks) < wanted;
    if (result.has_more && result.tasks.empty()) round.looks_again = true;
    if (result.again_in) round.again_in[queue] = *result.again_in;
    if (!add_all(round, transaction, result.tasks) || result.is_cut) {
      return round.unseen.push_back(queue);
    }
    if (is_last) return;
  }
}

// In the order in which the queues are named.
Round claim(tasks::Transaction& transaction, const ClaimBody& body) {
  Round round;
  for (const std::string& queue : body.queues) claim_from(round, transaction, body, queue);
  return round;
}

ClaimedJson to_claimed(tasks::Claimed& task) {
  ClaimedJson json{.id = task.id,
                   .queue = std::move(task.queue),
                   .kind = std::move(task.kind),
                   .attempt = task.attempt,
                   .max_attempts = task.max_attempts,
                   .crashes = task.crashes,
                   .lease = to_text(task.lease),
                   .lease_until = task.lease_until,
                   .lease_for = DurationField{task.lease_for},
                   .timeout = {},
                   .group = {},
                   .trace = {}};
  if (task.timeout > Millis(0)) json.timeout = DurationField{task.timeout};
  if (!task.group.empty()) json.group = std::move(task.group);
  if (!task.trace.empty()) json.trace = std::move(task.trace);
  return json;
}

std::string claimed_text(const tasks::Encoding& encoding, Taken& taken) {
  const auto decoded = [&](const std::string& stored) {
    return stored_json(encoding.decode(stored).value_or(stored)).text();
  };
  JsonParts parts;
  parts.add("payload", decoded(taken.task.payload));
  if (taken.task.has_inputs) {
    JsonParts inputs;
    for (const tasks::StepResult& each : taken.inputs.results) {
      inputs.add(each.step, decoded(each.result));
    }
    parts.add("inputs", std::move(inputs).object());
  }
  if (const auto& others = taken.inputs.left_out; !others.empty()) {
    parts.add("inputs_left_out", fmt::format("[\"{}\"]", fmt::join(others, "\",\"")));
  }
  return std::move(parts).joined_to(to_claimed(taken.task));
}

// Nobody has got them.
void give_back(const std::shared_ptr<tasks::TasksCore>& core,
               std::vector<tasks::Outcome> outcomes) {
  core->batcher().run_later([outcomes = std::move(outcomes)](
                                tasks::Transaction& transaction) { transaction.finish(outcomes); },
                            [](const std::exception_ptr&) {});  // Their leases end all the same.
}

std::vector<tasks::Outcome> released(const std::vector<Taken>& taken) {
  std::vector<tasks::Outcome> outcomes;
  for (const Taken& each : taken) outcomes.push_back(released(each.task));
  return outcomes;
}

Response answer(ApiContext& api, Round round) {
  auto outcomes = released(round.taken);
  std::vector<std::string> items;
  for (Taken& each : round.taken) items.push_back(claimed_text(api.core->encoding(), each));
  Response response = json_response(200, page_text("tasks", items, ""));
  response.on_lost = [core = api.core, outcomes = std::move(outcomes)] {
    give_back(core, outcomes);
  };
  return response;
}

// A claim that waits: rung once for each task that it might get, and only while it wants one.
class WaitingClaim final : public tasks::HungryOne {
 public:
  WaitingClaim(ApiContext& api, const ClaimBody& body, const std::stop_token& hurry)
      : listeners_(api.core->listeners()),
        turns_(api.rate_turns),
        queues_(body.queues),
        hurries_(hurry, [this] { told_.set(); }) {
    listeners_.add(*this, queues_);
  }
  WaitingClaim(const WaitingClaim&) = delete;
  WaitingClaim& operator=(const WaitingClaim&) = delete;
  ~WaitingClaim() {
    listeners_.remove(*this);
    std::set<std::string> others = turns_.leave(queues_, this);  // Somebody else has to watch.
    // For something it has not looked at.
    if (was_rung() || !has_looked_) {
      others.insert(queues_.begin(), queues_.end());
    } else if (queues_.size() > 1) {
      // It was rung for one queue, and has taken from another.
      others.insert(unseen_.begin(), unseen_.end());
    }
    listeners_.ring({others.begin(), others.end()});
  }

  // Before it looks, so that what comes meanwhile is told.
  void begin_to_look() {
    told_.reset();
    is_hungry_ = true;
    has_looked_ = false;
  }
  void end_of_look(const Round& round) {
    has_looked_ = true;
    unseen_ = round.unseen;
    again_in_.reset();
    if (round.looks_again) again_in_ = Millis(0);
    for (const std::string& queue : queues_) watch(queue, round);
  }
  // In how long it looks again, if nobody rings.
  std::optional<Millis> again_in() const { return again_in_; }
  Event& told() { return told_; }

  bool ring(std::string_view) override {
    if (!is_hungry_.exchange(false)) return false;
    told_.set();
    return true;
  }
  std::vector<tasks::TaskId> in_hand() override { return {}; }
  void hear_of_cancelled(const tasks::TaskId&) override {}

 private:
  bool was_rung() const { return !is_hungry_; }
  void watch(const std::string& queue, const Round& round) {
    const auto found = round.again_in.find(queue);
    if (found == round.again_in.end()) {
      // Who has taken something goes, and then somebody else watches.
      if (!round.taken.empty()) return turns_.take_over(queue, this);
      if (turns_.give_up(queue, this)) listeners_.ring({queue});
      return;
    }
    if (!turns_.take(queue, this)) return;
    again_in_ = std::min(again_in_.value_or(found->second), found->second);
  }

  tasks::Listeners& listeners_;
  RateTurns& turns_;
  const std::vector<std::string> queues_;
  Event told_;
  detail::atomic<bool> is_hungry_{true};
  bool has_looked_ = true;
  std::vector<std::string> unseen_;
  std::optional<Millis> again_in_;
  std::stop_callback<std::function<void()>> hurries_;
};

// `worker` is stored with it, if there is one.
Lazy<Round> look(ApiContext& api, const ClaimBody& body,
                 std::optional<RemoteWorkers::Arrival> worker) {
  const auto shared = std::make_shared<const ClaimBody>(body);
  const auto work = [shared, worker = std::move(worker)](tasks::Transaction& transaction) {
    Round round = claim(transaction, *shared);
    if (worker) round.worker_row = store_worker(transaction, *worker);
    return std::expected<Round, tasks::TaskError>(std::move(round));
  };
  auto lazy = tasks::async_transact<Round>(api.core, work);
  auto round = co_await std::move(lazy);
  co_return must(std::move(round));
}

// A worker is seen as long as a claim of its is here, and a while longer.
class Presence {
 public:
  Presence(RemoteWorkers& workers, const ClaimBody& body)
      : workers_(workers), name_(body.worker), arrival_(workers.come(row_of(body), says(body))) {}
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  ~Presence() {
    if (is_being_stored_) workers_.stored(name_, std::nullopt);
    workers_.go(name_);
  }
  const std::optional<RemoteWorkers::Arrival>& arrival() const { return arrival_; }
  void stored(std::optional<std::int64_t> row) {
    if (!std::exchange(is_being_stored_, false)) return;
    workers_.stored(name_, row);
  }

 private:
  static RemoteWorkers::Says says(const ClaimBody& body) {
    return body.presence ? RemoteWorkers::Says::all_queues : RemoteWorkers::Says::some_queues;
  }

  RemoteWorkers& workers_;
  const std::string name_;
  const std::optional<RemoteWorkers::Arrival> arrival_;
  bool is_being_stored_ = arrival_.has_value();
};

Deadline until(TimePoint deadline, std::optional<Millis> again_in) {
  if (!again_in) return Deadline(deadline);
  return Deadline(std::min(deadline, now() + std::max(*again_in, Millis(1))));
}

Lazy<Response> claim_and_wait(ApiContext& api, std::shared_ptr<ClaimBook> book, Call call) {
  const ClaimBody body = read_claim(call);
  const std::stop_token& hurry = call.request.hurry;
  const TimePoint deadline = now() + (body.wait ? body.wait->value : Millis(0));
  ClaimBook::Begun begun;
  if (!body.claim_id.empty()) begun = book->begin(body.claim_id);
  if (!begun.lost.empty()) give_back(api.core, std::move(begun.lost));  // Before it looks.
  Presence presence(api.workers, body);
  Round round;
  {
    const StorePlace place(api);
    auto first = look(api, body, presence.arrival());
    round = co_await std::move(first);
  }
  presence.stored(round.worker_row);
  std::optional<WaitingClaim> waiting;
  while (round.taken.empty() && now() < deadline && !hurry.stop_requested()) {
    if (waiting) {
      const auto told = co_await waiting->told().async_wait(until(deadline, waiting->again_in()));
      static_cast<void>(told);
      if (hurry.stop_requested()) break;
    } else {
      waiting.emplace(api, body, hurry);
    }
    api.must_be_let_in_still(call.request);
    waiting->begin_to_look();
    auto again = look(api, body, std::nullopt);
    round = co_await std::move(again);
    waiting->end_of_look(round);
  }
  // Somebody has said meanwhile that it does not want them any more.
  const bool is_wanted = body.claim_id.empty() || round.taken.empty() ||
                         book->note(body.claim_id, begun.number, released(round.taken));
  if ((hurry.stop_requested() || !is_wanted) && !round.taken.empty()) {
    give_back(api.core, released(round.taken));
    round.taken.clear();
  }
  if (round.taken.empty()) co_return Response{.status = 204, .content_type = {}};
  co_return answer(api, std::move(round));
}

// What a claim has got whose answer was lost, or is not wanted any more.
Lazy<Response> release(ApiContext& api, std::shared_ptr<ClaimBook> book, Call call) {
  const auto body = body_of<ReleaseBody>(call);
  must(tasks::check_queue(body.claim_id, "claim_id"));
  const auto taken =
      std::make_shared<const std::vector<tasks::Outcome>>(book->release(body.claim_id));
  const auto work = [taken](tasks::Transaction& transaction) {
    const auto recorded = transaction.finish(*taken);
    return std::expected<std::int64_t, tasks::TaskError>(
        std::ranges::count(recorded, tasks::Recorded::yes));
  };
  auto lazy = tasks::async_transact<std::int64_t>(api.core, work);
  const auto count = co_await std::move(lazy);
  co_return json_response(200, fmt::format(R"({{"count":{}}})", must(count)));
}

struct LeaveBody {
  std::string worker;
};
BOOST_DESCRIBE_STRUCT(LeaveBody, (), (worker))

Lazy<Response> leave(ApiContext& api, Call call) {
  const auto body = body_of<LeaveBody>(call);
  const auto row = api.workers.leave(body.worker);
  if (!row) co_return json_response(200, "{}");
  const auto work = [row](tasks::Transaction& transaction) {
    transaction.remove_worker(*row);
    return std::expected<bool, tasks::TaskError>(true);
  };
  auto lazy = tasks::async_transact<bool>(api.core, work);
  const auto removed = co_await std::move(lazy);
  must(removed);
  co_return json_response(200, "{}");
}

}  // namespace

void add_claim_routes(Router& router, ApiContext& api) {
  const auto book = std::make_shared<ClaimBook>();
  router.add({.method = Method::post,
              .pattern = "/v1/workers/leave",
              .role = Role::work,
              .summary = "A worker claims no more, and is not to be seen any longer",
              .body = takes<LeaveBody>(),
              .handler = [&api](Call call) { return leave(api, std::move(call)); }});
  router.add(
      {.method = Method::post,
       .pattern = "/v1/claim",
       .role = Role::work,
       .summary = "Take tasks to work on, and wait for some",
       .body = takes<ClaimBody>(),
       .answers = {200, 204},
       .waits = Waits::always,
       .handler = [&api, book](Call call) { return claim_and_wait(api, book, std::move(call)); }});
  router.add({.method = Method::post,
              .pattern = "/v1/claim/release",
              .role = Role::work,
              .summary = "Give back what a claim has got whose answer was lost",
              .body = takes<ReleaseBody>(),
              .handler = [&api, book](Call call) { return release(api, book, std::move(call)); }});
}

}  // namespace handoff::server
