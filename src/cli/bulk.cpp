#include "cli/bulk.hpp"

#include "cli/people.hpp"
#include "cli/session.hpp"

namespace handoff::cli {

namespace {

struct ChangedJson {
  tasks::TaskId id;
  std::string was;
};
BOOST_DESCRIBE_STRUCT(ChangedJson, (), (id, was))

struct CountJson {
  std::int64_t count = 0;
};
BOOST_DESCRIBE_STRUCT(CountJson, (), (count))

void check(const BulkOptions& options) {
  const bool has_filter = !options.filter.queue.empty() || !options.filter.kind.empty() ||
                          !options.filter.group.empty() || options.state || options.is_dry_run;
  if (options.is_all && !options.ids.empty()) {
    throw Failure(Exit::usage, "name tasks by their ids, or say --all: not both");
  }
  if (!options.is_all && options.ids.empty()) {
    throw Failure(Exit::usage, "which tasks? Name their ids, or say --all, with --queue or --kind");
  }
  if (!options.is_all && has_filter) {
    throw Failure(Exit::usage, "--queue, --kind, --group, --state and --dry-run belong to --all");
  }
}

Exit change_each(Session& session, const BulkOptions& options, const BulkChange& change) {
  Exit code = Exit::ok;
  for (const tasks::TaskId& each : options.ids) {
    const auto was = change.one(each);
    if (!was) {
      session.say("{}: {}", each, was.error().message);
      if (code == Exit::ok) code = exit_code_of(was.error().code);
    } else if (session.is_json) {
      session.out.json(ChangedJson{each, std::string(to_string(*was))});
    } else {
      session.out.line("{}", each);
    }
  }
  return code;
}

bool means_all_queues(const tasks::BulkFilter& filter) {
  return filter.queue.empty() && filter.kind.empty() && filter.group.empty();
}

Exit change_all(Session& session, const tasks::Tasks& tasks, const BulkOptions& options,
                const BulkChange& change) {
  const auto states = options.state ? std::vector{*options.state} : change.states;
  tasks::BulkFilter filter = options.filter;
  if (!change.verb.empty() && !options.is_dry_run && means_all_queues(filter)) {
    std::int64_t there = 0;
    for (const tasks::TaskState each : states) {
      filter.state = each;
      there += or_fail(tasks.count(filter));
    }
    confirm(session, options.is_agreed,
            fmt::format("{} {} tasks of all queues?", change.verb, for_people(there)));
  }
  CountJson all;
  for (const tasks::TaskState each : states) {
    filter.state = each;
    all.count += or_fail(options.is_dry_run ? tasks.count(filter) : change.all(filter));
  }
  if (session.is_json) {
    session.out.json(all);
  } else {
    session.out.line("{}", all.count);
  }
  return Exit::ok;
}

}  // namespace

void BulkOptions::declare(Command& command, std::string states) {
  command.argument("ID", ids, "Which ones", Need::optional);
  command.flag("--all", is_all, "All that the options mean, instead of ids");
  command.option("-q,--queue NAME", filter.queue, "With --all: of that queue");
  command.option("-k,--kind KIND", filter.kind, "With --all: of that kind");
  command.option("--group NAME", filter.group, "With --all: of that group");
  command.option("-s,--state STATE", state, "With --all: in that state; " + states + " otherwise");
  command.flag("--dry-run", is_dry_run, "With --all: only count them");
}

Exit change_tasks(Session& session, const tasks::Tasks& tasks, const BulkOptions& options,
                  const BulkChange& change) {
  check(options);
  return options.is_all ? change_all(session, tasks, options, change)
                        : change_each(session, options, change);
}

}  // namespace handoff::cli
