// A command cannot go on: thrown by whoever finds out, shown by main() as `handoff: <message>`.
//
//   const auto task = or_fail(tasks.wait(id));        // the value, or a Failure with the fitting exit code
//   throw Failure(Exit::not_found, "there is no schedule \"nightly\"; `handoff schedule ls` lists them");
#pragma once

#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "cli/exit_code.hpp"
#include "handoff/tasks/error.hpp"
#include "handoff/tasks/json.hpp"

namespace handoff::cli {

class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

// Whoever reads our output has gone, as `head` does: nothing more to do, and no error.
class ReaderGone {};

Exit exit_code_of(tasks::TaskError::Code code);
Failure failure_of(const tasks::TaskError& error);

template <typename T>
T or_fail(std::expected<T, tasks::TaskError> result) {
  if (!result) throw failure_of(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace handoff::cli
