#include "tasks/batcher.hpp"

#include <algorithm>
#include <utility>

#include "handoff/pool.hpp"
#include "handoff/thread.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
constexpr std::ptrdiff_t most_calls = 512;    // In one transaction: others wait for its end.
constexpr std::size_t callers_at_once = 8;    // Of a store elsewhere, for those who must not wait.
constexpr std::size_t most_waiting = 10'000;  // For one of them.

// Before it begins: who looks may want to know that somebody is at it.
void count_calls(Batcher::Totals& totals, std::size_t calls) {
  totals.calls += calls;
  ++totals.commits;
  const auto size = std::ranges::lower_bound(Batcher::Totals::sizes, static_cast<int>(calls));
  ++totals.by_size[static_cast<std::size_t>(size - Batcher::Totals::sizes.begin())];
}

void count_time(Batcher::Totals& totals, Duration spent) {
  totals.spent += spent;
  const auto time = std::ranges::lower_bound(Batcher::Totals::times, spent);
  ++totals.by_time[static_cast<std::size_t>(time - Batcher::Totals::times.begin())];
}
}  // namespace

// Leads in the place of those who must not wait.
class Batcher::Committer {
 public:
  explicit Committer(Batcher& batcher)
      : thread_([this, &batcher](const std::stop_token& stop) {
          handoff::name_this_thread("committer");
          // Once it is asked to end, nobody can ring any more.
          while (bell_.wait({.deadline = {}, .stop = stop})) {
            bell_.reset();
            batcher.lead(nullptr);
            if (batcher.hooks_.is_wanted_afterwards()) wanted_.set();
          }
        }),
        afterwards_([this, &batcher](const std::stop_token& stop) {
          handoff::name_this_thread("after commits");
          for (bool goes_on = true; goes_on;) {
            goes_on = wanted_.wait({.deadline = {}, .stop = stop}).has_value();
            wanted_.reset();
            batcher.hooks_.afterwards();  // At the end, too: for what has come last.
          }
        }) {}
  ~Committer() {
    thread_.request_stop();
    thread_.join();
  }
  void ring() { bell_.set(); }

 private:
  Event bell_;
  Event wanted_;
  Thread thread_;
  Thread afterwards_;  // Ends after the other, which may want it.
};

// Wait for a store elsewhere, in the place of those who must not.
class Batcher::Callers {
 public:
  // False if too many wait already.
  bool call(std::function<void()> what) { return pool_.post(std::move(what)).has_value(); }
  // Each of them ends, since patience with a server does.
  void finish() { static_cast<void>(pool_.shutdown(finish_within(std::chrono::hours(1)))); }

 private:
  WorkerPool pool_{{.workers = callers_at_once,
                    .capacity = most_waiting,
                    .when_full = WhenFull::reject,
                    .name = "calls of a server"}};
};

Batcher::Batcher(Store& store, Hooks hooks) : store_(store), hooks_(std::move(hooks)) {}

Batcher::~Batcher() = default;

void Batcher::finish() {
  const bool has_later = [&] {
    const auto turn = lock_.hold();
    return committer_ != nullptr;
  }();
  if (has_later) {
    static_cast<void>(idle_.wait());
    committer_.reset();  // What it does afterwards, it does with what is there still.
  }
  if (callers_) callers_->finish();
}

void Batcher::run_alone(const Work& work) {
  const TimePoint began = now();
  static_cast<void>(store_.transact(work));
  const auto turn = lock_.hold();
  count_calls(totals_, 1);
  count_time(totals_, now() - began);
}

void Batcher::run_alone_later(Work work, Done done) {
  const auto shared = std::make_shared<const Done>(std::move(done));
  const auto call = [this, work = std::move(work), shared] {
    std::exception_ptr error;
    try {
      run_alone(work);
    } catch (...) {
      error = std::current_exception();
    }
    (*shared)(error);
  };
  const bool is_taken = [&] {
    const auto turn = lock_.hold();
    if (!callers_) callers_ = std::make_unique<Callers>();
    return callers_->call(call);
  }();
  if (is_taken) return;
  (*shared)(std::make_exception_ptr(
      StoreFailure({.code = TaskError::Code::unavailable,
                    .message = "too many calls wait for the server already; try again later",
                    .field = {}})));
}

void Batcher::run(Work work) {
  if (store_.elsewhere() != nullptr) return run_alone(work);
  Call call(std::move(work));
  bool is_first = false;
  {
    const auto turn = lock_.hold();
    is_first = enter_locked(call);
  }
  // Only once it is told may it look at `leads`, or go: who leads now still has its address.
  if (!is_first) static_cast<void>(call.told.wait());
  if (is_first || call.leads) {
    lead(&call);
    if (hooks_.is_wanted_afterwards()) hooks_.afterwards();
  }
  if (call.error) std::rethrow_exception(call.error);
}

void Batcher::run_later(Work work, Done done) {
  if (store_.elsewhere() != nullptr) return run_alone_later(std::move(work), std::move(done));
  auto* const call = new Call(std::move(work), std::move(done));
  const auto turn = lock_.hold();
  if (!committer_) committer_ = std::make_unique<Committer>(*this);
  if (enter_locked(*call)) committer_->ring();
}

// True if it is to lead.
bool Batcher::enter_locked(Call& call) {
  waiting_.push_back(&call);
  idle_.reset();
  return !std::exchange(has_leader_, true);
}

void Batcher::lead(const Call* own) {
  std::vector<Call*> calls;
  {
    const auto turn = lock_.hold();
    const auto end = waiting_.begin() + std::min(std::ssize(waiting_), most_calls);
    calls.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    count_calls(totals_, calls.size());
  }
  const TimePoint began = now();
  run_all(calls);
  pass_on(now() - began);
  // Whoever is told may be gone at once.
  for (Call* const each : calls) {
    if (each->done) {
      each->done(each->error);
      delete each;
    } else if (each != own) {
      each->told.set();
    }
  }
}

// To the first of those who have come meanwhile.
void Batcher::pass_on(Duration spent) {
  Call* next = nullptr;
  {
    const auto turn = lock_.hold();
    count_time(totals_, spent);
    if (waiting_.empty()) {
      has_leader_ = false;
      idle_.set();
      return;
    }
    if (waiting_.front()->done) return committer_->ring();
    next = waiting_.front();
    next->leads = true;
  }
  next->told.set();
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
      hooks_.committed(changes);
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
