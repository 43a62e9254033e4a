// GET /v1/events: what happens, as server-sent events.
//
//   id: 5f3a91c2-1027        where to go on from: a client sends it back as Last-Event-ID
//   event: task              id, queue, state, at
//   event: stats             all queues, once a second
//   event: gap               so many were missed; or all, if the server was started anew
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "server/api/context.hpp"

namespace handoff::server {

namespace {

constexpr auto between_stats = std::chrono::seconds(1);
constexpr auto between_signs =
    std::chrono::seconds(10);  // Of life, for those who want no statistics.

// What a reader wants to hear of.
struct Interest {
  std::string queue{};
  std::optional<tasks::TaskState> state{};
  bool has_stats = true;
};

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

std::string task_event(const EventLog& log, const LoggedEvent& event) {
  return fmt::format(
      "id: {}-{}\nevent: task\ndata: "
      "{{\"id\":\"{}\",\"queue\":\"{}\",\"state\":\"{}\",\"at\":\"{}\"}}\n\n",
      log.name(), event.number, event.id.to_string(), event.queue, to_string(event.state),
      tasks::to_text(event.at));
}

std::string gap_event(std::optional<std::uint64_t> missed) {
  return fmt::format("event: gap\ndata: {{\"missed\":{}}}\n\n",
                     missed ? fmt::to_string(*missed) : "null");
}

std::string queue_stats(const tasks::QueueLook& look, const Meters::Look& meter) {
  using enum tasks::TaskState;
  const auto rate = [&](std::uint64_t number) { return static_cast<double>(number) / meter.span; };
  return fmt::format(
      R"({{"name":"{}","paused":{},"scheduled":{},"waiting":{},"ready":{},"running":{},"done":{},"dead":{},"cancelled":{},"in":{:.2f},"finished":{:.2f},"failed":{:.2f},"rejected":{:.2f}}})",
      look.name, look.is_paused, look.count(scheduled), look.count(waiting), look.count(ready),
      look.count(running), look.count(done), look.count(dead), look.count(cancelled),
      rate(meter.last_minute.in), rate(meter.last_minute.done), rate(meter.last_minute.failed),
      rate(meter.last_minute.rejected));
}

std::string stats_event(ApiContext& api, const std::vector<tasks::QueueLook>& queues) {
  std::vector<std::string> items;
  for (const auto& each : queues) items.push_back(queue_stats(each, api.meters.look(each.name)));
  return fmt::format("event: stats\ndata: {{\"at\":\"{}\",\"queues\":[{}]}}\n\n",
                     tasks::to_text(api.core->clock().now()), fmt::join(items, ","));
}

// One reader of the stream.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(ApiContext& api, Interest interest, Place place, std::stop_token hurry)
      : api_(api),
        interest_(std::move(interest)),
        is_lost_(place.is_lost),
        reader_(api.events, place.after),
        hurry_(std::move(hurry)),
        hurries_(hurry_, [this] { reader_.told().set(); }) {}

  // What is to be sent next; nothing when it is over.
  Lazy<std::optional<std::string>> next() {
    std::string text;
    if (std::exchange(is_lost_, false)) text += gap_event(std::nullopt);
    while (text.empty()) {
      if (hurry_.stop_requested()) co_return std::nullopt;
      text += news();
      if (!interest_.has_stats && (!stats_at_ || now() >= *stats_at_)) {
        if (stats_at_) text += ": still here\n\n";
        stats_at_ = now() + between_signs;
      } else if (!stats_at_ || now() >= *stats_at_) {
        stats_at_ = now() + between_stats;
        try {
          auto looked = stats();
          text += co_await std::move(looked);
        } catch (const ApiFailure&) {  // Too many look at the store now: the next time, then.
        }
      }
      if (!text.empty()) break;
      const auto told = co_await reader_.told().async_wait(Deadline(*stats_at_));
      static_cast<void>(told);
    }
    co_return text;
  }

 private:
  std::string news() {
    std::string text;
    const auto part = reader_.next(interest_.queue);
    if (part.missed > 0) text += gap_event(part.missed);
    for (const LoggedEvent& each : part.events) {
      if (!interest_.state || each.state == *interest_.state) text += task_event(api_.events, each);
    }
    return text;
  }

  Lazy<std::string> stats() {
    const auto look = [self = shared_from_this()] {
      ApiContext& api = self->api_;
      const std::string& queue = self->interest_.queue;
      if (!queue.empty()) return stats_event(api, {api.tasks.queue(queue)});
      return api.stats.text([&api] { return stats_event(api, api.tasks.queues()); });
    };
    auto looked = on_pool_thread(api_.pool, look);
    co_return co_await std::move(looked);
  }

  ApiContext& api_;
  const Interest interest_;
  bool is_lost_;
  EventLog::Reader reader_;
  const std::stop_token hurry_;
  std::stop_callback<std::function<void()>> hurries_;
  std::optional<TimePoint> stats_at_;
};

Lazy<Response> open_stream(ApiContext& api, Call call) {
  const Query query(call, {"queue", "state", "stats"});
  Interest interest{.queue = query.text("queue"), .state = query.state("state")};
  if (!interest.queue.empty()) must(tasks::check_queue(interest.queue));
  const std::string stats = query.text("stats");
  if (!stats.empty() && stats != "queues" && stats != "none") {
    throw ApiFailure(ApiError::bad_request("stats", "stats must be queues or none"));
  }
  interest.has_stats = stats != "none";
  const auto stream = std::make_shared<Stream>(api, std::move(interest),
                                               place_of(api.events, call.request.last_event_id),
                                               call.request.hurry);
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
              .waits = Waits::always,
              .handler = [&api](Call call) { return open_stream(api, std::move(call)); }});
}

}  // namespace handoff::server
