#include "tasks/stores/sqlite/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {
// For those who read, while the writer is held: most of them are done by then.
constexpr int patience_ms = 20;
}  // namespace

Checkpoints::Checkpoints(Database& writer, Mutex& writing, std::string path,
                         CheckpointOptions options, const DatabaseOptions& database)
    : writer_(writer),
      writing_(writing),
      path_(std::move(path)),
      options_(options),
      due_at_(options.step),
      database_(path_, Database::Mode::read_write, database),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  database_.run("select 1 from handoff_meta");  // Only who has read knows that there is a WAL.
  const auto alone = writing_.hold();
  sqlite3_wal_hook(writer_.raw(), &committed, this);  // Takes the place of SQLite's own.
}

Checkpoints::~Checkpoints() {
  thread_.request_stop();
  thread_.join();
  const auto alone = writing_.hold();
  sqlite3_wal_hook(writer_.raw(), nullptr, nullptr);
}

int Checkpoints::committed(void* self, sqlite3*, const char*, int pages) noexcept {
  auto& checkpoints = *static_cast<Checkpoints*>(self);
  // Fewer than at the last: it has begun again.
  const int due_at = checkpoints.due_at_.load(handoff::detail::relaxed);
  if (pages + checkpoints.options_.step < due_at) {
    checkpoints.due_at_.store(checkpoints.options_.step, handoff::detail::relaxed);
  }
  if (pages >= due_at && !checkpoints.bell_.is_set()) checkpoints.bell_.set();
  return SQLITE_OK;
}

void Checkpoints::run(const std::stop_token& stop) {
  while (bell_.wait({.deadline = {}, .stop = stop})) {
    if (stop.stop_requested()) return;
    try {
      work();
    } catch (const std::exception& error) {
      // The WAL has it all; it is tried again after some more.
      due_at_.fetch_add(options_.step, handoff::detail::relaxed);
      if (!std::exchange(has_complained_, true)) {
        handoff::detail::log_line(
            fmt::format("tasks: no checkpoint of {}: {}", path_, error.what()));
      }
    }
    bell_.reset();
  }
}

void Checkpoints::work() {
  sqlite3_busy_timeout(database_.raw(), 0);
  Wal wal = copy(SQLITE_CHECKPOINT_PASSIVE);
  if (wal.pages >= options_.long_wal) {
    const auto alone = writing_.hold();
    sqlite3_busy_timeout(database_.raw(), has_complained_ ? 0 : patience_ms);
    const bool cuts = wal.pages >= options_.too_long_wal;
    wal = copy(cuts ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART);
  }
  if (wal.pages < 0) {  // Another process is at it.
    due_at_.fetch_add(options_.step, handoff::detail::relaxed);
    return;
  }
  due_at_.store((wal.has_begun_again ? 0 : wal.pages) + options_.step, handoff::detail::relaxed);
  if (wal.has_begun_again) {
    has_complained_ = false;
  } else if (wal.pages >= options_.too_long_wal) {
    complain(wal);
  }
}

Checkpoints::Wal Checkpoints::copy(int mode) {
  Wal wal;
  const int result =
      sqlite3_wal_checkpoint_v2(database_.raw(), "main", mode, &wal.pages, &wal.copied);
  // Busy: somebody else is at it, or reads.
  if (result != SQLITE_OK && (result & 0xff) != SQLITE_BUSY)
    throw_failure(database_.raw(), "cannot use");
  wal.has_begun_again = mode != SQLITE_CHECKPOINT_PASSIVE && result == SQLITE_OK;
  return wal;
}

void Checkpoints::complain(const Wal& wal) {
  if (std::exchange(has_complained_, true)) return;
  handoff::detail::log_line(
      fmt::format("tasks: {}-wal has {} pages and grows, since somebody has been reading from it "
                  "for long; look for a "
                  "transaction that was left open",
                  path_, wal.pages));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
