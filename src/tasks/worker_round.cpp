// What one commit of a worker is to do, and what becomes of it.
#include <algorithm>
#include <iterator>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/tasks/limits.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
constexpr Millis after_failure{500};  // Of the store.
constexpr Millis pool_patience{
    100};  // For a pool that is full: leases have to be extended meanwhile.
}  // namespace

void WorkerCore::add_lines_locked(Round& round, Context::Run& run) {
  if (run.lines.empty()) return;
  round.lines.push_back(
      {.id = run.task.id,
       .lease = run.task.lease,
       .lines = {std::move_iterator(run.lines.begin()), std::move_iterator(run.lines.end())}});
  round.logged.push_back(&run);
  run.lines.clear();
}

void WorkerCore::add_outcomes(Round& round) {
  const auto turn = lock_.hold();
  round.ended = std::exchange(ended_, {});
  for (Ended& each : round.ended) {
    each.run->has_ended = true;
    if (each.run->is_given_back) continue;
    Outcome outcome = each.outcome;
    judge(each, outcome);
    add_lines_locked(round, *each.run);
    round.outcomes.push_back(std::move(outcome));
  }
}

void WorkerCore::add_extensions(Round& round, Millis now) {
  const auto turn = lock_.hold();
  for (Context::Run& each : runs_) {
    if (each.has_ended || each.is_given_back || each.is_late) continue;
    const bool has_news = each.news_due && now >= *each.news_due;
    if (now < each.next_extension && !has_news) continue;
    add_lines_locked(round, each);
    round.extensions.push_back({.id = each.task.id,
                                .lease = each.task.lease,
                                .lease_for = each.task.lease_for,
                                .progress = std::exchange(each.progress, std::nullopt),
                                .note = std::exchange(each.note, {})});
    round.extended.push_back(&each);
    each.news_due.reset();
    each.next_extension = std::max(each.next_extension, now + each.task.lease_for / 3);
  }
}

void WorkerCore::add_claims(Round& round, Millis now) {
  if (pool_is_full_until_ && handoff::now() < *pool_is_full_until_) return;
  pool_is_full_until_.reset();
  const bool is_rung = is_rung_.exchange(false);
  for (Queue& each : queues_) {
    if (each.again_at && now >= *each.again_at) {
      each.again_at.reset();
      each.may_have_more = true;
    }
    each.may_have_more |= is_rung;
    // Places that this round frees count.
    const auto freed = std::ranges::count_if(
        round.ended, [&](const Ended& one) { return one.run->task.queue == each.name; });
    int free = each.concurrency - each.running + static_cast<int>(freed);
    if (options_.runs_inline) free = std::min(free, 1);
    if (!each.may_have_more || free <= 0) continue;
    round.claims.push_back({.queue = each.name,
                            .most = free,
                            .lease_for = options_.lease_for,
                            .worker = name_,
                            .worker_row = row_});
    round.queues.push_back(&each);
  }
}

// Those that have not ended in time: what they say no longer counts.
void WorkerCore::give_back(Round& round) {
  const auto turn = lock_.hold();
  for (Context::Run& each : runs_) {
    if (each.has_ended || each.is_given_back.exchange(true)) continue;
    add_lines_locked(round, each);
    round.given_back.push_back(&each);
    round.outcomes.push_back(outcome_of(each, Outcome::Kind::released));
  }
}

// Those whose time is over, and who do not stop: they have failed, before their lease ends and they count as crashed.
void WorkerCore::give_up_late(Round& round, Millis now) {
  const auto turn = lock_.hold();
  for (Context::Run& each : runs_) {
    const auto until = gives_up_late_at(each);
    if (!until || now < *until || each.has_ended || each.is_given_back.exchange(true)) continue;
    add_lines_locked(round, each);
    round.given_back.push_back(&each);
    Outcome outcome = outcome_of(each, Outcome::Kind::failed);
    outcome.text = "it was asked to stop, and did not";
    judge({.run = &each, .outcome = {}, .was_late = true}, outcome);
    round.outcomes.push_back(std::move(outcome));
  }
}

void WorkerCore::commit(Round& round) {
  core_.batcher().run([&](Transaction& transaction) {
    transaction.log(round.lines);  // First: who has finished no longer has a say.
    round.recorded = transaction.finish(round.outcomes);
    round.renewed = transaction.extend(round.extensions);
    round.claimed.clear();
    for (const ClaimRequest& each : round.claims) round.claimed.push_back(transaction.claim(each));
  });
}

// The store has failed. What there is to say is said once more; leases that end meanwhile are taken by others.
void WorkerCore::undo(Round& round) {
  const auto turn = lock_.hold();
  for (const Ended& each : round.ended) each.run->has_ended = false;
  ended_.insert(ended_.begin(), std::make_move_iterator(round.ended.begin()),
                std::make_move_iterator(round.ended.end()));
  for (Context::Run* const each : round.given_back) each->is_given_back = false;
  for (std::size_t i = 0; i < round.extended.size(); ++i) {
    Context::Run& run = *round.extended[i];
    run.next_extension = clock() + after_failure;
    if (!run.progress) {  // Nothing newer was said.
      run.progress = round.extensions[i].progress;
      run.note = std::move(round.extensions[i].note);
    }
  }
  for (std::size_t i = 0; i < round.logged.size(); ++i) {
    auto& lines = round.logged[i]->lines;
    auto& said = round.lines[i].lines;
    lines.insert(lines.begin(), std::make_move_iterator(said.begin()),
                 std::make_move_iterator(said.end()));
    while (lines.size() > limits::log_lines) lines.pop_front();
  }
  is_rung_ = true;
}

void WorkerCore::take_in(Round& round) {
  for (std::size_t i = 0; i < round.recorded.size(); ++i) {
    if (round.recorded[i] == Recorded::stale) {
      ++report_.stale;
      continue;
    }
    if (round.recorded[i] == Recorded::cancelled) {
      ++report_.cancelled;
      continue;
    }
    switch (round.outcomes[i].kind) {
      case Outcome::Kind::done: ++report_.done; break;
      case Outcome::Kind::failed:
      case Outcome::Kind::failed_for_good: ++report_.failed; break;
      case Outcome::Kind::deferred: ++report_.deferred; break;
      case Outcome::Kind::released: ++report_.given_back; break;
      case Outcome::Kind::cancelled: ++report_.cancelled; break;
    }
  }
  // What is ready because of these, a server tells only those who wait.
  if (is_until_idle_ && core_.elsewhere() != nullptr && !round.recorded.empty()) is_rung_ = true;
  for (std::size_t i = 0; i < round.renewed.size(); ++i) {
    if (round.renewed[i] != Recorded::yes) round.extended[i]->stop.request_stop();
  }
  for (const Ended& each : round.ended) {
    --std::ranges::find(queues_, each.run->task.queue, &Queue::name)->running;
  }
  if (!round.ended.empty()) {
    runs_.remove_if([](const Context::Run& run) { return run.has_ended; });
    const auto turn = lock_.hold();
    ids_in_hand_.clear();
    for (const Context::Run& each : runs_) ids_in_hand_.push_back(each.task.id);
  }
  const Deadline patience = within(pool_patience);
  for (std::size_t i = 0; i < round.claimed.size(); ++i) {
    Queue& queue = *round.queues[i];
    ClaimResult& result = round.claimed[i];
    queue.may_have_more = result.has_more;
    if (result.again_in) queue.again_at = clock() + *result.again_in;
    for (Claimed& task : result.tasks) {
      ++queue.running;
      start(std::move(task), patience);
    }
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
