// Gathers the calls of many threads into few transactions.
//
// Who finds nobody at it is the leader: it runs its own call and those that came meanwhile in one transaction, and tells them once that is committed. Then the first of
// those that came during the commit leads. So a lone caller pays no switch of threads, and among many a commit is shared by all who came while the last one was written.
//
// A store that is elsewhere gathers the calls itself: each goes there by its own connection.
//
// Those who must not wait here (coroutines, event loops) leave their call and are called back. If one of them would lead, a thread of ours does: it is started with the first such call. What is to
// be done afterwards it leaves to another one: that may call this and wait, for nobody but the first.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class Batcher {
 public:
  using Work = std::function<void(Transaction&)>;
  using Done = std::function<void(std::exception_ptr)>;
  // Called by the thread that leads.
  struct Hooks {
    std::function<void(const Changes&)> committed;  // After each commit, while others wait for it.
    std::function<bool()> is_wanted_afterwards;     // Whether there is something to be done then:
    std::function<void()> afterwards;  // when nobody waits. It may call this, and wait.
  };

  Batcher(Store& store, Hooks hooks);
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Returns once it is committed. Throws what `work` throws, or the store; then nothing has happened. If another's call fails, `work` is run once more, in another transaction: so it
  // changes nothing but what the transaction has and what it returns.
  void run(Work work);
  // The same, later: `done` is called by the thread that leads, with what run() would have thrown, or with nothing. It must be short, and must not call this.
  void run_later(Work work, Done done);
  // Returns once all that was left for later is done.
  void finish();
  // Only looks, and waits for nobody.
  void read(const Work& work) { store_.read(work); }

  // How many calls the commits had, on average.
  struct Totals {
    std::uint64_t calls = 0;
    std::uint64_t commits = 0;
    Duration spent{};  // In transactions.
    // How many commits had up to so many calls, or took up to so long; the last ones have the rest.
    static constexpr std::array sizes{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    static constexpr std::array<std::chrono::microseconds, 16> times = {
        {std::chrono::microseconds(100), std::chrono::microseconds(250),
         std::chrono::microseconds(500), std::chrono::microseconds(1000),
         std::chrono::microseconds(2500), std::chrono::microseconds(5000),
         std::chrono::milliseconds(10), std::chrono::milliseconds(25),
         std::chrono::milliseconds(50), std::chrono::milliseconds(100),
         std::chrono::milliseconds(250), std::chrono::milliseconds(500), std::chrono::seconds(1),
         std::chrono::milliseconds(2500), std::chrono::seconds(5), std::chrono::seconds(10)}};
    std::array<std::uint64_t, sizes.size() + 1> by_size{};
    std::array<std::uint64_t, times.size() + 1> by_time{};
  };
  Totals totals() const;

 private:
  struct Call {
    explicit Call(Work what, Done then = {}) : work(std::move(what)), done(std::move(then)) {}
    Work work;
    const Done done;  // If it is one for later: then it belongs to who leads.
    Event told;
    std::exception_ptr error;
    bool leads = false;  // Told to lead, rather than that it is done.
  };
  class Committer;
  class Callers;
  void run_alone(const Work& work);
  void run_alone_later(Work work, Done done);
  bool enter_locked(Call& call);
  void lead(const Call* own);
  void pass_on(Duration spent);
  void run_all(std::vector<Call*> calls);

  Store& store_;
  const Hooks hooks_;
  mutable Mutex lock_{{.name = "calls to be committed"}};
  // Guarded by lock_.
  std::vector<Call*> waiting_;
  bool has_leader_ = false;
  Event idle_;  // Set while nobody leads.
  Totals totals_;
  std::unique_ptr<Committer> committer_;  // Last: its thread uses all of the above.
  std::unique_ptr<Callers> callers_;      // And theirs.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
