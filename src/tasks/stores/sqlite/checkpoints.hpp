// Copies what commits have written to the WAL into the file, on a thread of its own. SQLite does that inside a commit, which then takes as long as many others.
//
// Three steps, each when the one before is not enough:
// 1. Beside those who read and write. If it gets to the end of the WAL, the next commit begins again at its start.
// 2. Under a stream of commits it never does: once the WAL is long, the writer is held for the last few pages.
// 3. Somebody who reads for long keeps the WAL from beginning again, and so it grows. It is said, and tried again with each further step.
//
// Several processes may do so with one file: while one is at it, the others leave it to that one. Whoever closes the file last copies the rest; SQLite sees to that.
#pragma once

#include <cstdint>
#include <string>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/thread.hpp"
#include "tasks/stores/sqlite/database.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

// In pages, which have 4 KiB.
struct CheckpointOptions {
  int step = 1000;  // So many were written since the last checkpoint: time for one.
  // The writer is held. Not long: where a commit makes the file longer, its sync takes twice as long as one that writes over what was there.
  int long_wal = 2000;
  int too_long_wal = 16384;  // 64 MiB: it is said, and the file is cut once that is possible.
};

class Checkpoints {
 public:
  // `writing` is the lock of those who use `writer`. From now on its commits do not copy anything themselves.
  Checkpoints(Database& writer, Mutex& writing, std::string path, CheckpointOptions options,
              const DatabaseOptions& database);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  ~Checkpoints();

 private:
  struct Wal {
    int pages = 0;
    int copied = 0;
    bool has_begun_again = false;
  };
  // After each commit, by who made it.
  static int committed(void* self, sqlite3*, const char*, int pages) noexcept;
  void run(const std::stop_token& stop);
  void work();
  Wal copy(int mode);
  void complain(const Wal& wal);

  Database& writer_;
  Mutex& writing_;
  const std::string path_;
  const CheckpointOptions options_;
  // In the WAL, from which on the next is due. Read by the writer, set by the thread. Relaxed: that neither is exact does no harm.
  handoff::detail::atomic<int> due_at_;
  Event bell_{{.is_set = false, .name = "a checkpoint"}};
  // The thread's own.
  Database database_;
  bool has_complained_ = false;

  Thread thread_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
