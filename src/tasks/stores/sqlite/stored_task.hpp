// What a schedule makes, as JSON in its row.
#pragma once

#include <string>
#include <string_view>

#include "handoff/tasks/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

std::string to_stored(const NewTask& task);
// What is not there has its default: it was written by another version.
NewTask from_stored(std::string_view json);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
