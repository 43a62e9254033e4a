// GET /v1/events: what happens, as server-sent events.
//
//   id: 5f3a91c2-1027        where to go on from: a client sends it back as Last-Event-ID. Everything has one: of what a reader does not want it misses nothing
//   event: task              id, queue, state, at
//   event: stats             once a second: all queues together, and those that have changed; or one queue
//   event: gap               so many were missed; or all, if the server was started anew
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "server/api/context.hpp"
#include "server/api/figures_json.hpp"

namespace handoff::server {

namespace {

constexpr auto between_stats = std::chrono::seconds(1);
constexpr auto between_signs = std::chrono::seconds(10);  // Of life, where there are no statistics.
constexpr std::chrono::seconds recently{5};

enum class Stats : std::uint8_t { none, totals, queues };

// Where a reader goes on: after an event of this log, or after nothing it knows.
struct Place {
  std::uint64_t after = 0;
  bool is_lost = false;
};

Place place_of(const EventLog& log, std::string_view last_id) {
  if (last_id.empty()) return {.after = log.last()};
  const auto dash = last_id.rfind('-');
  Place place;
  if (dash == std::string_view::npos || last_id.substr(0, dash) != log.name()) {
    return {.after = log.last(), .is_lost = true};
  }
  const std::string_view number = last_id.substr(dash + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), place.after);
  if (read.ptr != number.data() + number.size() || place.after > log.last()) {
    return {.after = log.last(), .is_lost = true};
  }
  return place;
}

std::string place_line(const EventLog& log, std::uint64_t number) {
  return fmt::format("id: {}-{}\n", log.name(), number);
}

std::string task_event(const EventLog& log, const LoggedEvent& event) {
  return fmt::format(
      "{}event: task\ndata: "
      "{{\"id\":\"{}\",\"queue\":\"{}\",\"state\":\"{}\",\"at\":\"{}\"}}\n\n",
      place_line(log, event.number), event.id.to_string(), event.queue, to_string(event.state),
      tasks::to_text(event.at));
}

std::string gap_event(std::string_view place, std::optional<std::uint64_t> missed) {
  return fmt::format("{}event: gap\ndata: {{\"missed\":{}}}\n\n", place,
                     missed ? fmt::to_string(*missed) : "null");
}

// One reader of the stream.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(ApiContext& api, EventFilter wanted, Stats stats, Place place,
         std::shared_ptr<const Request> request)
      : api_(api),
        request_(std::move(request)),
        wanted_(std::move(wanted)),
        stats_(stats),
        is_lost_(place.is_lost),
        reader_(api.events, place.after),
        hurry_(request_->hurry),
        hurries_(hurry_, [this] { reader_.told().set(); }) {}

  // What is to be sent next; nothing when it is over.
  Lazy<std::optional<std::string>> next() {
    std::string text;
    if (std::exchange(is_lost_, false)) text += gap_event(place(reader_.seen()), std::nullopt);
    while (text.empty()) {
      if (hurry_.stop_requested() || !is_let_in_still()) co_return std::nullopt;
      text += news();
      if (!stats_at_ && stats_ == Stats::none) stats_at_ = now() + between_signs;
      if (!stats_at_ || now() >= *stats_at_) {
        const Duration pause = stats_ == Stats::none ? Duration(between_signs) : between_stats;
        stats_at_ = now() + pause;
        try {
          auto looked = stats();
          const std::string figures = co_await std::move(looked);
          text += place(reader_.seen()) + figures;
        } catch (const ApiFailure&) {  // Too many look at the store now: the next time, then.
        }
      }
      if (!text.empty()) break;
      const auto told = co_await reader_.told().async_wait(Deadline(*stats_at_));
      if (!told && told.error() == Refusal::stopped) co_return std::nullopt;
    }
    co_return text;
  }

 private:
  std::string place(std::uint64_t number) const { return place_line(api_.events, number); }

  // Asked with each look, at least once in ten seconds.
  bool is_let_in_still() const {
    try {
      api_.must_be_let_in_still(*request_);
      return true;
    } catch (const ApiFailure&) {
      return false;
    }
  }

  std::string news() {
    std::string text;
    const auto part = reader_.next(wanted_);
    if (part.missed > 0) text += gap_event(place(part.after), part.missed);
    for (const LoggedEvent& each : part.events) text += task_event(api_.events, each);
    return text;
  }

  Lazy<std::string> stats() {
    if (stats_ == Stats::none) co_return ": still here\n\n";
    const auto look = [self = shared_from_this()] {
      return self->wanted_.queue.empty() ? self->all_stats() : self->queue_stats();
    };
    auto looked = on_pool_thread(api_.pool, look);
    co_return co_await std::move(looked);
  }

  std::string queue_stats() {
    const tasks::QueueLook look = api_.tasks.queue(wanted_.queue);
    return fmt::format("event: stats\ndata: {{\"at\":\"{}\",\"queues\":[{}],\"recent\":{}}}\n\n",
                       tasks::to_text(api_.core->clock().now()), stats_text(api_, look),
                       to_json_text(api_.meters.history(wanted_.queue, recently), api_.started_at));
  }

  // Looked at once for all readers; what this one has not seen of it is its own.
  std::string all_stats() {
    const auto board = api_.stats.board(api_);
    const std::string recent = to_json_text(api_.meters.history_of_sum(recently), api_.started_at);
    std::string text =
        fmt::format("event: stats\ndata: {{\"at\":\"{}\",\"totals\":{{{}}},\"recent\":{}",
                    tasks::to_text(board->at), board->totals, recent);
    if (stats_ == Stats::queues) text += fmt::format(",\"queues\":[{}]", queues_.next(*board));
    return text + "}\n\n";
  }

  ApiContext& api_;
  const std::shared_ptr<const Request> request_;
  const EventFilter wanted_;
  const Stats stats_;
  bool is_lost_;
  StatsReader queues_;
  EventLog::Reader reader_;
  const std::stop_token hurry_;
  std::stop_callback<std::function<void()>> hurries_;
  std::optional<TimePoint> stats_at_;
};

