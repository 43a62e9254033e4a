// handoff top: how it goes, again every second.
#include <csignal>

#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/queue_json.hpp"
#include "cli/queue_rates.hpp"
#include "cli/screen.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "handoff/signals.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

using namespace std::chrono_literals;
using enum tasks::TaskState;

struct Look {
  std::vector<tasks::QueueLook> queues;
  std::vector<tasks::WorkerLook> workers;
};

Look look_at(const tasks::Tasks& tasks) { return {tasks.queues(), tasks.workers()}; }

// -- One picture ----------------------------------------------------------------------------------

Table queue_table(const Look& look, const QueueRates& rates) {
  Table table({"QUEUE", "READY", "RUNNING", "LATER", "DEAD", "OLDEST", "IN/S", "DONE/S", ""});
  const auto rate = [&](double value) {
    Cell cell(rates.has_rates() ? fmt::format("{:.1f}", value) : "-");
    cell.is_number = true;
    return cell;
  };
  for (const auto& each : look.queues) {
    const auto its = rates.of(each.name);
    Cell dead_cell(each.count(dead));
    if (each.count(dead) > 0) dead_cell.colour = Colour::red;
    table.add({each.name, each.count(ready), each.count(running),
               each.count(scheduled) + each.count(waiting), dead_cell, age_of(each.oldest_ready),
               rate(its.in), rate(its.done), each.is_paused ? "paused" : sparkline(its.history)});
  }
  return table;
}

Table worker_table(const Look& look) {
  Table table({"WORKER", "RUNS", "UP", "SEEN", "DOES"});
  for (const auto& each : look.workers) {
    std::vector<std::string> does;
    for (const auto& run : each.running) {
      does.push_back(fmt::format("{} {}", run.kind, age_of(run.since)));
    }
    table.add({each.name, each.running.size(), age_of(each.started_at), when(each.seen_at),
               fmt::to_string(fmt::join(does, ", "))});
  }
  return table;
}

std::string headline(const Output& out, const Look& look, const QueueRates& rates) {
  std::int64_t unfinished = 0;
  for (const auto& each : look.queues) unfinished += each.unfinished();
  std::string line =
      fmt::format("{} unfinished, {} workers", for_people(unfinished), look.workers.size());
  if (rates.has_rates()) {
    const auto all = rates.all();
    line += fmt::format("   in {:.1f}/s   done {:.1f}/s   dead {:.1f}/s   {}", all.in, all.done,
                        all.failed, sparkline(all.history));
  }
  return out.paint(Colour::bold, "handoff") + "  " + line;
}

std::vector<std::string> picture(const Output& out, const Look& look, const QueueRates& rates) {
  const std::size_t columns = out.is_terminal() ? out.columns() : 0;
  std::vector<std::string> lines{headline(out, look, rates), ""};
  const auto append = [&](const Table& table) {
    if (table.is_empty()) return;
    for (std::string& each : table.lines(out, columns)) lines.push_back(std::move(each));
    lines.emplace_back();
  };
  append(queue_table(look, rates));
  append(worker_table(look));
  return lines;
}

std::string json_of(const Look& look) {
  std::vector<std::string> queues;
  std::vector<std::string> workers;
  for (const auto& each : look.queues) queues.push_back(to_json_text(each));
  for (const auto& each : look.workers) workers.push_back(server::to_json_text(each));
  return fmt::format("{{\"queues\":[{}],\"workers\":[{}]}}", fmt::join(queues, ","),
                     fmt::join(workers, ","));
}

// -- Again and again ------------------------------------------------------------------------------

class Top {
 public:
  Top(Session& session, tasks::Tasks tasks, Millis interval)
      : out_(session.out), tasks_(std::move(tasks)), interval_(interval) {}

  void run(const std::stop_token& stop) {
    Screen screen(out_);
    for (TimePoint next = now(); !stop.stop_requested();) {
      if (now() >= next) {
        look();
        next = now() + interval_;
      }
      draw(screen);
      // In short steps: the terminal may have another size, or a signal may have come.
      if (const auto key = screen.key(std::min<Millis>(interval_, 250ms)); key == 'q' || key == 'Q')
        return;
    }
  }

 private:
  void look() {
    try {
      look_ = look_at(tasks_);
      rates_.add(look_.queues, now());
      error_.clear();
    } catch (const std::exception& error) {  // The store may come back.
      error_ = error.what();
    }
  }

  void draw(Screen& screen) {
    auto lines = picture(out_, look_, rates_);
    if (!error_.empty()) lines.push_back(out_.paint(Colour::red, shown(error_)));
    lines.push_back(out_.paint(Colour::dim, "q quits"));
    screen.draw(lines);
  }

  Output& out_;
  const tasks::Tasks tasks_;
  const Millis interval_;
  Look look_;
  QueueRates rates_;
  std::string error_;
};

Exit top(Session& session, Millis interval) {
  if (interval < 100ms || interval > 1h) {
    throw Failure(Exit::usage, "--interval must be 100ms to 1h");
  }
  const std::stop_token stop =
      session.out.can_redraw() ? stop_on_signals(SIGTERM, SIGINT, SIGHUP) : std::stop_token();
  const tasks::Tasks tasks = session.open();
  if (session.is_json) {
    session.out.json_text(json_of(look_at(tasks)));
  } else if (session.out.can_redraw()) {
    Top(session, tasks, interval).run(stop);
  } else {
    for (const std::string& each : picture(session.out, look_at(tasks), {}))
      session.out.line("{}", each);
  }
  return Exit::ok;
}

}  // namespace

void add_top(Command& program) {
  auto interval = std::make_shared<Millis>(1s);
  Command& command = program.add("top", "A live view: queues, rates, workers.", "Operating");
  command.option("--interval TIME", *interval, "How often to look; 1s otherwise");
  command.note(
      "`q` quits. If standard output is no terminal, or with --json, it prints what there is now.");
  command.example("handoff top", "until q is pressed");
  command.example("handoff top | cat", "once, for a log");
  command.runs([interval](Session& session) { return top(session, *interval); });
}

}  // namespace handoff::cli
