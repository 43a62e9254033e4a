// Gathers the calls of many threads into few transactions.
//
// Who finds nobody at it is the leader: it runs its own call and those that came meanwhile in one transaction, and tells them once that is committed. Then the first of
// those that came during the commit leads. So a lone caller pays no switch of threads, and among many a commit is shared by all who came while the last one was written.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class Batcher {
 public:
  using Work = std::function<void(Transaction&)>;
  // Called by the thread that leads.
  struct Hooks {
    std::function<void(const Changes&)> committed;  // After each commit, while others wait for it.
    std::function<void()> afterwards;               // When nobody does: it may call this.
  };

  Batcher(Store& store, Hooks hooks) : store_(store), hooks_(std::move(hooks)) {}
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Returns once it is committed. Throws what `work` throws, or the store; then nothing has happened. If another's call fails, `work` is run once more, in another transaction: so it
  // changes nothing but what the transaction has and what it returns.
  void run(Work work);
  // Only looks, and waits for nobody.
  void read(const Work& work) { store_.read(work); }

  // How many calls the commits had, on average.
  struct Totals {
    std::uint64_t calls = 0;
    std::uint64_t commits = 0;
  };
  Totals totals() const;

 private:
  struct Call {
    explicit Call(Work what) : work(std::move(what)) {}
    Work work;
    Event told;
    std::exception_ptr error;
    bool leads = false;  // Told to lead, rather than that it is done.
  };
  void lead(Call& own);
  void run_all(std::vector<Call*> calls);

  Store& store_;
  const Hooks hooks_;
  mutable Mutex lock_{{.name = "calls to be committed"}};
  // Guarded by lock_.
  std::vector<Call*> waiting_;
  bool has_leader_ = false;
  Totals totals_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
