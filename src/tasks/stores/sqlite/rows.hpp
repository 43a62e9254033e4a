// The rows of queues and groups, as one transaction sees them: each is read at its first use, and written once before the commit.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/tasks/queue.hpp"
#include "tasks/store.hpp"
#include "tasks/stores/sqlite/database.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

struct QueueRow {
  std::int64_t id = 0;
  std::string name;
  std::int64_t version = 0;
  bool is_paused = false;
  std::array<std::int64_t, task_states> counts{};
  std::int64_t bytes = 0;
  std::int64_t turn = 0;
  std::int64_t last_turn = 0;
  double tokens = 0;
  std::int64_t tokens_at = 0;
  const QueueSettings* settings = nullptr;
  bool is_changed = false;
  std::optional<std::uint32_t> number_in_changes{};  // Once one of its tasks has changed.

  std::int64_t& count(TaskState state) { return counts[static_cast<std::size_t>(state)]; }
  std::int64_t unfinished() const { return counts[0] + counts[1] + counts[2] + counts[3]; }
};

struct GroupRow {
  std::int64_t id = 0;
  std::string name;
  std::int64_t tasks = 0;
  std::int64_t running = 0;
  std::int64_t open = 0;
  std::int64_t last_turn = 0;
  bool is_changed = false;
};

// Settings change seldom: they are kept from one transaction to the next, as long as the queue's row has the same version.
class SettingsCache {
 public:
  const QueueSettings& of(Database& database, const QueueRow& queue);
  // `queue.version` must be raised with it.
  static void store(Database& database, const QueueRow& queue, const QueueSettings& settings);

 private:
  struct Known {
    std::int64_t version = -1;
    QueueSettings settings;
  };
  std::map<std::int64_t, Known> known_;  // Their addresses stay.
};

class Rows {
 public:
  // Nothing deletes a queue, and whoever may hand in tasks makes one by naming it.
  static constexpr std::int64_t most_queues = 10'000;

  Rows(Database& database, SettingsCache& settings) : database_(database), settings_(settings) {}

  // Made, if it is not there and `makes` says so; otherwise null, and also if there are as many as may be.
  QueueRow* queue(std::string_view name, bool makes);
  static std::string no_room_for(std::string_view name);
  // Made, too. Throws Failure: for those who change nothing else.
  QueueRow& queue_to_set(std::string_view name);
  QueueRow& queue(std::int64_t id);
  GroupRow& group(const QueueRow& queue, std::string_view name);
  GroupRow& group(std::int64_t id);
  // Its version has changed.
  void renew_settings(QueueRow& queue) { queue.settings = &settings_.of(database_, queue); }
  // Writes what has changed, and says how many tasks such queues have.
  void flush(std::vector<QueueDepth>& depths);

 private:
  QueueRow& keep(const Query& query);
  bool has_room_for(std::string_view name);
  GroupRow& keep_group(const Query& query);

  Database& database_;
  SettingsCache& settings_;
  std::map<std::int64_t, QueueRow> queues_;
  std::map<std::string, std::int64_t, std::less<>> queue_ids_;
  std::map<std::int64_t, GroupRow> groups_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
