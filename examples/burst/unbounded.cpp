#include "unbounded.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <new>
#include <queue>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "click.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"

namespace burst {

struct Unbounded::Counts {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> processed{0};
  std::atomic<std::uint64_t> capped{0};
  std::atomic<handoff::Duration> last_wait{};
};

namespace {

class UnboundedQueue {
 public:
  void put(Click click) {
    {
      const std::scoped_lock lock(mutex_);
      clicks_.push(std::move(click));
    }
    not_empty_.notify_one();
  }
  Click take() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !clicks_.empty(); });
    Click click = std::move(clicks_.front());
    clicks_.pop();
    return click;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::queue<Click> clicks_;  // Guarded by mutex_.
};

template <typename Counts>
[[noreturn]] void run_unbounded(const Options& options, Counts& counts) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Not a moment longer than its parent,
  std::signal(SIGINT, SIG_IGN);      // which decides when it ends.
  std::signal(SIGTERM, SIG_DFL);
  UnboundedQueue queue;
  std::vector<std::jthread> workers;
  for (std::uint64_t i = 0; i < options.workers; ++i) {
    workers.emplace_back([&] {
      example::SlowService database;
      while (true) {
        const Click click = queue.take();
        counts.last_wait = handoff::now() - click.arrived;
        database.answers_after(options.time_per_click());
        ++counts.processed;
      }
    });
  }
  const auto most = options.mebibytes * 1024 / std::max<std::uint64_t>(options.kibibytes, 1);
  as_they_come(options, {}, [&](Click click) {
    if (counts.accepted - counts.processed >= most) {
      ++counts.capped;
      return;
    }
    queue.put(std::move(click));
    ++counts.accepted;
  });
  while (true) pause();
}

void* shared_memory(std::size_t size) {
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return memory;
}

}  // namespace

Unbounded::Unbounded(const Options& options)
    : counts_(new(shared_memory(sizeof(Counts))) Counts), process_(fork()) {
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) run_unbounded(options, *counts_);
}

Unbounded::Look Unbounded::look() const {
  const std::uint64_t processed = counts_->processed;  // First: it must not be more than accepted.
  return {.accepted = counts_->accepted,
          .processed = processed,
          .capped = counts_->capped,
          .resident = process_ == 0 ? 0 : example::resident_bytes(process_),
          .last_wait = counts_->last_wait};
}

void Unbounded::end() {
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

}  // namespace burst
