#include "cli/failure.hpp"

namespace handoff::cli {

using Code = tasks::TaskError::Code;

Exit exit_code_of(Code code) {
  switch (code) {
    case Code::full:
    case Code::timed_out: return Exit::try_later;
    case Code::bad_request:
    case Code::too_large: return Exit::usage;
    case Code::not_found: return Exit::not_found;
    case Code::closed:
    case Code::forbidden:
    case Code::unavailable: return Exit::unavailable;
    case Code::stopped:
    case Code::conflict:
    case Code::stale_lease:
    case Code::cancelled:
    case Code::internal: break;
  }
  return Exit::failed;
}

Failure failure_of(const tasks::TaskError& error) {
  return Failure(exit_code_of(error.code), error.message);
}

}  // namespace handoff::cli
