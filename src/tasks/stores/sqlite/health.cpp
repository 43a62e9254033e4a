#include "tasks/stores/sqlite/health.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <filesystem>

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr int most_messages = 100;

// 0 if there is none.
std::uint64_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

[[noreturn]] void refuse(const std::string& path, std::string_view damage) {
  throw Failure({.code = TaskError::Code::unavailable,
                 .message = fmt::format("cannot open {}: the file is damaged ({}); nothing was "
                                        "changed. Copy it, then try `sqlite3 <file> .recover`",
                                        path, damage),
                 .field = {}});
}

// Rules that tables of the user's break are the user's business: only what is about the file, or about tables of ours, counts.
bool is_damage(std::string_view message) {
  return message.starts_with("***") || message.find("handoff_") != std::string_view::npos;
}

// "*** in database main ***\nTree 3 page 4: btreeInitPage() returns error code 11" is told in one line.
std::string in_one_line(std::string_view message) {
  constexpr std::string_view where = "*** in database main ***\n";
  if (message.starts_with(where)) message.remove_prefix(where.size());
  return std::string(message.substr(0, message.find('\n')));
}

// `what`: how many messages at most, about the whole file; or a table.
template <typename What>
void quick_check(Database& database, const std::string& path, const What& what) {
  Query query(database, "select * from pragma_quick_check(?)", what);
  while (query.next()) {
    if (is_damage(query.text(0))) refuse(path, in_one_line(query.text(0)));
  }
}

bool has_tables(Database& database) {
  Query table(database, "select 1 from sqlite_schema where name = 'handoff_task'");
  return table.next();
}

// SQLite takes what is missing of the last page for zeros. While there is a -wal file that may be right.
void check_end(Database& database, const std::string& path) {
  const auto size = size_of(path);
  Query query(database, "pragma page_size");
  query.next();
  const auto page = static_cast<std::uint64_t>(query.number(0));
  if (size % page == 0 || size_of(path + "-wal") > 0) return;
  refuse(path, fmt::format("it ends after {} of {} bytes of a page", size % page, page));
}

// All that every call needs, and what was written last: that is what a bad day damages.
void check_vital_parts(Database& database, const std::string& path) {
  constexpr auto small =
      std::to_array<std::string_view>({"handoff_meta", "handoff_queue", "handoff_settings",
                                       "handoff_group", "handoff_schedule", "handoff_worker"});
  quick_check(database, path, std::string_view("sqlite_schema"));  // And the list of free pages.
  if (!has_tables(database)) return;
  for (const std::string_view each : small) quick_check(database, path, each);
  Query newest(database,
               "select sum(length(id) + length(kind) + coalesce(length(payload), 0)) from "
               "(select * from handoff_task order by seq desc limit 1000)");
  newest.next();
}

}  // namespace

void check_not_orphaned(const std::string& path) {
  // In this order: who makes a new file writes that first.
  if (size_of(path + "-wal") == 0 || size_of(path) > 0) return;
  throw Failure(
      {.code = TaskError::Code::unavailable,
       .message = fmt::format("cannot open {0}: it is gone or empty, and {0}-wal is not, which has "
                              "what was last written to it; nothing was changed. Put the file back "
                              "beside it, or move {0}-wal away to begin anew",
                              path),
       .field = {}});
}

void check_health(Database& database, const std::string& path, std::uint64_t checked_whole) {
  try {
    if (size_of(path) + size_of(path + "-wal") <= checked_whole) {
      quick_check(database, path, most_messages);
    } else {
      check_vital_parts(database, path);
    }
    check_end(database, path);
  } catch (const Failure& failure) {
    // What SQLite has no name for is damage too: all that was done is to read.
    if (failure.error.code == TaskError::Code::internal) {
      refuse(path, sqlite3_errmsg(database.raw()));
    }
    throw;
  }
}

LeavesFileAlone::LeavesFileAlone(Database& database, const std::string& path)
    : database_(database),
      has_wal_(!path.empty() && size_of(path + "-wal") > 0),
      exceptions_(std::uncaught_exceptions()) {}

LeavesFileAlone::~LeavesFileAlone() {
  // Without a -wal file there is nothing that would be written, and those that were made for looking are deleted.
  if (!has_wal_ || std::uncaught_exceptions() == exceptions_) return;
  sqlite3_db_config(database_.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
