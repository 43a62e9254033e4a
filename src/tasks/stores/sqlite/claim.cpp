// Which tasks a worker gets.
#include <algorithm>
#include <cmath>

#include "tasks/entropy.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// What its rate has saved up.
double SqliteTransaction::tokens_of(const QueueRow& queue) const {
  const QueueSettings& settings = *queue.settings;
  const double burst = std::max(1, settings.burst);
  const auto passed = static_cast<double>((since_boot_ - Millis(queue.tokens_at)).count()) / 1000;
  // A machine that was started anew begins with a full burst.
  if (passed < 0 || queue.tokens_at == 0) return burst;
  return std::min(burst, queue.tokens + passed * settings.rate);
}

// How many the limits of the queue let through now.
int SqliteTransaction::allowed(QueueRow& queue, int wanted, std::optional<Millis>& again_in) {
  if (queue.is_paused) return 0;
  const QueueSettings& settings = *queue.settings;
  std::int64_t most = std::min<std::int64_t>(wanted, queue.count(TaskState::ready));
  if (settings.concurrency > 0) {
    most = std::min(most, settings.concurrency - queue.count(TaskState::running));
  }
  if (settings.rate > 0 && most > 0) {
    queue.tokens = tokens_of(queue);
    queue.tokens_at = since_boot_.count();
    queue.is_changed = true;
    if (queue.tokens < static_cast<double>(most)) {
      most = static_cast<std::int64_t>(queue.tokens);
      const double missing = 1 - (queue.tokens - static_cast<double>(most));
      again_in = Millis(static_cast<std::int64_t>(std::ceil(missing / settings.rate * 1000)));
    }
  }
  return static_cast<int>(std::max<std::int64_t>(most, 0));
}

// Those that have waited so long that no priority goes before them; the oldest first. If all have the same, there are none.
std::vector<std::int64_t> SqliteTransaction::aged(const QueueRow& queue, int most) {
  if (queue.settings->ageing == Millis(0)) return {};
  std::vector<std::int64_t> levels;
  std::int64_t below = 1'000'000;
  for (;;) {
    Query level(database_,
                "select priority from handoff_task where queue = ? and state = 2 and held = 0 and "
                "priority < ? "
                "order by priority desc limit 1",
                queue.id, below);
    if (!level.next()) break;
    levels.push_back(below = level.number(0));
  }
  if (levels.size() < 2) return {};
  std::vector<std::pair<std::int64_t, std::int64_t>> old;  // Since when, and who.
  for (const std::int64_t level : levels) {
    Query waiting(database_,
                  "select seq, at from handoff_task where queue = ? and state = 2 and held = 0 and "
                  "priority = ? "
                  "order by turn limit ?",
                  queue.id, level, most);
    while (waiting.next() && waiting.time(1) <= now_ - queue.settings->ageing) {
      old.emplace_back(waiting.number(1), waiting.number(0));
    }
  }
  std::ranges::sort(old);
  std::vector<std::int64_t> rows;
  for (const auto& [at, seq] : old) {
    if (std::ssize(rows) < most) rows.push_back(seq);
  }
  return rows;
}

ClaimResult SqliteTransaction::claim(const ClaimRequest& request) {
  ClaimResult result;
  QueueRow* const queue = rows_.queue(request.queue, false);
  if (queue == nullptr || queue->count(TaskState::ready) == 0) return result;
  const int most = allowed(*queue, request.most, result.again_in);
  if (most == 0) return result;

  std::vector<std::int64_t> rows = aged(*queue, most);
  if (std::ssize(rows) < most) {
    const auto first = rows;
    Query next(database_,
               "select seq from handoff_task where queue = ? and state = 2 and held = 0 "
               "order by priority desc, turn limit ?",
               queue->id, most + static_cast<int>(first.size()));
    while (std::ssize(rows) < most && next.next()) {
      const std::int64_t seq = next.number(0);
      if (std::ranges::find(first, seq) == first.end()) rows.push_back(seq);
    }
  }
  result.tasks.reserve(rows.size());
  for (const std::int64_t seq : rows) {
    if (auto claimed = claim_row(*queue, request, seq)) result.tasks.push_back(std::move(*claimed));
  }
  if (queue->settings->rate > 0) queue->tokens -= static_cast<double>(result.tasks.size());
  return result;
}

std::optional<Claimed> SqliteTransaction::claim_row(QueueRow& queue, const ClaimRequest& request,
                                                    std::int64_t seq) {
  Claimed claimed;
  TaskRow row;
  bool is_expired = false;
  {
    Query query(database_,
                "select id, kind, payload, attempt, max_attempts, crashes, timeout, trace, flags, "
                "turn, grp, size, "
                "expires_at, unique_key is not null, unique_for from handoff_task where seq = ?",
                seq);
    query.next();
    row = {.seq = seq,
           .id = query.id(0),
           .queue = queue.id,
           .state = TaskState::ready,
           .is_held = false,
           .turn = query.number(9),
           .group = query.number(10),
           .size = query.number(11),
           .flags = query.number(8),
           .has_unique_key = query.number(13) != 0,
           .unique_for = Millis(query.number(14))};
    is_expired = !query.is_null(12) && query.time(12) <= now_;
    claimed = {
        .id = row.id,
        .lease = {.row = seq, .token = static_cast<std::int64_t>(random_bits() >> 1)},
        .lease_until = {},
        .lease_for = request.lease_for > Millis(0) ? request.lease_for : queue.settings->lease_for,
        .queue = queue.name,
        .kind = std::string(query.text(1)),
        .payload = std::string(query.text(2)),
        .attempt = static_cast<int>(query.number(3)) + 1,
        .max_attempts = static_cast<int>(query.number(4)),
        .crashes = static_cast<int>(query.number(5)),
        .timeout = Millis(query.number(6)),
        .group = {},
        .trace = std::string(query.text(7)),
        .has_inputs = (row.flags & has_dependencies) != 0};
  }
  if (is_expired) {
    end(row, TaskState::cancelled, "it was not started in time");
    return std::nullopt;
  }
  if ((row.flags & has_large_payload) != 0) {
    Query large(database_, "select data from handoff_payload where seq = ?", seq);
    if (large.next()) claimed.payload = large.text(0);
  }
  if (row.group != 0) claimed.group = rows_.group(row.group).name;
  claimed.lease_until = now_ + claimed.lease_for;

  leave_ready(row);
  change(row, TaskState::running);
  queue.turn = std::max(queue.turn, row.turn);
  execute(database_,
          "update handoff_task set state = 3, attempt = attempt + 1, started_at = ?, lease = ?, "
          "lease_until = ?, "
          "process = ?, worker = ? where seq = ?",
          now_, claimed.lease.token, since_boot_ + claimed.lease_for, process_,
          if_any(request.worker), seq);
  note_due(claimed.lease_for);
  return claimed;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
