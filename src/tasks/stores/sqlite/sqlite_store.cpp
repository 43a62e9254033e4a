#include "tasks/stores/sqlite/sqlite_store.hpp"

#include <fstream>
#include <system_error>
#include <utility>

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

void roll_back(Database& database) {
  sqlite3_exec(database.raw(), "rollback", nullptr, nullptr, nullptr);
}

}  // namespace

struct SqliteStore::Reader {
  explicit Reader(const std::string& path) : database(path, Database::Mode::read_only) {}
  Database database;
  SettingsCache settings;
};

SqliteStore::SqliteStore(SqliteOptions options)
    : options_(std::move(options)),
      writer_(options_.path.empty() ? ":memory:" : options_.path, Database::Mode::read_write) {
  prepare();
  migrate(writer_);
  if (!options_.path.empty()) {
    try {
      process_ = std::make_unique<ProcessLock>(options_.path + "-processes");
    } catch (const std::system_error& error) {
      throw Failure({.code = TaskError::Code::unavailable, .message = error.what(), .field = {}});
    }
  }
  begin_after_boot();
  reclaim_from_the_dead();
  if (!options_.path.empty()) {
    checkpoints_ =
        std::make_unique<Checkpoints>(writer_, writing_, options_.path, options_.checkpoints);
  }
}

SqliteStore::~SqliteStore() = default;

void SqliteStore::prepare() {
  // A file that is damaged is refused before anything is written to it.
  {
    Query check(writer_, "pragma quick_check(1)");
    if (check.next() && check.text(0) != "ok") {
      throw Failure(
          {.code = TaskError::Code::unavailable,
           .message = "the store " + options_.path + " is damaged (" + std::string(check.text(0)) +
                      "); nothing was changed. Copy it, then try `sqlite3 <file> .recover`",
           .field = {}});
    }
  }
  if (!options_.path.empty()) {
    writer_.run("pragma journal_mode = wal");
    writer_.run(options_.is_fast ? "pragma synchronous = normal" : "pragma synchronous = full");
  }
  writer_.run("pragma temp_store = memory; pragma cache_size = -16000");
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
    execute(writer_, "insert or replace into handoff_meta values('boot_id', ?)",
            std::string_view(now));
  }));
}

void SqliteStore::reclaim_from_the_dead() {
  if (!process_) return;
  forget_dead_workers();
  std::vector<std::int64_t> dead;
  {
    Query owners(writer_, "select distinct process from handoff_task where state = 3");
    while (owners.next()) {
      const std::int64_t number = owners.number(0);
      // Whoever had our number before us is gone.
      if (number == process_->number() || !process_->is_alive(number)) dead.push_back(number);
    }
  }
  for (const std::int64_t number : dead) {
    bool has_more = true;
    while (has_more) {
      static_cast<void>(transact([&](Transaction& transaction) {
        has_more = transaction.reclaim_process(number, reclaimed_at_once).has_more;
      }));
    }
  }
}

void SqliteStore::forget_dead_workers() {
  static_cast<void>(transact([&](Transaction&) {
    std::vector<std::int64_t> dead;
    {
      Query owners(writer_, "select distinct process from handoff_worker");
      while (owners.next()) {
        const std::int64_t number = owners.number(0);
        if (number == process_->number() || !process_->is_alive(number)) dead.push_back(number);
      }
    }
    for (const std::int64_t number : dead) {
      execute(writer_, "delete from handoff_worker where process = ?", number);
    }
  }));
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
  if (!reader) reader = std::make_unique<Reader>(options_.path);
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
  auto inserted = transaction.insert(std::span(&task, 1));
  if (!inserted) return std::unexpected(std::move(inserted.error()));
  transaction.flush();
  return inserted->front();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
