// Invariants of the semaphore:
// - `in_line` is set whenever somebody stands in line, and changes under the line's lock. While it is set, permits are
//   taken only by serve_line_locked(), for the first in line: that is the whole of its fairness.
// - Who was served has its permits taken off the word and itself off the line, both under the line's lock. So a waiter that
//   was taken off by another has got its permits, whatever else befell it.
// - Whenever the line's lock is released, the first who stays in line wants more permits than there are.
#include "handoff/semaphore.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "handoff/detail/core/spin.hpp"
#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

Semaphore::Semaphore(SemaphoreOptions options)
    : Primitive("Semaphore", options.name),
      initial_(options.permits),
      max_(options.max == 0 ? options.permits : options.max),
      word_(options.permits * one_permit) {
  if (max_ == 0 || max_ > most_permits || initial_ > max_) {
    throw std::invalid_argument(fmt::format(
        "a semaphore needs a max of 1 to {}, and permits of at most that; got permits {}, max {}",
        most_permits, options.permits, options.max));
  }
  enter_if_named();
}

Semaphore::~Semaphore() { retire(); }

std::expected<void, Refusal> Semaphore::acquire_contended(std::size_t n, const Wait& wait,
                                                          Where where) {
  refuse_more_than_max(n);
  for (int i = 0; spinning_pays() && i < 40; ++i) {  // About a microsecond.
    cpu_relax();
    if (take_if_nobody_waits(n)) return {};
  }
  SemaphoreAcquire steps(*this, n);
  ThreadWaiter waiter(wait, {.operation = "acquire", .where = where});
  take_steps(waiter, steps);
  return steps.result();
}

void Semaphore::serve_line_locked(Unparks& unparks) {
  while (Link* link = first_to_stay_locked(line_.front_locked())) {
    const std::size_t n = link->ticket;
    if (available_in(word_.load(relaxed)) < n)
      break;  // Nobody else takes: there are no fewer later.
    // Pairs with the releases of those permits; the waiter sees it through the line's lock. Nobody else
    // takes permits while in_line is set.
    note_overflow(word_.fetch_add(taking(n), acq_rel), n);
    let_through_locked(line_, *link, unparks);
  }
  if (line_.is_empty_locked()) word_.fetch_and(~in_line, relaxed);  // Only the bit, under the lock.
}

void Semaphore::release_contended(std::size_t n) {
  Unparks unparks;
  SmallGuard guard(line_.lock());
  Word seen = word_.load(relaxed);  // A guess: the compare-and-swap decides.
  do {
    refuse_giving_too_much(n, seen);
    // Pairs with the acquires in take_if_nobody_waits() and serve_line_locked().
  } while (!word_.compare_exchange_weak(seen, seen + n * one_permit, detail::release, relaxed));
  serve_line_locked(unparks);
}

void Semaphore::refuse_more_than_max(std::size_t n) const {
  if (n <= max_) return;
  throw std::invalid_argument(
      fmt::format("{} permits can never be acquired: semaphore \"{}\" has at most {}", n,
                  display_name(), max_));
}

void Semaphore::refuse_giving_too_much(std::size_t n, Word word) const {
  if (n <= max_ - available_in(word)) return;
  throw std::invalid_argument(
      fmt::format("{} permits cannot be released: semaphore \"{}\" has {} available and at most {}",
                  n, display_name(), available_in(word), max_));
}

Stats Semaphore::stats() const {
  Stats stats = stats_of(line_);
  const Word word = word_.load(relaxed);  // A snapshot.
  const std::size_t available = available_in(word);
  stats.size = max_ - available;
  stats.capacity = max_;
  stats.takes = (overflows_.load(relaxed) << acquired_shift) + (word >> acquired_shift);
  // What is available was there in the beginning, or was released and not taken.
  stats.puts = stats.takes + available - initial_;
  SmallGuard guard(line_.lock());
  stats.refused = refused_;
  return stats;
}

void Semaphore::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

namespace detail {

SemaphoreAcquire::SemaphoreAcquire(Semaphore& semaphore, std::size_t n)
    : LineSteps(semaphore, semaphore.line_), semaphore_(semaphore), n_(n) {}

bool SemaphoreAcquire::enter_line_locked(Link& link, Unparks& unparks) {
  link.ticket = n_;
  semaphore_.line_.push_back_locked(link);
  // One word: a release() that comes later sees it.
  semaphore_.word_.fetch_or(Semaphore::in_line, relaxed);
  // Permits may have come back between the last look and this.
  semaphore_.serve_line_locked(unparks);
  return link.linked;
}

void SemaphoreAcquire::left_line_locked(Unparks& unparks) {
  ++semaphore_.refused_;
  semaphore_.serve_line_locked(unparks);  // It may have stood in the way of smaller requests.
}

}  // namespace detail

}  // namespace handoff::inline HANDOFF_FLAVOUR
