// A connection to an SQLite file, and its prepared statements.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "handoff/tasks/error.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"
#include "tasks/store_failure.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// The file cannot be read or written. What the caller is told is `error`.
using Failure = StoreFailure;

// Says in words people understand what the last call on the connection failed of.
[[noreturn]] void throw_failure(sqlite3* connection, std::string_view doing);
// For what SQLite does not notice itself: parts of the file contradict each other.
[[noreturn]] void throw_damaged(sqlite3* connection, std::string_view why);

struct DatabaseOptions {
  std::string vfs{};  // By which SQLite reaches its files; empty: the usual one.
  // How long a writer of another process may keep us waiting. Its transactions are as short as ours.
  std::chrono::milliseconds busy_for = std::chrono::seconds(10);
};

class Database {
 public:
  enum class Mode : std::uint8_t { read_write, read_only };

  // ":memory:" has no file. Throws Failure.
  Database(const std::string& path, Mode mode, const DatabaseOptions& options = {});
  // For a connection of the user's, which stays his.
  explicit Database(sqlite3* connection);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  void run(const std::string& sql);  // Any number of statements, without results.
  // `sql` must be a literal: it is known by its address.
  sqlite3_stmt* prepared(const char* sql);
  std::int64_t changes() const { return sqlite3_changes64(connection_); }
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(connection_); }
  sqlite3* raw() const { return connection_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* connection_ = nullptr;
  const bool is_own_;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

// One run of a prepared statement. Its arguments are bound in order; what is a string or a blob must live as long as this does.
//
//   Query tasks(database, "select seq, kind from handoff_task where queue = ?", queue);
//   while (tasks.next()) use(tasks.number(0), tasks.text(1));
class Query {
 public:
  template <typename... Args>
  Query(Database& database, const char* sql, const Args&... args)
      : database_(database), statement_(database.prepared(sql)) {
    add(args...);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { sqlite3_reset(statement_); }

  // Binds those that come next, of a statement about several rows. All must be bound: those of an earlier run are still there.
  template <typename... Args>
  void add(const Args&... args) {
    (bind(++bound_, args), ...);
  }
  // False once there are no more rows.
  bool next();

  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  // Until next() is called.
  std::string_view text(int column) const {
    const auto* const bytes = sqlite3_column_text(statement_, column);
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  TaskId id(int column) const;
  Time time(int column) const { return Time(std::chrono::milliseconds(number(column))); }
  std::optional<Time> time_if_any(int column) const {
    return is_null(column) ? std::nullopt : std::optional(time(column));
  }

 private:
  void bind(int position, std::nullopt_t) { sqlite3_bind_null(statement_, position); }
  void bind(int position, std::int64_t value) { sqlite3_bind_int64(statement_, position, value); }
  void bind(int position, int value) { sqlite3_bind_int64(statement_, position, value); }
  void bind(int position, double value) { sqlite3_bind_double(statement_, position, value); }
  void bind(int position, Time value) { bind(position, value.time_since_epoch()); }
  void bind(int position, std::chrono::milliseconds value) { bind(position, value.count()); }
  void bind(int position, std::string_view value) {
    sqlite3_bind_text64(statement_, position, value.data() == nullptr ? "" : value.data(),
                        value.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind(int position, const std::string& value) { bind(position, std::string_view(value)); }
  void bind(int position, const TaskId& id) {
    sqlite3_bind_blob64(statement_, position, id.bytes().data(), id.bytes().size(), SQLITE_STATIC);
  }
  template <typename T>
  void bind(int position, const std::optional<T>& value) {
    if (value) {
      bind(position, *value);
    } else {
      bind(position, std::nullopt);
    }
  }

  Database& database_;
  sqlite3_stmt* const statement_;
  int bound_ = 0;
};

// For a statement without a result. Returns how many rows it changed.
template <typename... Args>
std::int64_t execute(Database& database, const char* sql, const Args&... args) {
  Query query(database, sql, args...);
  query.next();
  return database.changes();
}

// `part` so many times, with commas between: for a statement about several rows.
std::string repeated(std::string_view part, int times);

// An empty text is stored as nothing.
inline std::optional<std::string_view> if_any(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
