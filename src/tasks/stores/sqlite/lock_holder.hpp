// Who keeps a file locked, so that people know where to look.
#pragma once

#include <string>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// Other processes that may write to the database now, or keep everybody out: "process 4711 (sqlite3)". Empty if the kernel does not say.
std::string lock_holder(const std::string& path);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
