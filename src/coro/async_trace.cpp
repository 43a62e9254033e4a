#include "handoff/async_trace.hpp"

#include <array>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/places.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/coro/frame_memory.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {
namespace {

struct Trace {
  std::exception_ptr error;
  std::vector<std::source_location> places;
};

constexpr std::size_t most_traces = 256;

struct Traces {
  atomic<bool> are_kept{false};
  SmallLock lock;
  // Guarded by lock.
  std::array<Trace, most_traces> last;
  std::size_t next = 0;

  Trace* find_locked(const std::exception_ptr& error) {
    for (Trace& each : last) {
      if (each.error == error) return &each;
    }
    return nullptr;
  }
};

Traces& traces() {
  static auto* const all = new Traces;  // Outlives every coroutine.
  return *all;
}

}  // namespace

void note_trace_of(const std::exception_ptr& error, const PromiseBase& promise) noexcept {
  Traces& all = traces();
  if (!all.are_kept.load(relaxed)) return;  // Nothing is published with it.
  try {
    Trace trace{.error = error, .places = places_of(promise)};
    const sim::Uninterrupted alone;
    SmallGuard guard(all.lock);
    if (all.find_locked(error) != nullptr) return;
    std::swap(all.last[all.next], trace);  // What was there is destroyed without the lock.
    all.next = (all.next + 1) % most_traces;
  } catch (...) {  // No memory for it.
  }
}

}  // namespace detail

void keep_async_traces(bool on) {
  auto& all = detail::traces();
  all.are_kept.store(on, detail::relaxed);  // A hint: the traces themselves are under the lock.
  if (on) return;
  std::array<detail::Trace, detail::most_traces> forgotten;
  const detail::sim::Uninterrupted alone;
  detail::SmallGuard guard(all.lock);
  forgotten.swap(all.last);
}

std::vector<std::source_location> async_trace(const std::exception_ptr& error) {
  if (!error) return {};
  auto& all = detail::traces();
  const detail::sim::Uninterrupted alone;
  detail::SmallGuard guard(all.lock);
  const detail::Trace* const trace = all.find_locked(error);
  return trace == nullptr ? std::vector<std::source_location>() : trace->places;
}

std::string to_string(const std::vector<std::source_location>& trace) {
  std::string text;
  for (const auto& each : trace) {
    if (!text.empty()) text += ", ";
    text += detail::to_string(each);
  }
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
