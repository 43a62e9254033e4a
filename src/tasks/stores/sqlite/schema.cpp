#include "tasks/stores/sqlite/schema.hpp"

#include <fmt/format.h>

#include <array>

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

// The names begin with handoff_, since the file may be the user's own. Times are milliseconds since 1970; lease_until is milliseconds since
// the machine was started. States are numbers, as in state.hpp.
constexpr const char* first = R"sql(
create table handoff_queue(
  id integer primary key,
  name text not null unique,
  version integer not null default 0,        -- Of its settings.
  is_paused integer not null default 0,
  scheduled integer not null default 0,      -- How many tasks are in which state.
  waiting integer not null default 0,
  ready integer not null default 0,
  running integer not null default 0,
  done integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0,
  bytes integer not null default 0,          -- Of the payloads of those that are not finished.
  turn integer not null default 0,           -- Of the last task that was claimed.
  last_turn integer not null default 0,      -- That a task without a group was given.
  tokens real not null default 0,            -- Of the rate limit,
  tokens_at integer not null default 0       -- as of then, by the time since the machine was started.
) strict;

create table handoff_settings(
  queue integer not null,
  name text not null,
  value text not null,
  primary key (queue, name)
) strict, without rowid;

create table handoff_task(
  seq integer primary key,
  id blob not null,
  queue integer not null,
  kind text not null,
  state integer not null,
  held integer not null default 0,           -- Ready, and kept back by the limit of its group.
  priority integer not null,
  turn integer not null default 0,
  at integer not null,                       -- When it is due; once it is ready, since when it may run.
  attempt integer not null default 0,
  max_attempts integer not null,
  crashes integer not null default 0,
  created_at integer not null,
  started_at integer,
  finished_at integer,
  timeout integer,
  expires_at integer,
  lease integer,
  lease_until integer,
  process integer,
  worker text,
  grp integer,
  unique_key text,
  unique_for integer,
  waits_on integer not null default 0,       -- So many that are not done.
  kept integer not null default 0,           -- For so many that may still want its result: not pruned before.
  workflow integer,
  step text,                                 -- Its name there.
  flags integer not null default 0,
  size integer not null,                     -- Of the payload.
  payload text,                              -- Null if it is in handoff_payload.
  result text,
  reason text,
  progress real,
  note text,
  trace text,
  notify text                                -- A URL that is told of its end.
) strict;
create unique index handoff_task_id on handoff_task(id);
create index handoff_task_ready on handoff_task(queue, priority desc, turn) where state = 2 and held = 0;
create index handoff_task_held on handoff_task(grp, priority desc, turn) where held = 1;
create index handoff_task_waiting on handoff_task(queue) where state = 1;
create index handoff_task_due on handoff_task(at) where state = 0;
create index handoff_task_running on handoff_task(lease_until) where state = 3;
create index handoff_task_finished on handoff_task(queue, state, kept, finished_at) where state >= 4;
create index handoff_task_expiring on handoff_task(expires_at) where expires_at is not null and state <= 2;
create unique index handoff_task_step on handoff_task(workflow, step) where workflow is not null;

create table handoff_payload(seq integer primary key, data text not null) strict;

create table handoff_error(
  task integer not null,
  number integer not null,                   -- From 1 on.
  attempt integer not null,
  at integer not null,
  message text not null,
  primary key (task, number)
) strict, without rowid;

create table handoff_group(
  id integer primary key,
  queue integer not null,
  name text not null,
  tasks integer not null default 0,          -- In any state: it is forgotten with the last.
  running integer not null default 0,
  open integer not null default 0,           -- Ready and not held.
  last_turn integer not null default 0,
  unique (queue, name)
) strict;

create table handoff_unique(
  queue integer not null,
  key text not null,
  task blob not null,                        -- Its id: the task itself may be forgotten before.
  state integer,                             -- In which it has finished,
  until integer,                             -- and how long the key is kept after that. Null while it has not.
  primary key (queue, key)
) strict, without rowid;
create index handoff_unique_until on handoff_unique(until) where until is not null;

create table handoff_dependency(
  before integer not null,
  after integer not null,
  primary key (before, after)
) strict, without rowid;
create index handoff_dependency_after on handoff_dependency(after, before);

create table handoff_workflow(
  seq integer primary key,
  id blob not null unique,
  name text not null,
  created_at integer not null,
  finished_at integer,
  tasks integer not null,                    -- That are there: it is forgotten with the last.
  unfinished integer not null,
  dead integer not null default 0,
  cancelled integer not null default 0,
  lost integer not null default 0            -- Dead or cancelled tasks that are there.
) strict;

create table handoff_schedule(
  name text primary key,
  cron text not null,
  timezone text not null,
  missed integer not null,
  task text not null,                        -- As JSON.
  is_paused integer not null default 0,
  anchor integer not null,                   -- When it was made.
  next_at integer,
  not_before integer not null default 0,     -- When it is tried again, if its queue was full.
  set_at integer not null default 0,         -- What the clock said when these were set.
  last_at integer,                           -- When an occurrence was last due,
  last_task blob,                            -- and the task it made,
  last_error text                            -- or why it made none.
) strict;
create index handoff_schedule_next on handoff_schedule(next_at) where is_paused = 0;

create table handoff_log(
  task integer not null,
  number integer not null,                   -- From 1 on.
  at integer not null,
  line text not null,
  primary key (task, number)
) strict, without rowid;

create table handoff_token(
  name text primary key,
  role text not null,
  hash text not null unique,
  created_at integer not null,
  expires_at integer
) strict, without rowid;

create table handoff_worker(
  id integer primary key autoincrement,
  process integer not null,
  name text not null,
  queues text not null,                      -- Names, each with its concurrency: "email=20 image=4".
  kinds text not null,                       -- Names with a space between.
  started_at integer not null,
  seen_at integer not null
) strict;
)sql";

constexpr auto migrations = std::to_array<const char*>({first});

}  // namespace

int schema_version() { return static_cast<int>(migrations.size()); }

void migrate(Database& database) {
  database.run("begin immediate");
  try {
    database.run(
        "create table if not exists handoff_meta(name text primary key, value text not null) "
        "strict");
    int version = 0;
    {
      Query query(database, "select value from handoff_meta where name = 'schema_version'");
      if (query.next()) version = static_cast<int>(query.number(0));
    }
    if (version > schema_version()) {
      throw Failure({.code = TaskError::Code::unavailable,
                     .message = fmt::format(
                         "the store was written by a newer version (schema {}, this one knows {}): "
                         "nothing was changed; use the newer version",
                         version, schema_version()),
                     .field = {}});
    }
    for (std::size_t i = static_cast<std::size_t>(version); i < migrations.size(); ++i) {
      database.run(migrations[i]);
    }
    if (version < schema_version()) {
      execute(database, "insert or replace into handoff_meta values('schema_version', ?)",
              std::string_view(fmt::to_string(schema_version())));
    }
    database.run("commit");
  } catch (...) {
    sqlite3_exec(database.raw(), "rollback", nullptr, nullptr, nullptr);
    throw;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
