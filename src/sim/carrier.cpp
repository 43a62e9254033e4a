#include "sim/carrier.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/detail/core/thread_info.hpp"
#include "sim/scheduler.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

namespace {

constinit thread_local SimThread* carried = nullptr;

void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

class Carrier;

// Those that carry nobody. Never destroyed: they wait for work until the process is gone.
struct Idle {
  std::mutex mutex;
  std::vector<Carrier*> carriers;
  int core = -1;  // Of all of them.
};
Idle& idle() {
  static auto* const instance = new Idle;
  return *instance;
}

class Carrier {
 public:
  Carrier() {
    std::thread([this] { work(); }).detach();
  }

  void carry(std::shared_ptr<SimThread> thread) {
    thread_ = std::move(thread);
    give_baton(has_work_);
  }

 private:
  [[noreturn]] void work() {
    stay_on_one_core();
    // Before anything is simulated: what a thread does once in its life must not be part of the first run only.
    static_cast<void>(this_thread_id());
    while (true) {
      take_baton(has_work_);
      const auto thread = std::move(thread_);
      carried = thread.get();
      take_baton(thread->baton);
      Scheduler& run = thread->run;
      SimThread* const next = run.run_thread(*thread);
      carried = nullptr;
      {
        // Before the next goes on, who may need it.
        std::lock_guard lock(idle().mutex);
        idle().carriers.push_back(this);
      }
      if (next != nullptr) {
        give_baton(next->baton);
      } else {
        run.finish_run();
      }
    }
  }

  static void stay_on_one_core() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(idle().core, &one);
    static_cast<void>(sched_setaffinity(0, sizeof one, &one));  // Slower without, not wrong.
  }

  std::shared_ptr<SimThread> thread_;
  std::atomic<std::uint32_t> has_work_{0};
};

}  // namespace

SimThread* carried_here() { return carried; }

void take_baton(std::atomic<std::uint32_t>& baton) {
  while (baton.exchange(0) == 0) futex(baton, FUTEX_WAIT, 0);
}

void give_baton(std::atomic<std::uint32_t>& baton) {
  baton.store(1);
  futex(baton, FUTEX_WAKE, 1);
}

void carry(std::shared_ptr<SimThread> thread) {
  Carrier* carrier = nullptr;
  {
    std::lock_guard lock(idle().mutex);
    if (idle().core < 0) idle().core = sched_getcpu();
    if (!idle().carriers.empty()) {
      carrier = idle().carriers.back();
      idle().carriers.pop_back();
    }
  }
  if (carrier == nullptr) carrier = new Carrier;
  carrier->carry(std::move(thread));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