struct Wanted {
  EventFilter events;
  Stats stats = Stats::queues;
  std::optional<tasks::TaskId> workflow;  // Its steps are still to be looked up.
};

Stats stats_of(const Query& query, Stats otherwise) {
  const std::string given = query.text("stats");
  if (given.empty()) return otherwise;
  if (given == "none") return Stats::none;
  if (given == "totals") return Stats::totals;
  if (given == "queues") return Stats::queues;
  throw ApiFailure(ApiError::bad_request(
      "stats", fmt::format("stats must be queues, totals or none, got \"{}\"", given)));
}

std::vector<tasks::TaskId> steps_of(ApiContext& api, const tasks::TaskId& id) {
  const auto workflow = api.tasks.workflow(id);
  if (!workflow) {
    throw ApiFailure(ApiError::not_found(fmt::format("there is no workflow {}", id.to_string())));
  }
  std::vector<tasks::TaskId> ids;
  for (const tasks::StepLook& each : workflow->steps) ids.push_back(each.task);
  std::ranges::sort(ids);
  return ids;
}

// What the parameters say. Throws ApiFailure.
Wanted wanted_by(const Call& call) {
  const Query query(call);
  Wanted wanted;
  wanted.events.queue = query.text("queue");
  wanted.events.state = query.state("state");
  if (!wanted.events.queue.empty()) must(tasks::check_queue(wanted.events.queue));
  if (!query.text("task").empty()) {
    wanted.events.tasks = {query.id("task")};
  } else if (!query.text("workflow").empty()) {
    wanted.workflow = query.id("workflow");
  }
  const bool is_narrow = wanted.events.tasks || wanted.workflow;
  wanted.stats = stats_of(query, is_narrow ? Stats::none : Stats::queues);
  return wanted;
}

Lazy<Response> open_stream(ApiContext& api, Call call) {
  const Place place = place_of(api.events, call.request.last_event_id);
  Wanted wanted = wanted_by(call);
  if (wanted.workflow) {  // They are known from its beginning.
    const auto read = [&api, id = *wanted.workflow] { return steps_of(api, id); };
    auto reading = on_pool_thread(api.pool, read);
    wanted.events.tasks = co_await std::move(reading);
  }
  const auto stream =
      std::make_shared<Stream>(api, std::move(wanted.events), wanted.stats, place, call.kept);
  Response response{.status = 200, .body = "retry: 1000\n\n", .content_type = "text/event-stream"};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.next_part = [stream] { return stream->next(); };
  co_return response;
}

}  // namespace

void add_event_routes(Router& router, ApiContext& api) {
  router.add({.method = Method::get,
              .pattern = "/v1/events",
              .role = Role::produce,
              .summary = "What happens, as server-sent events",
              .query = {{"queue"},
                        {"task", Parameter::Kind::id},
                        {"workflow", Parameter::Kind::id},
                        {"state", Parameter::Kind::state},
                        {"stats"}},
              .waits = Waits::always,
              .handler = [&api](Call call) { return open_stream(api, std::move(call)); }});
}

}  // namespace handoff::server
