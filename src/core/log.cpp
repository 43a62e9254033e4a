#include "handoff/log.hpp"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace {

// Shared, so that a line being written keeps its sink alive while another thread replaces it.
struct Sink {
  detail::SmallLock lock;
  std::shared_ptr<const LogSink> current;
};

Sink& sink() {
  static auto* const instance =
      new Sink;  // Never destroyed: lines may come from static destructors.
  return *instance;
}

}  // namespace

LogSink set_log(LogSink next) {
  auto replacement = next ? std::make_shared<const LogSink>(std::move(next)) : nullptr;
  {
    const detail::sim::Uninterrupted alone;
    detail::SmallGuard guard(sink().lock);
    sink().current.swap(replacement);
  }
  return replacement ? *replacement : LogSink();
}

namespace detail {

void log_line(std::string_view line) noexcept try {
  std::shared_ptr<const LogSink> current;
  {
    const sim::Uninterrupted alone;
    SmallGuard guard(sink().lock);
    current = sink().current;
  }
  if (current) {
    (*current)(line);
  } else {
    fmt::print(stderr, "handoff: {}\n", line);
  }
} catch (...) {
  // Who has something to say is in the middle of something else, and a line is not worth breaking that.
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
