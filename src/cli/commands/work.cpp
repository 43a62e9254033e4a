// handoff work: runs a program for each task. What follows from how it ends is in task_process.hpp.
//
// Nothing runs twice at once as far as we can see to it: a program is gone before its task is given back, so the worker's lease and its patience are both
// longer than `grace`; and if we are killed, by SIGKILL too, the programs die with us. If the supervisor of one is killed (see process_supervisor.hpp), we kill what its program has left behind.
// Only if somebody kills both at once, nobody is left who could.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>

#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "cli/task_process.hpp"
#include "handoff/detail/pool/process_orphans.hpp"
#include "handoff/log.hpp"
#include "handoff/mutex.hpp"
#include "handoff/signals.hpp"
#include "handoff/tasks/limits.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/thread.hpp"
#include "tasks/call.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

namespace {

using namespace std::chrono_literals;

constexpr int most_at_once = 1000;  // A thread and two processes each.

struct Options {
  std::vector<std::string> queues;
  std::vector<std::string> kinds;
  int concurrency = 1;
  std::string name;
  Millis defer_for = 10s;
  Millis grace = 10s;
  bool until_idle = false;
  bool quiet = false;
  std::vector<std::string> program;
};

struct AttemptJson {
  tasks::TaskId id;
  std::string queue;
  std::string kind;
  int attempt = 0;
  std::string outcome;
  std::optional<std::string> error;
  std::int64_t run_ms = 0;
};
BOOST_DESCRIBE_STRUCT(AttemptJson, (), (id, queue, kind, attempt, outcome, error, run_ms))

// Says what became of each, from many threads.
class Journal {
 public:
  Journal(Session& session, const Options& options) : session_(session), options_(options) {}

  void note(const tasks::Context& context, TimePoint began, std::string outcome,
            std::optional<std::string> error = {}) {
    const AttemptJson attempt{.id = context.id(),
                              .queue = context.queue(),
                              .kind = context.kind(),
                              .attempt = context.attempt(),
                              .outcome = std::move(outcome),
                              .error = std::move(error),
                              .run_ms = std::chrono::duration_cast<Millis>(now() - began).count()};
    const auto turn = lock_.hold();
    try {
      write(attempt);
    } catch (...) {  // Nobody reads it: the tasks go on.
    }
  }

 private:
  void write(const AttemptJson& attempt) {
    if (session_.is_json) {
      session_.out.json(attempt);
      session_.out.flush();
    } else if (!options_.quiet) {
      session_.talk.line("{:<8}  {}  {}  attempt {}  {}  {}", attempt.outcome, attempt.id,
                         shown(attempt.kind), attempt.attempt, for_people(Millis(attempt.run_ms)),
                         shown(attempt.error.value_or("")));
      session_.talk.flush();
    }
  }

  Session& session_;
  const Options& options_;
  Mutex lock_{{.name = "the journal"}};
};

std::string outcome_of(const tasks::Finish& finish) {
  if (std::holds_alternative<tasks::Defer>(finish.what())) return "deferred";
  return std::holds_alternative<tasks::Fail>(finish.what()) ? "failed" : "done";
}

class ProcessWorker {
 public:
  ProcessWorker(Session& session, const tasks::Tasks& tasks, const Options& options)
      : options_(options),
        program_{options.program, session.store, options.defer_for, options.grace},
        journal_(session, options),
        processes_({.processes = places(), .capacity = places(), .name = "programs"}),
        worker_(tasks, worker_options()) {
    const auto run = [this](const tasks::Json& payload, tasks::Context& context) {
      return attempt(payload, context);
    };
    const auto leave = [this](const tasks::Json&, tasks::Context&) -> tasks::Finish {
      return tasks::Defer{options_.defer_for};
    };
    for (const std::string& each : options.kinds) worker_.handle(each, run);
    if (options.kinds.empty()) {
      worker_.handle_any(run);
    } else {
      worker_.handle_any(leave);
    }
  }

  tasks::WorkerReport run(const std::stop_token& stop) {
    const Millis patience = options_.grace + 30s;
    return options_.until_idle ? worker_.run_until_idle(stop, patience)
                               : worker_.run(stop, patience);
  }

 private:
  std::size_t places() const {
    return options_.queues.size() * static_cast<std::size_t>(options_.concurrency);
  }

  tasks::WorkerOptions worker_options() const {
    tasks::WorkerOptions wanted{.queues = {}, .name = options_.name};
    for (const std::string& each : options_.queues) {
      wanted.queues.push_back({.name = each, .concurrency = options_.concurrency});
    }
    // A third of it is what a task that takes too long has left: SIGKILL comes within that.
    wanted.lease_for = std::max<Millis>(3 * options_.grace + 6s, 30s);
    return wanted;
  }

  tasks::Finish attempt(const tasks::Json& payload, tasks::Context& context) {
    const TimePoint began = now();
    try {
      tasks::Finish finish = run_as_process(processes_, program_, payload, context);
      journal_.note(context, began, outcome_of(finish));
      return finish;
    } catch (const std::exception& error) {
      journal_.note(context, began, context.stop().stop_requested() ? "stopped" : "failed",
                    error.what());
      throw;
    }
  }

