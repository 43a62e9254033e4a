#include "tasks/batcher.hpp"

#include <algorithm>
#include <utility>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
constexpr std::ptrdiff_t most_calls = 512;  // In one transaction: others wait for its end.
}

void Batcher::run(Work work) {
  Call call(std::move(work));
  bool leads = false;
  {
    const auto turn = lock_.hold();
    waiting_.push_back(&call);
    leads = !std::exchange(has_leader_, true);
  }
  if (!leads) {
    // Only once it is told: the leader may have made it the next one already, and is about to tell it.
    static_cast<void>(call.told.wait());
    leads = call.leads;
  }
  if (leads) lead(call);
  if (call.error) std::rethrow_exception(call.error);
}

void Batcher::lead(Call& own) {
  std::vector<Call*> calls;
  {
    const auto turn = lock_.hold();
    const auto end = waiting_.begin() + std::min(std::ssize(waiting_), most_calls);
    calls.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    totals_.calls += calls.size();
    ++totals_.commits;
  }
  run_all(calls);
  Call* next = nullptr;
  {
    const auto turn = lock_.hold();
    if (waiting_.empty()) {
      has_leader_ = false;
    } else {
      next = waiting_.front();
      next->leads = true;
    }
  }
  if (next != nullptr) next->told.set();
  // Whoever is told may be gone at once.
  for (Call* const each : calls) {
    if (each == &own) continue;
    each->told.set();
  }
}

void Batcher::run_all(std::vector<Call*> calls) {
  while (!calls.empty()) {
    Call* at = nullptr;
    try {
      const Changes changes = store_.transact([&](Transaction& transaction) {
        for (Call* const each : calls) {
          at = each;
          each->work(transaction);
        }
        at = nullptr;
      });
      committed_(changes);
      return;
    } catch (...) {
      if (at == nullptr) {  // The commit itself: nobody's call has happened.
        for (Call* const each : calls) each->error = std::current_exception();
        return;
      }
      at->error = std::current_exception();
      std::erase(calls, at);
    }
  }
}

Batcher::Totals Batcher::totals() const {
  const auto turn = lock_.hold();
  return totals_;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
