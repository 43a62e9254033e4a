#include "server/api/figures_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "handoff/tasks/time.hpp"

namespace handoff::server {

CountsJson to_counts_json(const StateCounts& counts) {
  using enum tasks::TaskState;
  const auto count = [&](tasks::TaskState state) {
    return counts[static_cast<std::size_t>(state)];
  };
  return {.scheduled = count(scheduled),
          .waiting = count(waiting),
          .ready = count(ready),
          .running = count(running),
          .done = count(done),
          .dead = count(dead),
          .cancelled = count(cancelled)};
}

RatesJson to_rates_json(const Meters::Look& meter) {
  const auto rate = [&](std::uint64_t number) {
    return std::round(100 * static_cast<double>(number) / meter.span) / 100;
  };
  return {.in = rate(meter.last_minute.in),
          .done = rate(meter.last_minute.done),
          .failed = rate(meter.last_minute.failed),
          .rejected = rate(meter.last_minute.rejected)};
}

QuantilesJson to_quantiles_json(const Durations& durations) {
  const auto at = [&](double part) {
    const auto found = durations.quantile(part);
    return found ? std::optional(DurationField{*found}) : std::nullopt;
  };
  return {.p50 = at(0.5), .p95 = at(0.95), .p99 = at(0.99)};
}

namespace {

template <typename Figure>
void add_column(std::string& text, std::string_view name, const std::vector<Moment>& moments,
                Figure figure) {
  fmt::format_to(std::back_inserter(text), "\"{}\":[", name);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (i > 0) text += ',';
    figure(std::back_inserter(text), moments[i]);
  }
  text += "],";
}

using Out = std::back_insert_iterator<std::string>;

auto number_of(std::uint32_t Moment::* what) {
  return [what](Out out, const Moment& moment) { fmt::format_to(out, "{}", moment.*what); };
}

auto milliseconds_of(std::uint8_t Moment::* what) {
  return [what](Out out, const Moment& moment) {
    if (moment.*what == Moment::no_waits) {
      fmt::format_to(out, "null");
    } else {
      fmt::format_to(out, "{}", Durations::bound(moment.*what).count());
    }
  };
}

}  // namespace

std::string to_json_text(const Track::Part& part, tasks::Time began) {
  const auto& moments = part.moments;
  std::string text = fmt::format("{{\"from\":\"{}\",\"step\":\"1s\",",
                                 tasks::to_text(began + std::chrono::seconds(part.first)));
  add_column(text, "in", moments, number_of(&Moment::in));
  add_column(text, "done", moments, number_of(&Moment::done));
  add_column(text, "failed", moments, number_of(&Moment::failed));
  add_column(text, "rejected", moments, number_of(&Moment::rejected));
  add_column(text, "depth", moments,
             [](Out out, const Moment& moment) { fmt::format_to(out, "{}", moment.depth()); });
  add_column(text, "wait_ms_p50", moments, milliseconds_of(&Moment::wait_p50));
  add_column(text, "wait_ms_p99", moments, milliseconds_of(&Moment::wait_p99));
  text += "\"states\":{";
  for (std::size_t i = 0; i < tasks::task_states; ++i) {
    add_column(text, to_string(static_cast<tasks::TaskState>(i)), moments,
               [i](Out out, const Moment& moment) { fmt::format_to(out, "{}", moment.counts[i]); });
  }
  text.back() = '}';
  return text + "}";
}

}  // namespace handoff::server
