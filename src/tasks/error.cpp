#include "handoff/tasks/error.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

std::string_view to_string(TaskError::Code code) {
  using enum TaskError::Code;
  switch (code) {
    case full: return "full";
    case closed: return "closed";
    case timed_out: return "timed_out";
    case stopped: return "stopped";
    case bad_request: return "bad_request";
    case not_found: return "not_found";
    case conflict: return "conflict";
    case stale_lease: return "stale_lease";
    case cancelled: return "cancelled";
    case too_large: return "too_large";
    case unavailable: return "unavailable";
    case forbidden: return "forbidden";
    case internal: return "internal";
  }
  return "internal";
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
