// What calls about a store throw.
#pragma once

#include <stdexcept>
#include <utility>

#include "handoff/tasks/error.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class StoreFailure : public std::runtime_error {
 public:
  explicit StoreFailure(TaskError what)
      : std::runtime_error(what.message), error(std::move(what)) {}
  TaskError error;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
