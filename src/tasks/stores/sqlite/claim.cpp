// Which tasks a worker gets.
#include <algorithm>
#include <cmath>

#include "handoff/detail/core/assert.hpp"
#include "tasks/entropy.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {
constexpr int most_passes = 20;  // In one transaction: others wait for its end.
}

// What its rate has saved up.
double SqliteTransaction::tokens_of(const QueueRow& queue) const {
  const QueueSettings& settings = *queue.settings;
  const double burst = std::max(1, settings.burst);
  const auto passed = static_cast<double>((since_boot_ - Millis(queue.tokens_at)).count()) / 1000;
  // A machine that was started anew begins with a full burst.
  if (passed < 0 || queue.tokens_at == 0) return burst;
  return std::min(burst, queue.tokens + passed * settings.rate);
}

void SqliteTransaction::set_tokens(QueueRow& queue, double tokens) const {
  queue.tokens = std::min<double>(tokens, std::max(1, queue.settings->burst));
  queue.tokens_at = since_boot_.count();
  queue.is_changed = true;
}

// How many the limits of the queue let through now. Changes nothing: who gets nothing has not written, and wakes nobody.
int SqliteTransaction::allowed(QueueRow& queue, int wanted, std::optional<Millis>& again_in) const {
  if (queue.is_paused) return 0;
  const QueueSettings& settings = *queue.settings;
  std::int64_t most = std::min<std::int64_t>(wanted, queue.count(TaskState::ready));
  if (settings.concurrency > 0) {
    most = std::min(most, settings.concurrency - queue.count(TaskState::running));
  }
  if (settings.rate > 0 && most > 0) {
    const double tokens = tokens_of(queue);
    if (tokens < static_cast<double>(most)) {
      most = static_cast<std::int64_t>(tokens);
      const double missing = 1 - (tokens - static_cast<double>(most));
      again_in = Millis(static_cast<std::int64_t>(std::ceil(missing / settings.rate * 1000)));
    }
  }
  return static_cast<int>(std::max<std::int64_t>(most, 0));
}

// The priorities of those that may be claimed, the highest first.
std::vector<std::int64_t> SqliteTransaction::levels_of(const QueueRow& queue) {
  std::vector<std::int64_t> levels;
  std::int64_t below = 1'000'000;
  for (;;) {
    Query level(database(),
                "select priority from handoff_task where queue = ? and state = 2 and held = 0 and "
                "priority < ? "
                "order by priority desc limit 1",
                queue.id, below);
    if (!level.next()) break;
    levels.push_back(below = level.number(0));
  }
  return levels;
}

