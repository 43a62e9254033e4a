#include "tasks/stores/sqlite/sqlite_store.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "handoff/clock.hpp"
#include "tasks/stores/sqlite/health.hpp"
#include "tasks/stores/sqlite/schema.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr int reclaimed_at_once = 1000;
constexpr std::size_t most_idle_readers = 8;

// Another one after each start of the machine.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

void add(Changes& all, Changes some) {
  for (const auto& [queue, count] : some.ready) all.ready[queue] += count;
  for (const auto& [queue, count] : some.room) all.room[queue] += count;
  const auto queues_before = static_cast<std::uint32_t>(all.queues.size());
  for (StateChange each : some.states) {
    each.queue += queues_before;
    all.states.push_back(each);
  }
  std::ranges::move(some.queues, std::back_inserter(all.queues));
  std::ranges::move(some.workflows, std::back_inserter(all.workflows));
  std::ranges::move(some.depths, std::back_inserter(all.depths));
  all.at = some.at;
  if (some.due_in) all.due_in = all.due_in ? std::min(*all.due_in, *some.due_in) : some.due_in;
}

void roll_back(Database& database) {
  sqlite3_exec(database.raw(), "rollback", nullptr, nullptr, nullptr);
}

}  // namespace

struct SqliteStore::Reader {
  explicit Reader(const SqliteOptions& options)
      : database(options.path, Database::Mode::read_only, options.database) {}
  Database database;
  SettingsCache settings;
};

namespace {
const std::string& checked_path(const std::string& path) {
  static const std::string in_memory = ":memory:";
  if (path.empty()) return in_memory;
  check_not_orphaned(path);
  return path;
}
}  // namespace

SqliteStore::SqliteStore(SqliteOptions options)
    : options_(std::move(options)),
      writer_(checked_path(options_.path), Database::Mode::read_write, options_.database) {
  {
    const LeavesFileAlone unless_opened(writer_, options_.path);
    prepare();
    migrate(writer_);
    if (!options_.path.empty()) {
      try {
        process_ = std::make_unique<ProcessLock>(options_.path + "-processes");
      } catch (const std::system_error& error) {
        throw Failure({.code = TaskError::Code::unavailable, .message = error.what(), .field = {}});
      }
    }
  }
  begin_after_boot();
  // Whoever had our number before us is gone.
  if (process_) {
    static_cast<void>(reclaim_from([this](std::int64_t number) {
      return number == process_->number() || !process_->is_alive(number);
    }));
  }
  if (!options_.path.empty()) {
    checkpoints_ = std::make_unique<Checkpoints>(writer_, writing_, options_.path,
                                                 options_.checkpoints, options_.database);
  }
}

SqliteStore::~SqliteStore() = default;

void SqliteStore::prepare() {
  if (!options_.path.empty()) {
    check_health(writer_, options_.path, options_.checked_whole);
    use_wal();
    writer_.run(options_.is_fast ? "pragma synchronous = normal" : "pragma synchronous = full");
  }
  writer_.run("pragma temp_store = memory; pragma cache_size = -16000");
}

// Of several who do that to a new file at once SQLite refuses all but one, without waiting: each has it open for reading, and wants the others out.
void SqliteStore::use_wal() {
  constexpr int pause_ms = 5;
  const Deadline end = within(options_.database.busy_for);
  for (;;) {
    sqlite3_stmt* statement = nullptr;
    int result =
        sqlite3_prepare_v2(writer_.raw(), "pragma journal_mode = wal", -1, &statement, nullptr);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owned(statement, &sqlite3_finalize);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
      const auto* const mode = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      if (std::string_view(mode) == "wal") return;
      throw Failure(
          {.code = TaskError::Code::unavailable,
           .message = "cannot open " + options_.path +
                      ": its file system has no shared memory, as those of a network; put the "
                      "file on a disk of this machine",
           .field = {}});
    }
    if ((result & 0xff) != SQLITE_BUSY || end.has_passed()) {
      throw_failure(writer_.raw(), "cannot open");
    }
    sqlite3_sleep(pause_ms);
  }
}

// Leases are by the time since the machine was started: those from before are over.
void SqliteStore::begin_after_boot() {
  const std::string now = boot_id();
  static_cast<void>(transact([&](Transaction&) {
    {
      Query known(writer_, "select value from handoff_meta where name = 'boot_id'");
      if (known.next() && known.text(0) == now) return;
    }
    execute(writer_, "update handoff_task set lease_until = 0 where state = 3");
    execute(writer_,
            "update handoff_task set lease_until = null where queue in (select id from "
            "handoff_queue) and state = 6 and state >= 4 and lease_until is not null");
    execute(writer_, "insert or replace into handoff_meta values('boot_id', ?)",
            std::string_view(now));
  }));
}

