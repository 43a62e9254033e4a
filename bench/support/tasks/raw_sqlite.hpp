// A queue of tasks as one writes it by hand for SQLite: one table, one partial index, prepared statements, many rows in one transaction.
//
// It knows none of what makes a task durable beyond the commit: no leases that fence, no retries, no limits, no counts, no ids of one's own. It is what the file allows.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "payload.hpp"

namespace bench {

class RawSqlite {
 public:
  struct Claimed {
    std::int64_t id;
    std::string payload;
  };

  explicit RawSqlite(const std::string& path) {
    if (sqlite3_open_v2(path.c_str(), &database_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK) {
      throw std::runtime_error("cannot open " + path);
    }
    run("pragma journal_mode = wal");
    run("pragma synchronous = full");
    run("create table task(id integer primary key, queue text not null, kind text not null, "
        "payload text not "
        "null, state integer not null, priority integer not null, run_at integer not null, attempt "
        "integer not "
        "null default 0, lease_until integer)");
    run("create index task_ready on task(queue, priority desc, run_at) where state = 0");
    begin_ = prepare("begin immediate");
    commit_ = prepare("commit");
    insert_ = prepare(
        "insert into task(queue, kind, payload, state, priority, run_at) values('mail', 'welcome', "
        "?, 0, 0, ?)");
    claim_ = prepare(
        "update task set state = 1, attempt = attempt + 1, lease_until = ?1 + 30000 where id in "
        "(select id from task "
        "where queue = 'mail' and state = 0 and run_at <= ?1 order by priority desc, run_at limit "
        "?2) "
        "returning id, payload");
    finish_ = prepare("update task set state = 2, lease_until = null where id = ? and state = 1");
  }
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;
  ~RawSqlite() {
    for (sqlite3_stmt* const each : {begin_, commit_, insert_, claim_, finish_}) {
      sqlite3_finalize(each);
    }
    sqlite3_close(database_);
  }

  void begin() { step(begin_); }
  void commit() { step(commit_); }

  void insert() {
    sqlite3_bind_text(insert_, 1, task_payload.data(), static_cast<int>(task_payload.size()),
                      SQLITE_STATIC);
    sqlite3_bind_int64(insert_, 2, ++now_);
    step(insert_);
  }
  // In a transaction of its own.
  void insert_all(std::uint64_t count) {
    begin();
    for (std::uint64_t i = 0; i < count; ++i) insert();
    commit();
  }
  // Finishes what was claimed before and claims the next, in one transaction.
  std::vector<Claimed> finish_and_claim(const std::vector<Claimed>& finished, std::uint64_t most) {
    begin();
    for (const Claimed& each : finished) {
      sqlite3_bind_int64(finish_, 1, each.id);
      step(finish_);
    }
    std::vector<Claimed> claimed;
    claimed.reserve(most);
    sqlite3_bind_int64(claim_, 1, ++now_);
    sqlite3_bind_int64(claim_, 2, static_cast<std::int64_t>(most));
    while (sqlite3_step(claim_) == SQLITE_ROW) {
      claimed.push_back({.id = sqlite3_column_int64(claim_, 0),
                         .payload = reinterpret_cast<const char*>(sqlite3_column_text(claim_, 1))});
    }
    sqlite3_reset(claim_);
    commit();
    return claimed;
  }

  static std::string version() { return std::string("SQLite ") + sqlite3_libversion(); }

 private:
  void run(const char* sql) {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) !=
        SQLITE_OK) {
      fail();
    }
    return made;
  }
  void step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail();
    sqlite3_reset(statement);
  }
  [[noreturn]] void fail() { throw std::runtime_error(sqlite3_errmsg(database_)); }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* claim_ = nullptr;
  sqlite3_stmt* finish_ = nullptr;
  std::int64_t now_ = 1'800'000'000'000;
};

}  // namespace bench
