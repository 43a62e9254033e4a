// What workers get, and what they say.
#include <algorithm>
#include <utility>

#include "tasks/remote/claims.hpp"
#include "tasks/remote/remote_transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {
constexpr std::size_t items_at_once = 1000;
constexpr std::size_t bytes_at_once = std::size_t{4} << 20;  // About: a server takes 8 MiB.
}  // namespace

void RemoteTransaction::undo() { give_back(store_.server(), std::exchange(claimed_, {})); }

ClaimResult RemoteTransaction::claim(const ClaimRequest& request) {
  ClaimResult result = store_.claim(request);
  for (const Claimed& each : result.tasks) {
    Claimed& noted = claimed_.emplace_back();
    noted.id = each.id;
    noted.lease = each.lease;
  }
  return result;
}

// They go with the outcome or the heartbeat of the same task, which follows.
void RemoteTransaction::log(std::span<const TaskLines> lines) {
  for (const TaskLines& each : lines) {
    auto& all = lines_[each.id];
    all.insert(all.end(), each.lines.begin(), each.lines.end());
  }
}

std::vector<Recorded> RemoteTransaction::finish(std::span<const Outcome> outcomes) {
  std::vector<std::string> items;
  items.reserve(outcomes.size());
  for (const Outcome& each : outcomes) items.push_back(wire::write_outcome(each, lines_));
  try {
    return report(items);
  } catch (const StoreFailure& failure) {
    if (failure.error.code != TaskError::Code::bad_request &&
        failure.error.code != TaskError::Code::too_large) {
      throw;
    }
  }
  // One of them is refused, and must not keep the others back. What cannot be said as it is, is said as a failure: to say it again and again would not help.
  std::vector<Recorded> recorded;
  for (std::size_t i = 0; i < items.size(); ++i) {
    try {
      recorded.push_back(report_some(std::span(items).subspan(i, 1)).front());
    } catch (const StoreFailure& failure) {
      if (failure.error.code != TaskError::Code::bad_request &&
          failure.error.code != TaskError::Code::too_large) {
        throw;
      }
      Outcome refused = outcomes[i];
      refused.kind = Outcome::Kind::failed_for_good;
      refused.text = "the server does not take its outcome: " + failure.error.message;
      const std::string item = wire::write_outcome(refused, {});
      recorded.push_back(report_some(std::span(&item, 1)).front());
    }
  }
  return recorded;
}

std::vector<Recorded> RemoteTransaction::extend(std::span<const Extension> extensions) {
  std::vector<std::string> items;
  items.reserve(extensions.size());
  for (const Extension& each : extensions) items.push_back(wire::write_extension(each, lines_));
  return report(items);
}

std::vector<Recorded> RemoteTransaction::report(const std::vector<std::string>& items) {
  std::vector<Recorded> all;
  std::span<const std::string> left = items;
  while (!left.empty()) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < std::min(left.size(), items_at_once); ++count) {
      bytes += left[count].size();
      if (count > 0 && bytes > bytes_at_once) break;
    }
    for (const Recorded each : report_some(left.first(count))) all.push_back(each);
    left = left.subspan(count);
  }
  return all;
}

std::vector<Recorded> RemoteTransaction::report_some(std::span<const std::string> items) {
  std::string body;
  for (const std::string& each : items) body.append(body.empty() ? "[" : ",").append(each);
  body += ']';
  // Once: who says it is a worker, which has other things to see to, and says it again.
  auto answer = store_.server().ask_once({.method = "POST", .path = "/v1/outcomes", .body = body});
  if (!answer) throw StoreFailure(std::move(answer.error().error));
  return wire::read_recorded(*answer, items.size());
}

// They come with the claim.
std::vector<StepResult> RemoteTransaction::inputs_of(const TaskId&) { return {}; }
StepResults RemoteTransaction::inputs_within(const TaskId&, std::size_t) { return {}; }

// The server sees to that.
std::vector<AtWork> RemoteTransaction::at_work_elsewhere() { return {}; }
std::string RemoteTransaction::holder_of(const Lease&) { return {}; }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
