// What the Worker asks of its store, and nothing else: finish the last batch and claim the next, in one transaction.
#include "../support/tasks/handoff_store.hpp"

#include <utility>

#include "tasks/core.hpp"
#include "workload.hpp"

namespace {

using handoff::tasks::Claimed;
using handoff::tasks::Outcome;
using handoff::tasks::Transaction;

struct StoreProcess {
  StoreProcess(const bench::DiskFolder& folder, std::uint64_t size)
      : tasks(bench::open_tasks(folder)), batch(static_cast<int>(size)) {}
  void fill(std::uint64_t count) { bench::fill(tasks, count); }
  std::uint64_t process(std::uint64_t) {
    auto& store = handoff::tasks::TasksAccess::core(tasks).store();
    std::uint64_t done = 0;
    std::vector<Outcome> outcomes;
    for (;;) {
      std::vector<Claimed> claimed;
      store.transact([&](Transaction& transaction) {
        transaction.finish(outcomes);
        claimed =
            transaction.claim({.queue = "mail", .most = batch, .lease_for = {}, .worker = "bench"})
                .tasks;
      });
      done += outcomes.size();
      outcomes.clear();
      if (claimed.empty()) return done;
      for (const Claimed& each : claimed) {
        outcomes.push_back({.id = each.id, .lease = each.lease, .text = "null"});
      }
    }
  }
  static std::string version() { return "this commit"; }

  handoff::tasks::Tasks tasks;
  const int batch;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_process<StoreProcess>(argc, argv); }
