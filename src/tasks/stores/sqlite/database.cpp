#include "tasks/stores/sqlite/database.hpp"

#include <fmt/format.h>

#include <utility>

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

// How long a writer of another process may keep us waiting. Its transactions are as short as ours.
constexpr int most_busy_ms = 10'000;

struct Advice {
  TaskError::Code code;
  std::string_view text;
};

Advice advice_for(int result) {
  using enum TaskError::Code;
  switch (result & 0xff) {
    case SQLITE_FULL: return {unavailable, "the disk is full; free some space and try again"};
    case SQLITE_READONLY:
      return {unavailable, "the file, or its folder, cannot be written; check who may write there"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {unavailable,
              "another program keeps the file locked; look for a transaction that was left open"};
    case SQLITE_CANTOPEN:
      return {unavailable, "the file cannot be opened; check the path and who may read it"};
    case SQLITE_CORRUPT:
      return {
          unavailable,
          "the file is damaged; nothing was changed. Copy it, then try `sqlite3 <file> .recover`"};
    case SQLITE_NOTADB: return {unavailable, "the file is no SQLite database; nothing was changed"};
    case SQLITE_IOERR:
      return {unavailable, "the disk has failed to read or write; see the kernel's log"};
    case SQLITE_TOOBIG: return {too_large, "a value is larger than SQLite takes"};
    default: return {internal, "SQLite refused"};
  }
}

}  // namespace

void throw_failure(sqlite3* connection, std::string_view doing) {
  const int result = connection == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(connection);
  const auto advice = advice_for(result);
  const char* const path =
      connection == nullptr ? nullptr : sqlite3_db_filename(connection, "main");
  const std::string file = path == nullptr || *path == '\0' ? "the store" : path;
  throw Failure(
      {.code = advice.code,
       .message = fmt::format("{} {}: {} ({})", doing, file, advice.text,
                              connection == nullptr ? "no memory" : sqlite3_errmsg(connection)),
       .field = {}});
}

Database::Database(const std::string& path, Mode mode) : is_own_(true) {
  const int flags = (mode == Mode::read_only ? SQLITE_OPEN_READONLY
                                             : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path.c_str(), &connection_, flags, nullptr);
  if (result != SQLITE_OK) {
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> opened(connection_, &sqlite3_close);
    throw Failure({.code = TaskError::Code::unavailable,
                   .message = fmt::format("cannot open {}: {} ({})", path, advice_for(result).text,
                                          sqlite3_errstr(result)),
                   .field = {}});
  }
  sqlite3_busy_timeout(connection_, most_busy_ms);
}

Database::Database(sqlite3* connection) : connection_(connection), is_own_(false) {}

Database::~Database() {
  statements_.clear();
  if (is_own_) sqlite3_close(connection_);
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw_failure(connection_, "cannot use");
  }
}

sqlite3_stmt* Database::prepared(const char* sql) {
  auto& statement = statements_[sql];
  if (!statement) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) !=
        SQLITE_OK) {
      statements_.erase(sql);
      throw_failure(connection_, "cannot use");
    }
    statement.reset(made);
  }
  return statement.get();
}

bool Query::next() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) throw_failure(database_.raw(), "cannot use");
  return false;
}

std::string repeated(std::string_view part, int times) {
  std::string all(part);
  for (int i = 1; i < times; ++i) all.append(", ").append(part);
  return all;
}

TaskId Query::id(int column) const {
  const auto* const bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return TaskId::from_bytes({bytes, bytes == nullptr ? 0 : size}).value_or(TaskId());
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
