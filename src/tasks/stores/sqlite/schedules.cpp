// Schedules: each occurrence and the time of the next are stored together.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "handoff/tasks/cron.hpp"
#include "handoff/tasks/payload.hpp"
#include "tasks/stores/sqlite/stored_task.hpp"
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr Millis grace = std::chrono::minutes(1);  // Later than that it was missed.
constexpr Millis after_trouble = std::chrono::minutes(1);
constexpr Millis after_full = std::chrono::seconds(5);
constexpr std::size_t most_missed = 1000;
// A clock that goes back by less makes nothing come twice. If by more, what it was told before was wrong.
constexpr Millis far_back = std::chrono::hours(24);

#define SCHEDULE_COLUMNS                                                                \
  "select name, cron, timezone, missed, task, is_paused, next_at, last_at, last_task, " \
  "last_error, anchor from handoff_schedule "

ScheduleLook read_schedule(const Query& query) {
  ScheduleLook look{.schedule = {.name = std::string(query.text(0)),
                                 .cron = std::string(query.text(1)),
                                 .timezone = std::string(query.text(2)),
                                 .task = from_stored(query.text(4)),
                                 .missed = static_cast<Missed>(query.number(3))},
                    .is_paused = query.number(5) != 0,
                    .next_at = query.time_if_any(6),
                    .last_at = query.time_if_any(7),
                    .last_task = std::nullopt,
                    .last_error = std::string(query.text(9))};
  if (!query.is_null(8)) look.last_task = query.id(8);
  return look;
}

std::vector<Time> between(Time first, Time last, const Cron& cron, Time anchor) {
  std::vector<Time> times;
  std::optional<Time> each = first;
  for (; each && *each <= last; each = cron.next(*each, anchor)) times.push_back(*each);
  return times;
}

// The last of them, so many at most. Years may have passed: so they are looked for from the end.
std::vector<Time> latest(std::size_t most, Time first, Time last, const Cron& cron, Time anchor) {
  using namespace std::chrono_literals;
  std::vector<Time> times;
  bool has_begun_at_first = false;
  for (const Millis back : {Millis(1h), Millis(24h), Millis(31 * 24h)}) {
    has_begun_at_first = last - back <= first;
    const auto from = has_begun_at_first ? first : cron.next(last - back, anchor);
    times = from ? between(*from, last, cron, anchor) : std::vector<Time>();
    if (has_begun_at_first || times.size() >= most) break;
  }
  if (!has_begun_at_first && times.size() < most) times = between(first, last, cron, anchor);
  if (times.size() > most) {
    times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(most));
  }
  return times;
}

// Which occurrences make a task now: of those that were missed as many as is wanted, and all that are hardly late.
std::vector<Time> due_until(Time now, Time first, const Cron& cron, Time anchor, Missed missed) {
  const Time last_missed = now - grace;
  std::vector<Time> times;
  if (missed != Missed::skip && first <= last_missed) {
    times = latest(missed == Missed::all ? most_missed : 1, first, last_missed, cron, anchor);
  }
  const auto from = first > last_missed ? first : cron.next(last_missed, anchor);
  if (from) std::ranges::copy(between(*from, now, cron, anchor), std::back_inserter(times));
  return times;
}

}  // namespace

std::expected<ScheduleLook, TaskError> SqliteTransaction::put_schedule(const Schedule& schedule) {
  const auto cron = Cron::parse(schedule.cron, schedule.timezone);
  if (!cron) {
    return std::unexpected(TaskError{.code = TaskError::Code::bad_request,
                                     .message = cron.error().message,
                                     .field = cron.error().field});
  }
  const auto known = this->schedule(schedule.name);
  const bool is_same = known && known->schedule.cron == schedule.cron &&
                       known->schedule.timezone == schedule.timezone;
  const std::string task = to_stored(schedule.task);
  if (is_same) {
    execute(database(), "update handoff_schedule set missed = ?, task = ? where name = ?",
            static_cast<int>(schedule.missed), std::string_view(task),
            std::string_view(schedule.name));
    correct_schedules();
    return this->schedule(schedule.name).value();
  }
  const auto next = cron->next(now_, now_);
  if (next) note_due(*next - now_);
  execute(
      database(),
      "insert into handoff_schedule(name, cron, timezone, missed, task, anchor, next_at, set_at) "
      "values(?, ?, ?, ?, ?, ?, ?, ?) on conflict(name) do update set cron = excluded.cron, "
      "timezone = excluded.timezone, missed = excluded.missed, task = excluded.task, "
      "anchor = excluded.anchor, next_at = excluded.next_at, set_at = excluded.set_at, "
      "not_before = 0",
      std::string_view(schedule.name), std::string_view(schedule.cron),
      std::string_view(schedule.timezone), static_cast<int>(schedule.missed),
      std::string_view(task), now_, next, now_);
  return this->schedule(schedule.name).value();
}

