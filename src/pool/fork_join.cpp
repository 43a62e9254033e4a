#include "handoff/detail/pool/fork_join.hpp"

#include "handoff/detail/core/spin.hpp"
#include "handoff/event.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constexpr int looks_before_sleep = 200;  // Some microseconds: most forks are short.
}

struct JoinTask::Sleep {
  Event finished;
};

void JoinTask::run_stolen(Worker& thief) {
  thief_.store(&thief, release);  // Pairs with the load in await_thief().
  ++thief.nested;
  call_(*this);
  --thief.nested;
  // Pairs with the acquires in await_thief(). Once it is done, or the owner awake, the task may be gone.
  const std::uintptr_t word = word_.exchange(done, acq_rel);
  if (word != 0) reinterpret_cast<Sleep*>(word)->finished.set();
}

void JoinTask::await_thief(Worker& owner) {
  int looks = spinning_pays() ? looks_before_sleep : 1;
  while (looks > 0) {
    // All three pair with the writes in run_stolen().
    if (word_.load(acquire) == done) return;
    Worker* const thief = thief_.load(acquire);
    // As long as our task is not done, all the thief has there was forked by it: it had nothing when it stole.
    JoinTask* const part =
        thief != nullptr && owner.nested < Worker::most_nested
            ? thief->joins.steal_if([this] { return word_.load(acquire) != done; })
            : nullptr;
    if (part != nullptr) {
      part->run_stolen(owner);
    } else {
      --looks;
      cpu_relax();
    }
  }
  Sleep sleep;
  std::uintptr_t expected = 0;
  // Publishes `sleep` to the exchange in run_stolen(); or finds what that has published.
  if (!word_.compare_exchange_strong(expected, reinterpret_cast<std::uintptr_t>(&sleep), acq_rel,
                                     acquire)) {
    return;
  }
  const BlockedWorker blocked(&owner, nullptr);
  // No way out but the end: the thief works on our stack.
  while (!sleep.finished.wait()) {
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
