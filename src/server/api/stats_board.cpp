#include "server/api/stats_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/api/context.hpp"
#include "server/api/figures_json.hpp"

namespace handoff::server {

namespace {

struct TotalsJson {
  std::int64_t queues = 0;
  std::int64_t paused = 0;
  CountsJson counts;
  std::int64_t unfinished = 0;
  std::int64_t capacity = 0;
  std::int64_t bytes = 0;
  std::optional<DurationField> oldest_ready_age;
  RatesJson rates;
  QuantilesJson wait_time;
  QuantilesJson run_time;
};
BOOST_DESCRIBE_STRUCT(TotalsJson, (),
                      (queues, paused, counts, unfinished, capacity, bytes, oldest_ready_age, rates,
                       wait_time, run_time))

std::string totals_text(ApiContext& api, const std::vector<tasks::QueueLook>& queues,
                        tasks::Time now) {
  TotalsJson totals;
  StateCounts counts{};
  std::optional<tasks::Time> oldest;
  for (const tasks::QueueLook& each : queues) {
    ++totals.queues;
    totals.paused += each.is_paused ? 1 : 0;
    totals.unfinished += each.unfinished();
    totals.capacity += each.settings.capacity;
    totals.bytes += each.bytes;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += each.counts[i];
    if (each.oldest_ready)
      oldest = std::min(oldest.value_or(*each.oldest_ready), *each.oldest_ready);
  }
  const Meters::Look meter = api.meters.look_at_sum();
  totals.counts = to_counts_json(counts);
  totals.rates = to_rates_json(meter);
  totals.wait_time = to_quantiles_json(meter.waits);
  totals.run_time = to_quantiles_json(meter.runs);
  if (oldest) {
    totals.oldest_ready_age = DurationField{std::max(now - *oldest, std::chrono::milliseconds(0))};
  }
  auto json = tasks::to_json(totals);
  std::string text = json ? std::move(*json).text() : "{}";
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string stats_text(ApiContext& api, const tasks::QueueLook& look) {
  using enum tasks::TaskState;
  const Meters::Look meter = api.meters.look(look.name);
  const auto rate = [&](std::uint64_t number) { return static_cast<double>(number) / meter.span; };
  const std::string oldest =
      look.oldest_ready ? fmt::format("\"{}\"", tasks::to_text(*look.oldest_ready)) : "null";
  return fmt::format(
      R"({{"name":"{}","paused":{},"scheduled":{},"waiting":{},"ready":{},"running":{},"done":{},"dead":{},"cancelled":{},"capacity":{},"oldest_ready_at":{},"in":{:.2f},"finished":{:.2f},"failed":{:.2f},"rejected":{:.2f}}})",
      look.name, look.is_paused, look.count(scheduled), look.count(waiting), look.count(ready),
      look.count(running), look.count(done), look.count(dead), look.count(cancelled),
      look.settings.capacity, oldest, rate(meter.last_minute.in), rate(meter.last_minute.done),
      rate(meter.last_minute.failed), rate(meter.last_minute.rejected));
}

std::shared_ptr<const StatsBoard> StatsBoards::board(ApiContext& api) {
  const auto turn = lock_.hold();
  if (made_at_ && now() - *made_at_ <= good_for) return board_;
  const std::vector<tasks::QueueLook> queues = api.tasks.queues();
  api.meters.set_counts(queues);
  auto board = std::make_shared<StatsBoard>();
  board->version = board_ ? board_->version + 1 : 1;
  board->at = api.core->clock().now();
  board->totals = totals_text(api, queues, board->at);
  const auto* before = board_ ? board_->rows.data() : nullptr;
  const auto* const end = board_ ? before + board_->rows.size() : nullptr;
  for (const tasks::QueueLook& each : queues) {
    std::string text = stats_text(api, each);
    while (before != end && before->queue < each.name) ++before;
    const bool is_same = before != end && before->queue == each.name && before->text == text;
    const std::uint64_t version = is_same ? before->version : board->version;
    board->rows.push_back({.queue = each.name, .text = std::move(text), .version = version});
  }
  board_ = std::move(board);
  made_at_ = now();
  return board_;
}

std::string StatsReader::next(const StatsBoard& board) {
  std::string text;
  std::size_t told = 0;
  if (last_.empty()) round_ = board.version;
  auto row = std::ranges::upper_bound(board.rows, last_, {}, &StatsBoard::Row::queue);
  for (; row != board.rows.end() && told < most; ++row) {
    if (row->version <= seen_) continue;
    if (told++ > 0) text += ',';
    text += row->text;
    last_ = row->queue;
  }
  if (row == board.rows.end()) {
    last_.clear();
    seen_ = round_;
  }
  return text;
}

}  // namespace handoff::server