bool SqliteStore::is_changed_by_others() {
  const auto alone = writing_.hold();
  Query version(writer_, "pragma data_version");
  version.next();
  return std::exchange(data_version_, version.number(0)) != data_version_;
}

Changes SqliteStore::reclaim_from_the_dead() {
  if (!process_) return {};
  return reclaim_from([this](std::int64_t number) { return !process_->is_alive(number); });
}

// Who is gone is asked while nobody else can write: a number that is free then has no new owner with tasks in hand.
Changes SqliteStore::reclaim_from(const std::function<bool(std::int64_t)>& is_gone) {
  Changes all;
  bool has_more = true;
  while (has_more) {
    has_more = false;
    add(all, transact([&](Transaction& transaction) {
          forget_workers(is_gone);
          std::vector<std::int64_t> gone;
          {
            Query owners(writer_,
                         "select distinct process from handoff_task where state = 3 and process is "
                         "not null");
            while (owners.next()) {
              if (is_gone(owners.number(0))) gone.push_back(owners.number(0));
            }
          }
          for (const std::int64_t number : gone) {
            has_more |= transaction.reclaim_process(number, reclaimed_at_once).has_more;
          }
        }));
  }
  return all;
}

void SqliteStore::forget_workers(const std::function<bool(std::int64_t)>& is_gone) {
  std::vector<std::int64_t> gone;
  {
    Query owners(writer_, "select distinct process from handoff_worker");
    while (owners.next()) {
      if (is_gone(owners.number(0))) gone.push_back(owners.number(0));
    }
  }
  for (const std::int64_t number : gone) {
    execute(writer_, "delete from handoff_worker where process = ?", number);
  }
}

Changes SqliteStore::transact(const std::function<void(Transaction&)>& work) {
  const auto alone = writing_.hold();
  execute(writer_, "begin immediate");
  const auto changed_before = sqlite3_total_changes64(writer_.raw());
  try {
    SqliteTransaction transaction(writer_, settings_, *options_.clock, process_.get());
    work(transaction);
    transaction.flush();
    execute(writer_, "commit");
    // Nobody is woken for nothing: two who only look would wake each other for ever.
    if (process_ && sqlite3_total_changes64(writer_.raw()) != changed_before) process_->ring();
    return std::move(transaction.changes());
  } catch (...) {
    roll_back(writer_);
    settings_ = SettingsCache();  // It may have seen what is not there any more.
    throw;
  }
}

void SqliteStore::read(const std::function<void(Transaction&)>& work) {
  if (options_.path.empty()) {
    const auto alone = writing_.hold();
    SqliteTransaction transaction(writer_, settings_, *options_.clock, process_.get());
    work(transaction);
    return;
  }
  std::unique_ptr<Reader> reader;
  {
    const auto alone = reading_.hold();
    if (!readers_.empty()) {
      reader = std::move(readers_.back());
      readers_.pop_back();
    }
  }
  if (!reader) reader = std::make_unique<Reader>(options_);
  execute(reader->database, "begin");
  try {
    SqliteTransaction transaction(reader->database, reader->settings, *options_.clock,
                                  process_.get());
    work(transaction);
  } catch (...) {
    roll_back(reader->database);
    throw;
  }
  execute(reader->database, "commit");
  const auto alone = reading_.hold();
  if (readers_.size() < most_idle_readers) readers_.push_back(std::move(reader));
}

std::expected<Enqueued, TaskError> insert_in(sqlite3* connection, const NewTask& task,
                                             const TaskClock& clock) {
  Database database(connection);
  SettingsCache settings;
  SqliteTransaction transaction(database, settings, clock, nullptr);
  // The user may go on and commit after a failure: no part of the task may be left then.
  const auto undo = [&] {
    sqlite3_exec(connection, "rollback to handoff_insert; release handoff_insert", nullptr, nullptr,
                 nullptr);
  };
  execute(database, "savepoint handoff_insert");
  try {
    auto inserted = transaction.insert(std::span(&task, 1));
    if (!inserted) {
      undo();
      return std::unexpected(without_index(std::move(inserted.error())));
    }
    transaction.flush();
    execute(database, "release handoff_insert");
    return inserted->front();
  } catch (...) {
    undo();
    throw;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
