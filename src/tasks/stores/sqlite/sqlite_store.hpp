// Tasks in an SQLite file, or in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handoff/mutex.hpp"
#include "handoff/tasks/clock.hpp"
#include "tasks/process_lock.hpp"
#include "tasks/store.hpp"
#include "tasks/stores/sqlite/checkpoints.hpp"
#include "tasks/stores/sqlite/database.hpp"
#include "tasks/stores/sqlite/rows.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

struct SqliteOptions {
  std::string path;  // Empty: in memory.
  bool is_fast =
      false;  // Not synced with each commit: what the machine's last second held may be lost if its power fails.
  const TaskClock* clock = &TaskClock::real();
  CheckpointOptions checkpoints{};
  DatabaseOptions database{};
  // A larger file is not read as a whole when it is opened: see health.hpp.
  std::uint64_t checked_whole = std::uint64_t{64} << 20;
};

class SqliteStore final : public Store {
 public:
  // Takes back what processes that are gone had claimed. Throws Failure.
  explicit SqliteStore(SqliteOptions options);
  ~SqliteStore() override;

  Changes transact(const std::function<void(Transaction&)>& work) override;
  void read(const std::function<void(Transaction&)>& work) override;
  Changes reclaim_from_the_dead() override;
  bool is_changed_by_others() override;

 private:
  void prepare();
  void use_wal();
  void begin_after_boot();
  Changes reclaim_from(const std::function<bool(std::int64_t)>& is_gone);
  void forget_workers(const std::function<bool(std::int64_t)>& is_gone);

  const SqliteOptions options_;
  std::unique_ptr<ProcessLock> process_;
  Mutex writing_{{.name = "the store's writer"}};
  Database writer_;
  SettingsCache settings_;
  std::int64_t data_version_ = 0;             // Changes with each commit of another connection.
  std::unique_ptr<Checkpoints> checkpoints_;  // Of a file.

  Mutex reading_{{.name = "the store's readers"}};
  struct Reader;
  // Guarded by reading_: those nobody uses now.
  std::vector<std::unique_ptr<Reader>> readers_;
};

// In a transaction of the user's, on a connection of the user's. Throws Failure.
std::expected<Enqueued, TaskError> insert_in(sqlite3* connection, const NewTask& task,
                                             const TaskClock& clock);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
