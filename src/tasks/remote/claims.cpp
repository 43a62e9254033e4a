#include "tasks/remote/claims.hpp"

#include <fmt/format.h>

#include <utility>

#include "handoff/log.hpp"
#include "handoff/waits.hpp"
#include "tasks/entropy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {

constexpr Millis longest_wait = std::chrono::seconds(60);  // For one answer; then it is asked anew.
constexpr Millis turn_of_many = std::chrono::seconds(1);
constexpr Millis for_the_way = std::chrono::seconds(15);
constexpr Millis for_a_release = std::chrono::seconds(3);
constexpr std::size_t most_lost = 100;

std::string new_claim_id() { return fmt::format("{:016x}{:016x}", random_bits(), random_bits()); }

}  // namespace

void give_back(Connection& server, const std::vector<Claimed>& tasks) {
  if (tasks.empty()) return;
  std::string body;
  for (const Claimed& each : tasks) {
    const Outcome outcome{.id = each.id, .lease = each.lease, .kind = Outcome::Kind::released};
    body += (body.empty() ? "[" : ",") + wire::write_outcome(outcome, {});
  }
  body += "]";
  static_cast<void>(server.ask_once(
      {.method = "POST", .path = "/v1/outcomes", .body = body, .timeout = for_a_release}));
}

Claims::Claims(Connection& server, ClaimsOptions options)
    : server_(server),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Claims::~Claims() { end(); }