// Those that have waited so long that no priority goes before them; the oldest first. If all have the same, there are none.
std::vector<std::int64_t> SqliteTransaction::aged(const QueueRow& queue, int most) {
  if (queue.settings->ageing == Millis(0)) return {};
  const auto levels = levels_of(queue);
  if (levels.size() < 2) return {};
  std::vector<std::pair<std::int64_t, std::int64_t>> old;  // Since when, and who.
  for (const std::int64_t level : levels) {
    Query waiting(database(),
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

  result.tasks.reserve(static_cast<std::size_t>(most));
  // Those that were not started in time end here, and others are behind them.
  bool meets_late_ones = true;
  for (int pass = 0; pass < most_passes && meets_late_ones && !result.is_cut; ++pass) {
    const int wanted = most - static_cast<int>(result.tasks.size());
    const auto old = aged(*queue, wanted);
    meets_late_ones = claim_rows(*queue, request, old, result);
    const int left = wanted - static_cast<int>(old.size());
    if (result.is_cut) break;
    if (left > 0) meets_late_ones |= claim_next(*queue, request, left, result);
  }
  result.has_more = meets_late_ones || std::ssize(result.tasks) == request.most;
  if (queue->settings->rate > 0 && !result.tasks.empty()) {
    set_tokens(*queue, tokens_of(*queue) - static_cast<double>(result.tasks.size()));
  }
  return result;
}

namespace {
#define CANDIDATE                                                                                \
  "select seq, id, kind, payload, attempt, max_attempts, crashes, timeout, trace, flags, turn, " \
  "grp, size, expires_at, unique_key is not null, unique_for, at from handoff_task "
#define NEXT_READY "where queue = ? and state = 2 and held = 0 order by priority desc, turn limit ?"
#define CLAIM                                                                             \
  "update handoff_task set state = 3, attempt = attempt + 1, started_at = ?, lease = ?, " \
  "lease_until = ?, process = ?, worker = ?, expires_at = null "

std::int64_t new_token() { return static_cast<std::int64_t>(random_bits() >> 1); }

std::size_t bytes_of(const std::vector<Claimed>& claimed) {
  std::size_t bytes = 0;
  for (const Claimed& each : claimed) bytes += each.payload.size();
  return bytes;
}

// How many of them fit beside what is claimed already. The very first one always does.
std::size_t how_many_fit(const std::vector<Candidate>& candidates, const ClaimRequest& request,
                         const std::vector<Claimed>& claimed) {
  std::size_t bytes = bytes_of(claimed);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    bytes += static_cast<std::size_t>(candidates[i].row.size);
    if (bytes > request.most_bytes && i + claimed.size() > 0) return i;
  }
  return candidates.size();
}
}  // namespace

Candidate SqliteTransaction::read_candidate(const Query& query, const QueueRow& queue,
                                            const ClaimRequest& request, std::int64_t token) {
  const std::int64_t seq = query.number(0);
  const Millis lease_for =
      request.lease_for > Millis(0) ? request.lease_for : queue.settings->lease_for;
  const TaskRow row{.seq = seq,
                    .id = query.id(1),
                    .queue = queue.id,
                    .state = TaskState::ready,
                    .is_held = false,
                    .turn = query.number(10),
                    .group = query.number(11),
                    .size = query.number(12),
                    .flags = query.number(9),
                    .since = query.time(16),
                    .has_unique_key = query.number(14) != 0,
                    .unique_for = Millis(query.number(15))};
  return {.row = row,
          .claimed = {.id = row.id,
                      .lease = {.row = seq, .token = token},
                      .lease_until = now_ + lease_for,
                      .lease_for = lease_for,
                      .queue = queue.name,
                      .kind = std::string(query.text(2)),
                      .payload = std::string(query.text(3)),
                      .attempt = static_cast<int>(query.number(4)) + 1,
                      .max_attempts = static_cast<int>(query.number(5)),
                      .crashes = static_cast<int>(query.number(6)),
                      .timeout = Millis(query.number(7)),
                      .group = {},
                      .trace = std::string(query.text(8)),
                      .has_inputs = (row.flags & has_dependencies) != 0},
          .is_expired = !query.is_null(13) && query.time(13) <= now_};
}

// The first ones in their order. They share the token: it is the worker's, and their rows differ.
bool SqliteTransaction::claim_next(QueueRow& queue, const ClaimRequest& request, int most,
                                   ClaimResult& result) {
  const std::int64_t token = new_token();
  std::vector<Candidate> candidates;
  {
    Query next(database(), CANDIDATE NEXT_READY, queue.id, most);
    while (next.next()) candidates.push_back(read_candidate(next, queue, request, token));
  }
  if (candidates.empty()) return false;
  const std::size_t fitting = how_many_fit(candidates, request, result.tasks);
  result.is_cut |= fitting < candidates.size();
  candidates.resize(fitting);
  if (candidates.empty()) return false;
  if (std::ranges::any_of(candidates, &Candidate::is_expired)) {
    std::vector<std::int64_t> rows;
    for (const Candidate& each : candidates) rows.push_back(each.row.seq);
    return claim_rows(queue, request, rows, result);
  }
  const Millis lease_for = candidates.front().claimed.lease_for;
  const auto changed =
      execute(database(), CLAIM "where seq in (select seq from handoff_task " NEXT_READY ")", now_,
              token, since_boot_ + lease_for, owner(request), if_any(request.worker), queue.id,
              std::ssize(candidates));
  HANDOFF_ASSERT(changed == std::ssize(candidates));
  for (Candidate& each : candidates) {
    take(queue, each);
    result.tasks.push_back(std::move(each.claimed));
  }
  return false;
}

bool SqliteTransaction::claim_rows(QueueRow& queue, const ClaimRequest& request,
                                   std::span<const std::int64_t> rows, ClaimResult& result) {
  bool meets_late_ones = false;
  std::size_t bytes = bytes_of(result.tasks);
  for (const std::int64_t seq : rows) {
    Candidate candidate;
    {
      Query query(database(), CANDIDATE "where seq = ?", seq);
      if (!query.next()) throw_damaged(database().raw(), "an index names a task that is not there");
      candidate = read_candidate(query, queue, request, new_token());
    }
    if (candidate.is_expired) {
      end(candidate.row, TaskState::cancelled, "it was not started in time");
      meets_late_ones = true;
      continue;
    }
    bytes += static_cast<std::size_t>(candidate.row.size);
    result.is_cut |= bytes > request.most_bytes && !result.tasks.empty();
    if (result.is_cut) break;
    execute(database(), CLAIM "where seq = ?", now_, candidate.claimed.lease.token,
            since_boot_ + candidate.claimed.lease_for, owner(request), if_any(request.worker), seq);
    take(queue, candidate);
    result.tasks.push_back(std::move(candidate.claimed));
  }
  return meets_late_ones;
}

// What a claim changes besides the row.
void SqliteTransaction::take(QueueRow& queue, Candidate& candidate) {
  TaskRow& row = candidate.row;
  if ((row.flags & has_large_payload) != 0) {
    Query large(database(), "select data from handoff_payload where seq = ?", row.seq);
    if (large.next()) candidate.claimed.payload = large.text(0);
  }
  if (row.group != 0) candidate.claimed.group = rows_.group(row.group).name;
  leave_ready(row);
  change(row, TaskState::running);
  queue.turn = std::max(queue.turn, row.turn);
  note_due(candidate.claimed.lease_for);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
