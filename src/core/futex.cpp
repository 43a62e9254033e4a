#include "handoff/detail/core/futex.hpp"

#include "handoff/detail/core/simulation.hpp"

#if defined(__linux__) && !(defined(HANDOFF_PORTABLE_PARK) && HANDOFF_PORTABLE_PARK)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <ctime>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

long futex(const void* word, int operation, std::uint32_t value, const timespec* deadline) {
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, deadline, nullptr,
                 FUTEX_BITSET_MATCH_ANY);
}

timespec to_timespec(TimePoint deadline) {
  const auto since_boot = deadline.time_since_epoch();
  if (since_boot.count() <= 0) return {.tv_sec = 0, .tv_nsec = 0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  return {.tv_sec = seconds.count(), .tv_nsec = (since_boot - seconds).count()};
}

const void* low_half(const atomic<std::uint64_t>& word) {
  constexpr int offset = std::endian::native == std::endian::little ? 0 : 4;
  return reinterpret_cast<const char*>(&word) + offset;
}

}  // namespace

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, TimePoint deadline) {
  if constexpr (simulated_build) {
    if (sim::waits_simulated()) return word.load() != expected || sim::block(&word, deadline);
  }
  // WAIT_BITSET rather than WAIT: its time-out is absolute, on the clock that steady_clock reads.
  if (deadline == TimePoint::max()) {
    futex(&word, FUTEX_WAIT_BITSET, expected, nullptr);
    return true;
  }
  const timespec at = to_timespec(deadline);
  return futex(&word, FUTEX_WAIT_BITSET, expected, &at) == 0 || errno != ETIMEDOUT;
}

void futex_wait(atomic<std::uint64_t>& word, std::uint64_t expected) {
  if constexpr (simulated_build) {
    if (sim::waits_simulated()) {
      if (word.load() == expected) static_cast<void>(sim::block(low_half(word), TimePoint::max()));
      return;
    }
  }
  futex(low_half(word), FUTEX_WAIT_BITSET, static_cast<std::uint32_t>(expected), nullptr);
}

void futex_wake_one(const void* word) {
  if constexpr (simulated_build) {
    if (sim::waits_simulated()) return sim::wake_one(word);
  }
  futex(word, FUTEX_WAKE, 1, nullptr);
}

void futex_wake_one(const atomic<std::uint64_t>& word) { futex_wake_one(low_half(word)); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#else  // The portable fallback.

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

// Words that share a bucket wake each other for nothing, which callers must bear anyway.
struct Bucket {
  std::mutex mutex;
  std::condition_variable changed;
};

Bucket& bucket_of(const void* word) {
  // Never destroyed: the timer thread sleeps on until the process is gone.
  static auto* const buckets = new std::array<Bucket, 256>;
  const auto address = reinterpret_cast<std::uintptr_t>(word);
  return (*buckets)[(address >> 4) % buckets->size()];
}

// The waker changes the word first and takes the mutex then: either this look sees the change, or
// the waker finds us waiting.
template <typename Word>
bool wait_for_change(atomic<Word>& word, Word expected, TimePoint deadline) {
  Bucket& bucket = bucket_of(&word);
  std::unique_lock lock(bucket.mutex);
  if (word.load(seq_cst) != expected) return true;
  if (deadline == TimePoint::max()) {
    bucket.changed.wait(lock);
    return true;
  }
  return bucket.changed.wait_until(lock, deadline) == std::cv_status::no_timeout;
}

}  // namespace

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, TimePoint deadline) {
  return wait_for_change(word, expected, deadline);
}

void futex_wait(atomic<std::uint64_t>& word, std::uint64_t expected) {
  wait_for_change(word, expected, TimePoint::max());
}

void futex_wake_one(const void* word) {
  Bucket& bucket = bucket_of(word);
  // Notified under the mutex, and all of them: the one meant may share the bucket with others.
  std::lock_guard lock(bucket.mutex);
  bucket.changed.notify_all();
}

void futex_wake_one(const atomic<std::uint64_t>& word) {
  futex_wake_one(static_cast<const void*>(&word));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#endif
