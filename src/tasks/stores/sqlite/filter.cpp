// Which tasks a filter means, and how they are found among millions.
//
// No index has the order of a list, newest first: it would cost every change of every task. Each state has an index of its own, though, and each queue knows how many are in which state.
// So what is few is taken from those indexes and sorted, and what is many is met soon by going through all. Who looks for few among many of a queue goes through a part at a time.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr std::int64_t most_by_index = 20'000;
constexpr std::int64_t most_skipped = 100'000;              // For a page.
constexpr std::size_t largest_page = std::size_t{8} << 20;  // Of payloads and results.

#define COLUMNS "seq, id, queue, state, kind, grp, reason"
#define MEANT                                                                                 \
  " and (?2 is null or queue = ?2) and (?3 is null or state = ?3) and (?4 is null or kind = " \
  "?4) and (?5 is null or grp in (select id from handoff_group where name = ?5)) and (?6 is " \
  "null or reason = ?6) "
#define OF_SCHEDULED " from handoff_task indexed by handoff_task_due where state = 0" MEANT
#define OF_WAITING " from handoff_task indexed by handoff_task_waiting where state = 1" MEANT
#define OF_READY                                                                                \
  " from (select " COLUMNS                                                                      \
  " from handoff_task indexed by handoff_task_ready where state = 2 and held = 0 and queue in " \
  "(select id from handoff_queue where ?2 is null or id = ?2) union all select " COLUMNS        \
  " from handoff_task indexed by handoff_task_held where held = 1) where true" MEANT
#define OF_RUNNING " from handoff_task indexed by handoff_task_running where state = 3" MEANT
// The index is of all that are finished, and its condition must be said; if it were not likely, SQLite would take it for the better one, and read all of them.
#define OF_FINISHED                                                                              \
  " from handoff_task indexed by handoff_task_finished where likelihood(state >= 4, 0.99) and "  \
  "likelihood(state = ?3, 0.01) and queue in (select id from handoff_queue where ?2 is null or " \
  "id = ?2)" MEANT
#define EACH_STATE(before, after)                                                 \
  {before OF_SCHEDULED after, before OF_WAITING after,  before OF_READY after,    \
   before OF_RUNNING after,   before OF_FINISHED after, before OF_FINISHED after, \
   before OF_FINISHED after}

using Statements = std::array<const char*, task_states>;
constexpr Statements downwards =
    EACH_STATE("select seq, id", "and seq < ?1 order by seq desc limit ?7");
constexpr Statements upwards = EACH_STATE("select seq, id", "and seq > ?1 order by seq limit ?7");
constexpr Statements counting = EACH_STATE("select count(*)", "and ?1 is null");

constexpr auto down_all =
    "select seq, id from (select " COLUMNS
    " from handoff_task where seq < ?1 order by seq desc limit ?8) where true" MEANT "limit ?7";
constexpr auto up_all =
    "select seq, id from handoff_task where seq > ?1" MEANT "order by seq limit ?7";

using Counts = std::array<std::int64_t, task_states>;

std::vector<std::size_t> states_in(const TaskFilter& filter) {
  if (filter.state) return {static_cast<std::size_t>(*filter.state)};
  std::vector<std::size_t> all(task_states);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Counts counts_of(Database& database, std::optional<std::int64_t> queue) {
  Query sums(database,
             "select sum(scheduled), sum(waiting), sum(ready), sum(running), sum(done), sum(dead), "
             "sum(cancelled) from handoff_queue where ?1 is null or id = ?1",
             queue);
  Counts counts{};
  if (!sums.next()) return counts;
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = sums.number(static_cast<int>(i));
  return counts;
}

// How many entries of indexes it takes. Two of them know no queues.
std::int64_t cost_of(Database& database, const TaskFilter& filter,
                     std::optional<std::int64_t> queue) {
  const Counts of_queue = counts_of(database, queue);
  const Counts of_all = queue ? counts_of(database, std::nullopt) : of_queue;
  std::int64_t cost = 0;
  for (const std::size_t state : states_in(filter)) {
    const bool knows_queues = state != static_cast<std::size_t>(TaskState::scheduled) &&
                              state != static_cast<std::size_t>(TaskState::running);
    cost += knows_queues ? of_queue[state] : of_all[state];
  }
  return cost;
}

using Found = std::vector<std::pair<std::int64_t, TaskId>>;

struct Meant {
  const TaskFilter& filter;
  std::optional<std::int64_t> queue;

  std::optional<std::int64_t> state() const {
    return filter.state ? std::optional(static_cast<std::int64_t>(*filter.state)) : std::nullopt;
  }
};

void read(Query& query, Found& found) {
  while (query.next()) found.emplace_back(query.number(0), query.id(1));
}

Found by_index(Database& database, const Statements& statements, const Meant& meant,
               std::int64_t from) {
  Found found;
  for (const std::size_t state : states_in(meant.filter)) {
    Query query(database, statements[state], from, meant.queue, static_cast<std::int64_t>(state),
                if_any(meant.filter.kind), if_any(meant.filter.group), if_any(meant.filter.error),
                meant.filter.limit);
    read(query, found);
  }
  const bool goes_up = &statements == &upwards;
  std::ranges::sort(found, [goes_up](const auto& a, const auto& b) {
    return goes_up ? a.first < b.first : a.first > b.first;
  });
  if (std::ssize(found) > meant.filter.limit) {
    found.resize(static_cast<std::size_t>(meant.filter.limit));
  }
  return found;
}

bool is_by_index(Database& database, const Meant& meant) {
  if (!meant.queue && !meant.filter.state) return false;
  return cost_of(database, meant.filter, meant.queue) <= most_by_index;
}

}  // namespace