std::optional<ScheduleLook> SqliteTransaction::schedule(std::string_view name) {
  Query query(database(), SCHEDULE_COLUMNS "where name = ?", name);
  if (!query.next()) return std::nullopt;
  return read_schedule(query);
}

std::vector<ScheduleLook> SqliteTransaction::schedules() {
  std::vector<ScheduleLook> all;
  Query query(database(), SCHEDULE_COLUMNS "order by name");
  while (query.next()) all.push_back(read_schedule(query));
  return all;
}

bool SqliteTransaction::remove_schedule(std::string_view name) {
  return execute(database(), "delete from handoff_schedule where name = ?", name) > 0;
}

// What is due meanwhile is missed.
bool SqliteTransaction::pause_schedule(std::string_view name, bool is_paused) {
  const auto known = schedule(name);
  if (!known) return false;
  if (!is_paused && known->next_at) note_due(std::max(*known->next_at - now_, Millis(0)));
  execute(database(), "update handoff_schedule set is_paused = ? where name = ?", int{is_paused},
          name);
  return true;
}

// -- When they are due ----------------------------------------------------------------------------

bool SqliteTransaction::has_wrong_schedules() {
  Query query(database(), "select 1 from handoff_schedule where set_at > ? limit 1",
              now_ + far_back);
  return query.next();
}

// The clock was far ahead when these found out when they are due next.
void SqliteTransaction::correct_schedules() {
  std::vector<std::pair<std::string, Time>> wrong;  // Their names and anchors.
  {
    Query query(database(), "select name, anchor from handoff_schedule where set_at > ?",
                now_ + far_back);
    while (query.next()) wrong.emplace_back(query.text(0), std::min(query.time(1), now_));
  }
  for (const auto& [name, anchor] : wrong) {
    const Schedule schedule = this->schedule(name).value().schedule;
    // If its time zone cannot be read, it is due now, and that is said then.
    const auto cron = Cron::parse(schedule.cron, schedule.timezone);
    const auto next = cron ? cron->next(now_, anchor) : now_;
    if (next) note_due(*next - now_);
    execute(database(),
            "update handoff_schedule set next_at = ?, set_at = ?, not_before = 0, anchor = ? where "
            "name = ?",
            next, now_, anchor, std::string_view(name));
  }
}

Chore SqliteTransaction::fire(int most) {
  correct_schedules();
  std::vector<std::string> due;
  {
    Query query(database(),
                "select name from handoff_schedule where is_paused = 0 and next_at <= ?1 and "
                "not_before <= ?1 order by next_at limit ?2",
                now_, most);
    while (query.next()) due.emplace_back(query.text(0));
  }
  for (const std::string& each : due) fire_one(each);
  return {.done = static_cast<int>(due.size()), .has_more = std::ssize(due) >= most};
}

void SqliteTransaction::fire_one(const std::string& name) {
  ScheduleLook look;
  Time anchor{};
  {
    Query query(database(), SCHEDULE_COLUMNS "where name = ?", std::string_view(name));
    query.next();
    look = read_schedule(query);
    anchor = query.time(10);
  }
  const auto cron = Cron::parse(look.schedule.cron, look.schedule.timezone);
  if (!cron) {  // The time zones of the system may have been removed, and may come back.
    execute(database(),
            "update handoff_schedule set not_before = ?, set_at = ?, last_error = ? where name = ?",
            now_ + after_trouble, now_, std::string_view(cron.error().message),
            std::string_view(name));
    note_due(after_trouble);
    return;
  }
  const auto occurrences = due_until(now_, *look.next_at, *cron, anchor, look.schedule.missed);
  std::optional<Time> next = cron->next(now_, anchor);
  std::optional<Time> not_before;
  for (const Time at : occurrences) {
    NewTask task = look.schedule.task;
    task.run_at = at;
    auto made = insert(std::span(&task, 1));
    look.last_at = at;
    if (made) {
      look.last_task = made->front().id;
      look.last_error.clear();
      continue;
    }
    look.last_error = made.error().message;
    if (look.schedule.missed != Missed::skip) {  // There will be room again.
      next = at;
      not_before = now_ + after_full;
      break;
    }
  }
  if (next) note_due(std::max(not_before.value_or(*next) - now_, Millis(0)));
  execute(database(),
          "update handoff_schedule set next_at = ?, not_before = ?, set_at = ?, last_at = ?, "
          "last_task = ?, last_error = ? where name = ?",
          next, not_before.value_or(Time()), now_, look.last_at, look.last_task,
          if_any(look.last_error), std::string_view(name));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
