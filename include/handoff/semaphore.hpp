// A number of permits, for things of which only so many may happen at once.
//
//   handoff::Semaphore downloads{{.permits = 8, .name = "downloads"}};
//   auto permit = downloads.hold();                          // given back at the end of the scope
//
//   if (!downloads.acquire(3, {.stop = stop})) return;       // three at once, or none
//   ...
//   downloads.release(3);
//
//            waits             now or not     within a time              deadline and stop_token    awaits
//   take     hold, acquire     try_acquire    try_acquire_for, _until    acquire(n, {...})          async_hold, async_acquire
//   give     release
//
//   auto permit = co_await downloads.async_hold();           // in a coroutine: std::expected<Permits, Refusal>
//   if (!permit) co_return permit.error();                   // stopped
//
// The async forms suspend the coroutine instead of its thread. Their stop_token is that of the running task; a deadline is
// given as such: async_acquire(3, within(1s)).
//
// Fairness: strictly first in, first out. Permits that are given back go to the one who waits longest, and nobody overtakes
// it: neither a newcomer nor a try, nor one who wants less. So a large request is not starved by small ones.
//
// Permits belong to nobody: any thread may release. To ask for more than there can ever be throws std::invalid_argument, as
// does giving back more than were taken.
//
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a thread did before release() is seen by those who acquire these permits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/line_steps.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class Permits;
class Semaphore;

namespace detail {

// Takes permits.
class SemaphoreAcquire : public LineSteps {
 public:
  SemaphoreAcquire(Semaphore& semaphore, std::size_t n);
  bool ready(const std::stop_token& stop);

 protected:
  Semaphore& semaphore_;
  const std::size_t n_;

 private:
  bool enter_line_locked(Link& link, Unparks& unparks) override;
  void left_line_locked(Unparks& unparks) override;
};

// The same, with a guard that gives them back.
class SemaphoreHold final : public SemaphoreAcquire {
 public:
  using SemaphoreAcquire::SemaphoreAcquire;
  std::expected<Permits, Refusal> result() const;
};

}  // namespace detail

struct SemaphoreOptions {
  std::size_t permits;         // How many there are to begin with.
  std::size_t max = 0;         // How many there may ever be; 0: as many as to begin with.
  std::string_view name = {};  // How waits() and snapshot() call it; copied.
};

class Semaphore final : public detail::Primitive {
  using Where = std::source_location;

 public:
  // Throws std::invalid_argument if there can never be a permit, or fewer than there are, or more than 2^31 - 1.
  explicit Semaphore(SemaphoreOptions options);
  ~Semaphore();

  // Takes `n` permits, waiting as long as it takes; they are given back when the result goes out of scope.
  [[nodiscard]] Permits hold(std::size_t n = 1, Where where = Where::current());

  // Takes `n` permits, waiting for them. Refused with `timed_out` or `stopped`.
  [[nodiscard]] std::expected<void, Refusal> acquire(std::size_t n = 1, const Wait& wait = {},
                                                     Where where = Where::current());
  [[nodiscard]] std::expected<void, Refusal> acquire(const Wait& wait,
                                                     Where where = Where::current()) {
    return acquire(1, wait, where);
  }

  [[nodiscard]] bool try_acquire(std::size_t n = 1);
  template <typename Rep, typename Period>
  [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> time, std::size_t n = 1,
                                     Where where = Where::current()) {
    return acquire(n, {.deadline = within(time)}, where).has_value();
  }
  template <typename D>
  [[nodiscard]] bool try_acquire_until(
      std::chrono::time_point<std::chrono::steady_clock, D> deadline, std::size_t n = 1,
      Where where = Where::current()) {
    return acquire(n, {.deadline = deadline}, where).has_value();
  }

  // The same for a coroutine: co_await gives std::expected<void, Refusal>, or <Permits, Refusal>.
  detail::Awaitable<detail::SemaphoreAcquire> async_acquire(std::size_t n = 1,
                                                            Deadline deadline = {},
                                                            Where where = Where::current()) {
    return detail::Awaitable<detail::SemaphoreAcquire>({.operation = "acquire", .where = where},
                                                       deadline, *this, n);
  }
  detail::Awaitable<detail::SemaphoreAcquire> async_acquire(Deadline deadline,
                                                            Where where = Where::current()) {
    return async_acquire(1, deadline, where);
  }
  detail::Awaitable<detail::SemaphoreHold> async_hold(std::size_t n = 1, Deadline deadline = {},
                                                      Where where = Where::current()) {
    return detail::Awaitable<detail::SemaphoreHold>({.operation = "acquire", .where = where},
                                                    deadline, *this, n);
  }

  // Gives `n` permits back, or new ones up to the maximum.
  void release(std::size_t n = 1);

  // A snapshot: nothing is learned from it about what the others did.
  std::size_t available() const { return available_in(word_.load(detail::relaxed)); }