// Those of a page, and where the next one begins.
TaskPage SqliteTransaction::list(const TaskFilter& filter) {
  TaskPage page;
  Meant meant{.filter = filter, .queue = {}};
  if (!filter.queue.empty()) {
    const QueueRow* const row = rows_.queue(filter.queue, false);
    if (row == nullptr) return page;
    meant.queue = row->id;
  }
  // Not "is null or": SQLite would go through all that came later.
  const std::int64_t before = filter.before.value_or(std::numeric_limits<std::int64_t>::max());
  Found found;
  std::optional<std::int64_t> skipped_to;
  if (is_by_index(database(), meant)) {
    found = by_index(database(), downwards, meant, before);
  } else {
    Query query(database(), down_all, before, meant.queue, meant.state(), if_any(filter.kind),
                if_any(filter.group), if_any(filter.error), filter.limit, most_skipped);
    read(query, found);
    if (std::ssize(found) < filter.limit) skipped_to = end_of_part(before, most_skipped);
  }
  std::size_t bytes = 0;
  for (const auto& [seq, id] : found) {
    if (bytes >= largest_page) break;
    const Task& task = page.tasks.emplace_back(task_at(seq, filter.has_payloads));
    page.next = seq;
    bytes += task.payload.size() + task.result.value_or("").size();
  }
  const bool is_whole = page.tasks.size() == found.size();
  if (is_whole && std::ssize(found) < filter.limit) page.next = skipped_to;
  return page;
}

// The last row of so many; nothing if there are no more.
std::optional<std::int64_t> SqliteTransaction::end_of_part(std::int64_t before, std::int64_t rows) {
  Query query(
      database(),
      "select count(*), min(seq) from (select seq from handoff_task where seq < ?1 order by "
      "seq desc limit ?2)",
      before, rows);
  if (!query.next() || query.number(0) < rows) return std::nullopt;
  return query.number(1);
}

std::vector<std::pair<std::int64_t, TaskId>> SqliteTransaction::find(const TaskFilter& filter,
                                                                     std::int64_t after) {
  Meant meant{.filter = filter, .queue = {}};
  if (!filter.queue.empty()) {
    const QueueRow* const row = rows_.queue(filter.queue, false);
    if (row == nullptr) return {};
    meant.queue = row->id;
  }
  if (is_by_index(database(), meant)) return by_index(database(), upwards, meant, after);
  Found found;
  Query query(database(), up_all, after, meant.queue, meant.state(), if_any(filter.kind),
              if_any(filter.group), if_any(filter.error), filter.limit);
  read(query, found);
  return found;
}

std::int64_t SqliteTransaction::count(const TaskFilter& filter) {
  std::optional<std::int64_t> queue;
  if (!filter.queue.empty()) {
    const QueueRow* const row = rows_.queue(filter.queue, false);
    if (row == nullptr) return 0;
    queue = row->id;
  }
  std::int64_t count = 0;
  if (filter.kind.empty() && filter.group.empty() && filter.error.empty()) {
    const Counts counts = counts_of(database(), queue);
    for (const std::size_t state : states_in(filter)) count += counts[state];
    return count;
  }
  for (const std::size_t state : states_in(filter)) {
    Query query(database(), counting[state], std::nullopt, queue, static_cast<std::int64_t>(state),
                if_any(filter.kind), if_any(filter.group), if_any(filter.error));
    if (query.next()) count += query.number(0);
  }
  return count;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
