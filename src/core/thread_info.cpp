#include "handoff/detail/core/thread_info.hpp"

#include <fmt/core.h>

#include <cstring>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/waits.hpp"
#if defined(__linux__)
#include <pthread.h>
#endif

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {
namespace {

// The names of live threads, sharded by number so that starting threads does not contend.
struct Entry {
  ThreadId id = no_thread;
  std::string name;  // Guarded by the shard's lock.
  Entry* next = nullptr;
  Entry* previous = nullptr;
};

struct alignas(cache_line) Shard {
  SmallLock lock;
  Entry* front = nullptr;
};

constexpr std::size_t shard_count = 16;

Shard& shard_of(ThreadId id) {
  // Outlives every thread, and is there before the first: a forked child must not find it half made.
  static constinit std::array<Shard, shard_count> shards;
  return shards[simulated_build ? 0 : id % shard_count];
}

std::string system_name() {
#if defined(__linux__)
  std::array<char, 16> name{};
  if (pthread_getname_np(pthread_self(), name.data(), name.size()) == 0) return name.data();
#endif
  return "thread";
}

ThreadId next_id() {
  static constinit atomic<ThreadId> last{0};
  return last.fetch_add(1, relaxed) + 1;  // Only uniqueness matters.
}

// Lives as long as its thread; enters and leaves the shard.
class ThisThread {
 public:
  ThisThread() {
    entry_.id = next_id();
    entry_.name = fmt::format("{} #{}", system_name(), entry_.id);
    Shard& shard = shard_of(entry_.id);
    const sim::Uninterrupted alone;
    SmallGuard guard(shard.lock);
    entry_.next = shard.front;
    if (shard.front != nullptr) shard.front->previous = &entry_;
    shard.front = &entry_;
    this_thread_id_cache = entry_.id;
  }
  ~ThisThread() {
    Shard& shard = shard_of(entry_.id);
    const sim::Uninterrupted alone;
    SmallGuard guard(shard.lock);
    (entry_.previous == nullptr ? shard.front : entry_.previous->next) = entry_.next;
    if (entry_.next != nullptr) entry_.next->previous = entry_.previous;
  }
  ThisThread(const ThisThread&) = delete;
  ThisThread& operator=(const ThisThread&) = delete;

  ThreadId id() const { return entry_.id; }
  void rename(std::string_view name) {
    const sim::Uninterrupted alone;
    SmallGuard guard(shard_of(entry_.id).lock);
    entry_.name = name;
  }

 private:
  Entry entry_;
};

ThisThread& this_thread() {
  thread_local ThisThread info;
  return info;
}

}  // namespace

ThreadId next_coroutine_id() {
  static constinit atomic<ThreadId> last{0};
  // Only uniqueness matters, among those that are alive.
  return first_coroutine_id | (last.fetch_add(1, relaxed) + 1);
}

void rename_this_thread(std::string_view name) { this_thread().rename(name); }

ThreadId assign_this_thread_id() { return this_thread().id(); }

std::string thread_name(ThreadId id) {
  if (id >= first_coroutine_id) return fmt::format("coroutine #{}", id - first_coroutine_id);
  Shard& shard = shard_of(id);
  const sim::Uninterrupted alone;
  SmallGuard guard(shard.lock);
  for (const Entry* entry = shard.front; entry != nullptr; entry = entry->next) {
    if (entry->id == id) return entry->name;
  }
  return fmt::format("thread #{}", id);
}

}  // namespace detail

void name_this_thread(std::string_view name) {
  detail::rename_this_thread(name);
  if constexpr (detail::simulated_build) detail::sim::thread_is_called(name);
#if defined(__linux__)
  pthread_setname_np(pthread_self(), std::string(name.substr(0, 15)).c_str());
#endif
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
