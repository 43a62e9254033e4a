// The tables, and how a file of an older version becomes one of this version.
#pragma once

#include "tasks/stores/sqlite/database.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// Under the file's lock. Throws Failure, and has changed nothing, if the file is of a newer version than this library.
void migrate(Database& database);

// What this library writes.
int schema_version();

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
