// What queues are counted by, as JSON: one queue, or all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "handoff/tasks/payload.hpp"
#include "server/api/duration_field.hpp"
#include "server/events/meters.hpp"

namespace handoff::server {

struct CountsJson {
  std::int64_t scheduled = 0;
  std::int64_t waiting = 0;
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t done = 0;
  std::int64_t dead = 0;
  std::int64_t cancelled = 0;
};
BOOST_DESCRIBE_STRUCT(CountsJson, (), (scheduled, waiting, ready, running, done, dead, cancelled))

struct RatesJson {
  double in = 0;
  double done = 0;
  double failed = 0;
  double rejected = 0;
};
BOOST_DESCRIBE_STRUCT(RatesJson, (), (in, done, failed, rejected))

struct QuantilesJson {
  std::optional<DurationField> p50;
  std::optional<DurationField> p95;
  std::optional<DurationField> p99;
};
BOOST_DESCRIBE_STRUCT(QuantilesJson, (), (p50, p95, p99))

CountsJson to_counts_json(const StateCounts& counts);
RatesJson to_rates_json(const Meters::Look& meter);
QuantilesJson to_quantiles_json(const Durations& durations);

// The seconds of a track, a column for each figure. `began` is when its second 0 was.
//
//   {"from":"...","step":"1s","in":[0,3],"done":[...],"failed":[...],"rejected":[...],"depth":[...],"wait_ms_p50":[null,8],"wait_ms_p99":[...],"states":{"scheduled":[...],...}}
std::string to_json_text(const Track::Part& part, tasks::Time began);

}  // namespace handoff::server