void Claims::end() {
  {
    const auto turn = lock_.hold();
    if (std::exchange(is_ended_, true)) return;
    wishes_.clear();
    ends_request_.request_stop();
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::vector<Claimed> left;
  {
    const auto turn = lock_.hold();
    for (auto& [queue, tasks] : std::exchange(arrived_, {})) {
      for (Claimed& each : tasks) left.push_back(std::move(each));
    }
  }
  give_back(server_, left);
  const std::string body = wire::write_leaving(options_.worker.name);
  static_cast<void>(server_.ask_once(
      {.method = "POST", .path = "/v1/workers/leave", .body = body, .timeout = for_a_release}));
}

wire::Claim Claims::claim_of(std::map<std::string, int> queues, Millis wait) const {
  return {.claim_id = new_claim_id(),
          .queues = std::move(queues),
          .wait = wait,
          .lease_for = lease_for_,
          .worker = &options_.worker};
}

std::expected<std::vector<Claimed>, Problem> Claims::ask(const wire::Claim& claim,
                                                         const std::stop_token& stop) {
  const std::string body = wire::write_claim(claim);
  auto answer = server_.ask_once({.method = "POST",
                                  .path = "/v1/claim",
                                  .body = body,
                                  .timeout = claim.wait + for_the_way,
                                  .is_wait = claim.wait > Millis(0),
                                  .limits = {.deadline = {}, .stop = stop}});
  if (!answer) {
    if (answer.error().may_have_happened) forget(claim.claim_id);
    return std::unexpected(std::move(answer.error()));
  }
  try {
    return wire::read_claimed(*answer, options_.has_codec);
  } catch (const StoreFailure& failure) {  // Who knows what it has given.
    forget(claim.claim_id);
    return std::unexpected(Problem{.error = failure.error});
  }
}

// -- The worker's thread --------------------------------------------------------------------------

ClaimResult Claims::claim(const ClaimRequest& request) {
  ClaimResult result;
  wire::Claim claim;
  int left = request.most;
  {
    const auto turn = lock_.hold();
    if (is_ended_) return result;
    lease_for_ = request.lease_for;
    if (const auto found = arrived_.find(request.queue); found != arrived_.end()) {
      result.tasks = std::move(found->second);
      arrived_.erase(found);
      left -= static_cast<int>(result.tasks.size());
    }
    if (left <= 0) {
      result.has_more = true;  // Perhaps: it got as many as it could take.
      return result;
    }
    if (asked_.contains(request.queue)) {  // By the other thread: what comes is told.
      wishes_[request.queue] = left;
      return result;
    }
    wishes_.erase(request.queue);
    claim = claim_of({{request.queue, left}}, Millis(0));
  }
  auto taken = ask(claim, {});
  if (!taken) {
    give_back(server_, result.tasks);
    throw StoreFailure(std::move(taken.error().error));
  }
  left -= static_cast<int>(taken->size());
  for (Claimed& each : *taken) result.tasks.push_back(std::move(each));
  if (left > 0) wish(request.queue, left);
  result.has_more = left == 0;
  return result;
}

void Claims::wait_for_nothing() {
  const auto turn = lock_.hold();
  waits_ = false;
}

void Claims::wish(const std::string& queue, int most) {
  const auto turn = lock_.hold();
  if (is_ended_ || !waits_) return;
  wishes_[queue] = most;
  if (!asked_.empty()) ends_request_.request_stop();  // One that asks for this, too, is next.
  bell_.set();
}

// -- Ours -----------------------------------------------------------------------------------------

void Claims::run(const std::stop_token& stop) {
  handoff::name_this_thread("claims");
  while (bell_.wait({.deadline = {}, .stop = stop})) {
    if (release_lost(stop)) wait_at_server(stop);
  }
  static_cast<void>(release_lost({}));  // One more try.
}

// What is asked for next, and how long is waited for it. If there are more queues than a claim may name, they have their turns.
Millis Claims::choose_locked() {
  if (wishes_.size() <= wire::most_queues) {
    asked_ = wishes_;
    return longest_wait;
  }
  auto next = wishes_.upper_bound(asked_last_);
  while (asked_.size() < wire::most_queues) {
    if (next == wishes_.end()) next = wishes_.begin();
    asked_last_ = next->first;
    asked_.insert(*next++);
  }
  return turn_of_many;
}

void Claims::wait_at_server(const std::stop_token& stop) {
  wire::Claim claim;
  std::stop_token ends;
  {
    const auto turn = lock_.hold();
    if (wishes_.empty()) {
      if (lost_.empty()) bell_.reset();
      return;
    }
    const Millis wait = choose_locked();
    ends_request_ = std::stop_source();
    ends = ends_request_.get_token();
    claim = claim_of(asked_, wait);
  }
  // end() may have come before there was a request to end.
  const std::stop_callback ended(stop, [this] {
    const auto turn = lock_.hold();
    ends_request_.request_stop();
  });
  auto taken = ask(claim, ends);
  if (taken) {
    note_success();
    return take_in(std::move(*taken));
  }
  {
    const auto turn = lock_.hold();
    asked_.clear();
  }
  if (taken.error().error.code == TaskError::Code::stopped) return;
  note_failure(taken.error());
  static_cast<void>(pause(backoff_.next(), stop));
}

// A queue of which something has come is asked for again when the worker has room in it.
void Claims::take_in(std::vector<Claimed> tasks) {
  const bool is_any = !tasks.empty();
  {
    const auto turn = lock_.hold();
    asked_.clear();
    for (Claimed& each : tasks) {
      wishes_.erase(each.queue);
      arrived_[each.queue].push_back(std::move(each));
    }
  }
  if (is_any) options_.ring();
}

void Claims::note_failure(const Problem& problem) {
  if (std::exchange(is_failing_, true)) return;
  handoff::detail::log_line(fmt::format("tasks: worker {} waits for its server: {}",
                                        options_.worker.name, problem.error.message));
}

void Claims::note_success() {
  backoff_.reset();
  if (!std::exchange(is_failing_, false)) return;
  handoff::detail::log_line(fmt::format("tasks: worker {} goes on", options_.worker.name));
}

void Claims::forget(std::string claim_id) {
  const auto turn = lock_.hold();
  if (lost_.size() < most_lost) lost_.push_back(std::move(claim_id));
  bell_.set();
}

// False if the server cannot be told now.
bool Claims::release_lost(const std::stop_token& stop) {
  for (;;) {
    std::string claim_id;
    {
      const auto turn = lock_.hold();
      if (lost_.empty()) return true;
      claim_id = lost_.back();
    }
    const std::string body = wire::write_release(claim_id);
    const auto answer = server_.ask_once(
        {.method = "POST", .path = "/v1/claim/release", .body = body, .timeout = for_a_release});
    // One that does not know it answers too, as do those of versions that know no claims by id.
    if (!answer && (answer.error().status == 0 || answer.error().status >= 500)) {
      note_failure(answer.error());
      static_cast<void>(pause(backoff_.next(), stop));
      return false;
    }
    note_success();
    const auto turn = lock_.hold();
    std::erase(lost_, claim_id);
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
