#include "tasks/stores/sqlite/database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "tasks/stores/sqlite/lock_holder.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

struct Advice {
  TaskError::Code code;
  std::string text;
};

constexpr std::string_view disk_is_full = "the disk is full; free some space and try again";

std::string advice_about_io(int result, int system_error) {
  // It makes its -shm file larger by itself, and says no more than that it could not.
  if (result == SQLITE_IOERR_SHMSIZE || system_error == ENOSPC || system_error == EDQUOT) {
    return std::string(disk_is_full);
  }
  if (system_error == EFBIG) return "the file may not grow any more; see `ulimit -f`";
  return "the disk has failed to read or write; see the kernel's log";
}

std::string advice_about_lock(const std::string& path) {
  const std::string holder = lock_holder(path);
  return fmt::format("{} keeps the file locked; look for a transaction that was left open",
                     holder.empty() ? "another program" : holder);
}

// Of the folder that a file is in, if that is what is wrong.
std::string advice_about_folder(const std::string& path) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return fmt::format("there is no folder {}", folder.string());
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return "";
  return fmt::format(
      "the folder {} cannot be written, and SQLite keeps files beside its own; check who may write "
      "there",
      folder.string());
}

std::string folder_or(const std::string& path, std::string_view otherwise) {
  std::string advice = path.empty() ? "" : advice_about_folder(path);
  return advice.empty() ? std::string(otherwise) : advice;
}

// `path` is empty for a store in memory.
Advice advice_for(int result, int system_error, const std::string& path) {
  using enum TaskError::Code;
  switch (result & 0xff) {
    case SQLITE_FULL: return {unavailable, std::string(disk_is_full)};
    case SQLITE_READONLY:
      return {unavailable,
              folder_or(path, "the file cannot be written; check who may write there")};
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {unavailable, advice_about_lock(path)};
    case SQLITE_CANTOPEN:
      return {unavailable,
              folder_or(path, "the file cannot be opened; check the path and who may read it")};
    case SQLITE_CORRUPT:
      return {
          unavailable,
          "the file is damaged; nothing was changed. Copy it, then try `sqlite3 <file> .recover`"};
    case SQLITE_NOTADB:
      return {unavailable,
              "the file is no SQLite database, or its first bytes are damaged; nothing was "
              "changed. If it was a store, copy it, then try `sqlite3 <file> .recover`"};
    case SQLITE_IOERR: return {unavailable, advice_about_io(result, system_error)};
    case SQLITE_TOOBIG: return {too_large, "a value is larger than SQLite takes"};
    default: return {internal, "SQLite refused"};
  }
}

}  // namespace

void throw_failure(sqlite3* connection, std::string_view doing) {
  const int result = connection == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(connection);
  const std::string why = connection == nullptr ? "no memory" : sqlite3_errmsg(connection);
  const int system_error = connection == nullptr ? 0 : sqlite3_system_errno(connection);
  const char* const name =
      connection == nullptr ? nullptr : sqlite3_db_filename(connection, "main");
  const std::string path = name == nullptr ? "" : name;
  const auto advice = advice_for(result, system_error, path);
  throw Failure({.code = advice.code,
                 .message = fmt::format("{} {}: {} ({})", doing, path.empty() ? "the store" : path,
                                        advice.text, why),
                 .field = {}});
}

void throw_damaged(sqlite3* connection, std::string_view why) {
  const char* const name = sqlite3_db_filename(connection, "main");
  const std::string path = name == nullptr ? "" : name;
  const auto advice = advice_for(SQLITE_CORRUPT, 0, path);
  throw Failure({.code = advice.code,
                 .message = fmt::format("cannot use {}: {} ({})", path.empty() ? "the store" : path,
                                        advice.text, why),
                 .field = {}});
}

namespace {

// Payloads are nobody's business but the owner's. SQLite gives what it puts beside the file the permissions of the file; one that
// is there keeps what it has. What goes wrong here goes wrong when it is opened, too, and is told there.
void make_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
}

}  // namespace

Database::Database(const std::string& path, Mode mode, const DatabaseOptions& options)
    : is_own_(true) {
  if (mode == Mode::read_write && options.vfs.empty() && path != ":memory:") make_private(path);
  const int flags = (mode == Mode::read_only ? SQLITE_OPEN_READONLY
                                             : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path.c_str(), &connection_, flags,
                                     options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (result != SQLITE_OK) {
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> opened(connection_, &sqlite3_close);
    const int system_error = connection_ == nullptr ? 0 : sqlite3_system_errno(connection_);
    throw Failure({.code = TaskError::Code::unavailable,
                   .message = fmt::format("cannot open {}: {} ({})", path,
                                          advice_for(result, system_error, path).text,
                                          sqlite3_errstr(result)),
                   .field = {}});
  }
  // Where it may not write, SQLite opens a file for reading and says nothing.
  if (mode == Mode::read_write && sqlite3_db_readonly(connection_, "main") == 1) {
    sqlite3_close(connection_);
    throw Failure({.code = TaskError::Code::unavailable,
                   .message = fmt::format("cannot open {}: {}", path,
                                          advice_for(SQLITE_READONLY, 0, path).text),
                   .field = {}});
  }
  sqlite3_busy_timeout(connection_, static_cast<int>(options.busy_for.count()));
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