  const Options& options_;
  const TaskProgram program_;
  Journal journal_;
  ProcessPool processes_;
  tasks::Worker worker_;
};

// -- Options --------------------------------------------------------------------------------------

void check(const Options& options) {
  if (options.program.empty()) {
    throw Failure(
        Exit::usage,
        "which program? It comes after --, as in `handoff work --queue image -- ./resize.sh`");
  }
  const auto most = most_at_once / static_cast<int>(options.queues.size());
  if (options.concurrency < 1 || options.concurrency > most) {
    throw Failure(Exit::usage, fmt::format("--concurrency must be 1 to {} for {} queue(s), got {}",
                                           most, options.queues.size(), options.concurrency));
  }
  if (options.grace > 1h) throw Failure(Exit::usage, "--grace must be 0s to 1h");
}

// A program that cannot be started would make every task fail.
void check_program(const std::string& program) {
  if (program.find('/') == std::string::npos || ::access(program.c_str(), X_OK) == 0) return;
  throw Failure(Exit::usage, fmt::format("{} cannot be executed: {}", tasks::quoted(program, 200),
                                         std::generic_category().message(errno)));
}

// A worker waits for a server that has gone, but a token that may not work will never do. So it is tried once: by a heartbeat
// for a task that nobody has, which only those who may work can send, and which changes nothing.
void check_token(const Session& session, const tasks::Tasks& tasks) {
  if (!is_server(session.store)) return;
  const tasks::Extension nothing{
      .id = tasks::TaskId::make(std::chrono::system_clock::now()), .lease = {}, .lease_for = 1s};
  const auto told =
      tasks::transact<bool>(tasks::TasksAccess::core(tasks), [&](tasks::Transaction& transaction) {
        transaction.extend({&nothing, 1});
        return std::expected<bool, tasks::TaskError>(true);
      });
  if (!told && told.error().code == tasks::TaskError::Code::forbidden) {
    throw failure_of(told.error());
  }
}

// -- Running --------------------------------------------------------------------------------------

// The worker has a thread of its own. This one, which gets the signals, waits for its end in a call of the system, where they find it at once.
tasks::WorkerReport run_until_stopped(ProcessWorker& worker, const std::stop_token& stop) {
  tasks::WorkerReport report;
  std::exception_ptr error;
  Thread([&] {
    try {
      report = worker.run(stop);
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return report;
}

void say_end(Session& session, const tasks::WorkerReport& report) {
  session.say("{} done, {} failed, {} deferred, {} cancelled, {} given back", report.done,
              report.failed, report.deferred, report.cancelled, report.given_back);
}

Exit work(Session& session, const Options& options) {
  check(options);
  check_program(options.program.front());
  const std::stop_token stop = stop_on_signals(SIGTERM, SIGINT, SIGHUP);
  try {
    const tasks::Tasks tasks = session.open(StoreUse::hand_in);
    check_token(session, tasks);
    detail::process::adopt_orphans("HANDOFF_TASK_ID");
    ProcessWorker worker(session, tasks, options);
    if (!options.quiet) {
      session.say("works on {}, {} at a time; Ctrl-C ends it", fmt::join(options.queues, ", "),
                  options.concurrency);
    }
    const tasks::WorkerReport report = run_until_stopped(worker, stop);
    if (!options.quiet) say_end(session, report);
  } catch (const std::invalid_argument& error) {  // A queue, a kind or a name that is not allowed.
    throw Failure(Exit::usage, error.what());
  }
  return Exit::ok;
}

}  // namespace

void add_work(Command& program) {
  auto options = std::make_shared<Options>();
  Command& command = program.add("work", "Run a program for each task.", "Tasks");
  command.option("-q,--queue NAME", options->queues,
                 "Whose tasks; may be given several times; \"default\" otherwise");
  command.option("-k,--kind KIND", options->kinds,
                 "Only these kinds; others of the queue are deferred. Better: a queue for each");
  command.option("-c,--concurrency N", options->concurrency,
                 "How many at once of each queue; 1 otherwise");
  command.option("--defer-for TIME", options->defer_for,
                 "How long exit 75 puts a task off; 10s otherwise");
  command.option("--grace TIME", options->grace, "From SIGTERM to SIGKILL; 10s otherwise");
  command.option("--name NAME", options->name, "How others see it; host and process otherwise");
  command.flag("--until-idle", options->until_idle, "End when there is nothing left to do now");
  command.flag("--quiet", options->quiet, "Say nothing of single tasks");
  command.rest(options->program);
  command.note(
      R"(The program gets the payload on its standard input, and HANDOFF_TASK_ID, HANDOFF_QUEUE, HANDOFF_KIND, HANDOFF_ATTEMPT,
HANDOFF_MAX_ATTEMPTS, HANDOFF_GROUP, HANDOFF_TRACE and HANDOFF_STORE in its environment.
  exit 0      done; standard output is the result: JSON as it is, other text as a JSON string
  exit 75     not now: tried again later, at no cost
  otherwise   failed, with the last lines of standard error; tried again while attempts are left
Standard error is kept as the log of the task. A task's timeout, a cancel and SIGTERM or SIGINT to the worker reach the program as SIGTERM, and
after --grace as SIGKILL; what is not finished then is given back. A second signal ends the worker at once. Programs die with the worker,
however it ends. With --json each attempt is a line on standard output.)");
  command.example("handoff work --queue image -c 4 -- ./resize.sh", "four at a time");
  command.example("handoff work --queue mail --until-idle -- sh -c 'jq -r .to | xargs -n1 notify'",
                  "all that is there now, then end: for cron jobs and tests");
  command.runs(
      [options](Session& session) {
        if (options->queues.empty()) options->queues.push_back("default");
        return work(session, *options);
      },
      JsonOutput::lines);
}

}  // namespace handoff::cli
