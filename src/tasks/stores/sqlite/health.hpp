// Whether a file can be trusted. A damaged one is refused before anything is written to it, and stays as it is, byte for byte.
//
// A file up to a size is read as a whole: its pages, what they point at, and our tables. Of a larger one that would take too long to be done at each start: of that the header,
// the schema, the list of free pages and the small tables are read, and the newest tasks. Damage elsewhere is met by the call that needs the page, which is answered with `unavailable`.
#pragma once

#include <cstdint>
#include <string>

#include "tasks/stores/sqlite/database.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// Throws Failure if there is a -wal file with something in it and no database that it is of. SQLite would delete it. Call it before the file is opened.
void check_not_orphaned(const std::string& path);

// Throws Failure if the file is damaged.
void check_health(Database& database, const std::string& path, std::uint64_t checked_whole);

// If an exception ends its scope, the file is not written either when it is closed: what is in its -wal file stays there.
class LeavesFileAlone {
 public:
  LeavesFileAlone(Database& database, const std::string& path);
  LeavesFileAlone(const LeavesFileAlone&) = delete;
  LeavesFileAlone& operator=(const LeavesFileAlone&) = delete;
  ~LeavesFileAlone();

 private:
  Database& database_;
  const bool has_wal_;
  const int exceptions_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
