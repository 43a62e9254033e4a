#include "server/api/metrics.hpp"

#include <fmt/format.h>

#include <iterator>
#include <span>

namespace handoff::server {

namespace {

using tasks::TaskState;

class Text {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <typename Number>
  void sample(std::string_view name, std::string_view labels, Number number) {
    fmt::format_to(std::back_inserter(text_), "{}{} {}\n", name, labels, number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Names of queues need no escapes: see limits.hpp.
std::string of_queue(std::string_view queue) { return fmt::format("{{queue=\"{}\"}}", queue); }

void add_depths(Text& text, const std::vector<tasks::QueueLook>& queues, tasks::Time now) {
  text.family("handoff_tasks", "gauge", "Tasks by queue and state.");
  for (const auto& queue : queues) {
    for (std::size_t i = 0; i < tasks::task_states; ++i) {
      const auto state = static_cast<TaskState>(i);
      text.sample("handoff_tasks",
                  fmt::format("{{queue=\"{}\",state=\"{}\"}}", queue.name, to_string(state)),
                  queue.count(state));
    }
  }
  text.family("handoff_queue_capacity", "gauge", "Tasks that are not finished a queue may have.");
  for (const auto& queue : queues) {
    text.sample("handoff_queue_capacity", of_queue(queue.name), queue.settings.capacity);
  }
  text.family("handoff_queue_oldest_ready_seconds", "gauge",
              "How long the one has been ready that has waited longest.");
  for (const auto& queue : queues) {
    const double age =
        queue.oldest_ready
            ? std::max(0.0, std::chrono::duration<double>(now - *queue.oldest_ready).count())
            : 0.0;
    text.sample("handoff_queue_oldest_ready_seconds", of_queue(queue.name), age);
  }
}

using Looks = std::map<std::string, Meters::Look, std::less<>>;

void add_counters(Text& text, const Looks& looks) {
  struct Counter {
    std::string_view name;
    std::uint64_t QueueTotals::* what;
    std::string_view help;
  };
  constexpr Counter counters[] = {
      {"handoff_enqueued_total", &QueueTotals::in, "Tasks that were accepted."},
      {"handoff_done_total", &QueueTotals::done, "Tasks that are done."},
      {"handoff_failed_total", &QueueTotals::failed, "Attempts that have failed."},
      {"handoff_rejected_total", &QueueTotals::rejected, "Tasks there was no room for."}};
  for (const Counter& counter : counters) {
    text.family(counter.name, "counter", counter.help);
    for (const auto& [queue, look] : looks) {
      text.sample(counter.name, of_queue(queue), look.totals.*counter.what);
    }
  }
}

void add_histogram(Text& text, std::string_view name, std::string_view help, const Looks& looks,
                   Durations Meters::Look::* which) {
  text.family(name, "histogram", help);
  for (const auto& [queue, look] : looks) {
    const Durations& durations = look.*which;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i + 1 < Durations::buckets; ++i) {
      below += durations.counts[i];
      text.sample(fmt::format("{}_bucket", name),
                  fmt::format("{{queue=\"{}\",le=\"{}\"}}", queue,
                              std::chrono::duration<double>(Durations::bound(i)).count()),
                  below);
    }
    text.sample(fmt::format("{}_bucket", name), fmt::format("{{queue=\"{}\",le=\"+Inf\"}}", queue),
                durations.total);
    text.sample(fmt::format("{}_sum", name), of_queue(queue), durations.sum_seconds);
    text.sample(fmt::format("{}_count", name), of_queue(queue), durations.total);
  }
}

void add_http(Text& text, const HttpCounters& http) {
  text.family("handoff_http_connections", "gauge", "Connections that are open.");
  text.sample("handoff_http_connections", "", http.connections_open);
  text.family("handoff_http_connections_refused_total", "counter",
              "Connections that were too many.");
  text.sample("handoff_http_connections_refused_total", "", http.connections_refused);
  text.family("handoff_http_requests_total", "counter", "Requests that were read.");
  text.sample("handoff_http_requests_total", "", http.requests);
}

void add_requests(Text& text, const RequestMeters& requests) {
  constexpr std::string_view name = "handoff_http_request_seconds";
  text.family(name, "histogram", "From a request that was read to its answer, by route.");
  const std::string bucket = fmt::format("{}_bucket", name);
  for (const auto& look : requests.look()) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < RequestMeters::bounds.size(); ++i) {
      below += look.counts[i];
      text.sample(bucket, fmt::format("{{{},le=\"{}\"}}", look.labels, RequestMeters::bounds[i]),
                  below);
    }
    below += look.counts.back();
    text.sample(bucket, fmt::format("{{{},le=\"+Inf\"}}", look.labels), below);
    const std::string labels = fmt::format("{{{}}}", look.labels);
    text.sample(fmt::format("{}_sum", name), labels, look.sum_seconds);
    text.sample(fmt::format("{}_count", name), labels, below);
  }
}

using Totals = tasks::Batcher::Totals;

struct Commits {
  std::string_view name;
  std::string_view help;
  std::vector<double> bounds;
  std::span<const std::uint64_t> counts;  // One more: those above the last bound.
  double sum = 0;
};

void add_commits(Text& text, const Commits& commits) {
  text.family(commits.name, "histogram", commits.help);
  const std::string bucket = fmt::format("{}_bucket", commits.name);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < commits.bounds.size(); ++i) {
    below += commits.counts[i];
    text.sample(bucket, fmt::format("{{le=\"{}\"}}", commits.bounds[i]), below);
  }
  below += commits.counts.back();
  text.sample(bucket, "{le=\"+Inf\"}", below);
  text.sample(fmt::format("{}_sum", commits.name), "", commits.sum);
  text.sample(fmt::format("{}_count", commits.name), "", below);
}

void add_store(Text& text, ApiContext& api) {
  const auto totals = api.core->batcher().totals();
  text.family("handoff_store_commits_total", "counter", "Transactions of this process.");
  text.sample("handoff_store_commits_total", "", totals.commits);
  text.family("handoff_store_calls_total", "counter",
              "Calls these transactions were made of: with the above, how many share a commit.");
  text.sample("handoff_store_calls_total", "", totals.calls);
  text.family("handoff_store_commit_seconds_total", "counter", "What these transactions took.");
  const double spent = std::chrono::duration<double>(totals.spent).count();
  text.sample("handoff_store_commit_seconds_total", "", spent);
  add_commits(text, {.name = "handoff_store_commit_size",
                     .help = "Calls that shared a transaction.",
                     .bounds = {Totals::sizes.begin(), Totals::sizes.end()},
                     .counts = totals.by_size,
                     .sum = static_cast<double>(totals.calls)});
  std::vector<double> times;
  for (const auto each : Totals::times)
    times.push_back(std::chrono::duration<double>(each).count());
  add_commits(text, {.name = "handoff_store_commit_seconds",
                     .help = "How long transactions took.",
                     .bounds = std::move(times),
                     .counts = totals.by_time,
                     .sum = spent});
  text.family("handoff_store_waiting", "gauge", "Requests that wait for a transaction.");
  text.sample("handoff_store_waiting", "", api.line.waiting());
  text.family("handoff_store_refused_total", "counter",
              "Requests that were refused because too many wait for the store.");
  text.sample("handoff_store_refused_total", "", api.line.refused());
}

}  // namespace

std::string metrics_text(ApiContext& api, const HttpCounters& http, const RequestMeters& requests) {
  Text text;
  add_depths(text, api.tasks.queues(), api.core->clock().now());
  const Looks looks = api.meters.look_at_all();
  add_counters(text, looks);
  add_histogram(text, "handoff_wait_seconds", "How long tasks were ready before they ran.", looks,
                &Meters::Look::waits);
  add_histogram(text, "handoff_run_seconds", "How long attempts took.", looks, &Meters::Look::runs);
  add_store(text, api);
  add_http(text, http);
  add_requests(text, requests);
  return text.take();
}

}  // namespace handoff::server
