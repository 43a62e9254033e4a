// `handoff`: the command line. Each command is a file in commands/, each part they share a file beside this one:
//
//   command      what a command declares, and how arguments are read and help is written (the only place that knows CLI11)
//   session      the store and the outputs; the one place where a store is opened
//   output       standard output and standard error; table, people, escape: how things look there
//   failure      an error and its exit code
#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/failure.hpp"
#include "cli/session.hpp"

namespace handoff::cli {

namespace {

constexpr auto about = "handoff: background tasks that survive a crash, for any language.";

constexpr auto footer =
    R"(A store is a file, sqlite:<path>: commands that look need one that exists, `enqueue`, `batch`, `work`, `schedule put`
and `workflow start` make it. Or it is what a server has (`handoff serve`): --store http://127.0.0.1:8077. Data goes to standard output, everything else to standard error.

Exit status:
  0    it was done; what was waited for is done
  1    the task is dead or cancelled, or what was asked for was refused
  2    something on the command line, or in what it names, is not allowed
  3    there is no such task, schedule or workflow
  4    the store cannot be opened, read or written now; the server cannot be reached, or wants another token
  75   try again later: the queue is full, or the wait was over first
  128+n  ended by signal n)";

void add_commands(Command& program) {
  add_serve(program);
  add_token(program);
  add_enqueue(program);
  add_batch(program);
  add_work(program);
  add_ls(program);
  add_show(program);
  add_watch(program);
  add_explain(program);
  add_retry(program);
  add_cancel(program);
  add_dead(program);
  add_queues(program);
  add_pause(program);
  add_resume(program);
  add_purge(program);
  add_schedule(program);
  add_workflow(program);
  add_workers(program);
  add_top(program);
  add_doctor(program);
  program.example("handoff enqueue resize '{\"photo\":7}' --queue image", "hand in a task");
  program.example("handoff work --queue image -- ./resize.sh", "run a program for each");
  program.example("handoff top", "see how it goes");
}

Exit run(Session& session, std::vector<std::string> arguments) {
  CommandLine line("handoff", HANDOFF_VERSION, about, footer);
  add_commands(line.program());
  const Exit code = line.run(session, std::move(arguments));
  session.out.flush();
  session.talk.flush();
  return code;
}

// What went wrong is said in one way, whatever it was.
Exit run_and_report(Session& session, std::vector<std::string> arguments) {
  try {
    return run(session, std::move(arguments));
  } catch (const ReaderGone&) {
    return Exit::ok;
  } catch (const Failure& failure) {
    session.say("{}", failure.what());
    return failure.code();
  } catch (const std::exception& error) {  // Of calls that have no error to return: the store's.
    session.say("{}", error.what());
    return Exit::unavailable;
  }
}

}  // namespace

}  // namespace handoff::cli

int main(int count, char** values) {
  using namespace handoff::cli;
  std::signal(SIGPIPE, SIG_IGN);  // A reader that has gone is noticed when we write.
  Session session;
  try {
    return to_int(run_and_report(session, std::vector<std::string>(values + 1, values + count)));
  } catch (...) {  // Nobody reads what we have to say.
    return to_int(Exit::failed);
  }
}