  // size: permits in use. takes and puts: permits acquired and released so far. refused: acquisitions refused after waiting.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  friend class detail::SemaphoreAcquire;

  // The word: in the lower half how many permits are available, and whether somebody waits; in the upper half how many
  // were acquired so far, so that one step does it all.
  using Word = std::uint64_t;
  static constexpr Word in_line = 1;
  static constexpr Word one_permit = 2;
  static constexpr int acquired_shift = 32;
  static constexpr std::size_t most_permits = (std::size_t{1} << 31) - 1;
  static constexpr std::size_t available_in(Word word) {
    return static_cast<std::uint32_t>(word) / one_permit;
  }
  // What the word gains when `n` permits are taken.
  static constexpr Word taking(std::size_t n) {
    return (Word{n} << acquired_shift) - n * one_permit;
  }

  bool take_if_nobody_waits(std::size_t n);
  void note_overflow(Word before, std::size_t n) {
    const bool overflows = before + taking(n) < before;
    if (overflows) [[unlikely]]
      overflows_.fetch_add(1, detail::relaxed);  // A counter only.
  }
  std::expected<void, Refusal> acquire_contended(std::size_t n, const Wait& wait, Where where);
  bool give_if_nobody_waits(std::size_t n);
  void release_contended(std::size_t n);
  void serve_line_locked(detail::Unparks& unparks);
  void refuse_more_than_max(std::size_t n) const;
  void refuse_giving_too_much(std::size_t n, Word word) const;

  const std::size_t initial_;
  const std::size_t max_;
  detail::atomic<Word> word_;
  detail::atomic<std::uint64_t> overflows_{0};  // Of the word's upper half.
  detail::WaitList line_;
  // Guarded by line_.lock().
  std::uint64_t refused_ = 0;
};

// Permits that are given back at the end of a scope.
class [[nodiscard]] Permits {
 public:
  // Of permits that were taken already.
  Permits(Semaphore& semaphore, std::size_t n) : semaphore_(&semaphore), n_(n) {}
  Permits(Permits&& other) noexcept
      : semaphore_(other.semaphore_), n_(std::exchange(other.n_, 0)) {}
  Permits& operator=(Permits&&) = delete;
  ~Permits() {
    if (n_ != 0) semaphore_->release(n_);
  }

 private:
  Semaphore* semaphore_;
  std::size_t n_;
};

inline bool Semaphore::take_if_nobody_waits(std::size_t n) {
  Word seen = word_.load(detail::relaxed);  // A guess: the compare-and-swap decides.
  while ((seen & in_line) == 0 && available_in(seen) >= n) {
    // Pairs with the release in give_if_nobody_waits() and release_contended().
    if (word_.compare_exchange_weak(seen, seen + taking(n), detail::acquire, detail::relaxed)) {
      note_overflow(seen, n);
      return true;
    }
  }
  return false;
}

inline bool Semaphore::give_if_nobody_waits(std::size_t n) {
  Word seen = word_.load(detail::relaxed);  // A guess: the compare-and-swap decides.
  while ((seen & in_line) == 0 && n <= max_ - available_in(seen)) {
    // Pairs with the acquire in take_if_nobody_waits().
    if (word_.compare_exchange_weak(seen, seen + n * one_permit, detail::release,
                                    detail::relaxed)) {
      return true;
    }
  }
  return false;
}

inline std::expected<void, Refusal> Semaphore::acquire(std::size_t n, const Wait& wait,
                                                       Where where) {
  const detail::sim::Operation here(*this, "acquire");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  if (take_if_nobody_waits(n)) [[likely]]
    return {};
  return acquire_contended(n, wait, where);
}

inline bool Semaphore::try_acquire(std::size_t n) {
  const detail::sim::Operation here(*this, "try_acquire");
  if (!detail::sim::refuses() && take_if_nobody_waits(n)) return true;
  refuse_more_than_max(n);
  return false;
}

inline Permits Semaphore::hold(std::size_t n, Where where) {
  (void)acquire(n, {}, where);  // Without limits there is nothing that could refuse it.
  return Permits(*this, n);
}

inline bool detail::SemaphoreAcquire::ready(const std::stop_token& stop) {
  if (stop.stop_requested()) return refuse(Refusal::stopped);
  if (semaphore_.take_if_nobody_waits(n_)) return true;
  semaphore_.refuse_more_than_max(n_);
  return false;
}

inline std::expected<Permits, Refusal> detail::SemaphoreHold::result() const {
  if (auto taken = SemaphoreAcquire::result(); !taken) return std::unexpected(taken.error());
  return Permits(semaphore_, n_);
}

inline void Semaphore::release(std::size_t n) {
  const detail::sim::Operation here(*this, "release");
  if (!give_if_nobody_waits(n)) release_contended(n);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
