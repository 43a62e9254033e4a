// handoff batch: many tasks, one JSON object a line, in chunks that are stored all or none.
#include <algorithm>
#include <chrono>

#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "server/api/task_body.hpp"

namespace handoff::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_bytes = std::size_t{4} << 20;  // A server takes 8 MiB at a time.

struct Options {
  std::string file = "-";
  int chunk = 1000;
};

struct BatchJson {
  std::int64_t stored = 0;
  std::int64_t duplicates = 0;
};
BOOST_DESCRIBE_STRUCT(BatchJson, (), (stored, duplicates))

// A line drawn over itself, on a terminal and not too often.
class Progress {
 public:
  explicit Progress(Output& talk) : talk_(talk) {}
  ~Progress() {
    if (is_drawn_) clear_line(talk_);
  }
  void draw(std::int64_t stored, std::optional<double> part) {
    if (!talk_.can_redraw() || handoff::now() < next_) return;
    next_ = handoff::now() + 100ms;
    const std::string picture = part ? bar(*part, 30) + " " : "";
    talk_.write(fmt::format("\r{}{} tasks\x1b[K", picture, for_people(stored)));
    talk_.flush();
    is_drawn_ = true;
  }

 private:
  Output& talk_;
  TimePoint next_{};
  bool is_drawn_ = false;
};

class Batch {
 public:
  Batch(Session& session, const Options& options)
      : options_(options),
        input_(options.file),
        tasks_(session.open(StoreUse::hand_in)),
        progress_(session.talk) {}

  BatchJson run() {
    while (auto line = input_.line()) {
      if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
      chunk_.push_back(read(*line));
      lines_.push_back(input_.lines_read());
      bytes_ += line->size();
      if (chunk_.size() == static_cast<std::size_t>(options_.chunk) || bytes_ >= most_bytes)
        store();
    }
    store();
    return total_;
  }

 private:
  tasks::NewTask read(const std::string& line) {
    auto task = server::read_task(line, {});
    if (!task) throw failed(Exit::usage, input_.lines_read(), task.error().message);
    return *std::move(task);
  }

  void store() {
    if (chunk_.empty()) return;
    const auto stored = tasks_.enqueue(std::span<const tasks::NewTask>(chunk_));
    if (!stored) throw refused(stored.error());
    total_.stored += std::ssize(*stored);
    total_.duplicates += std::ranges::count(*stored, true, &tasks::Enqueued::is_duplicate);
    chunk_.clear();
    bytes_ = 0;
    lines_.clear();
    progress_.draw(total_.stored, input_.part_read());
  }

  // "[17].queue must be ..." is about the line of the 17th task.
  Failure refused(const tasks::TaskError& error) const {
    const Exit code = exit_code_of(error.code);
    const std::string& field = error.field;
    const auto end = field.find(']');
    if (!field.starts_with('[') || end == std::string::npos) {
      return failed(code, lines_.front(), error.message);
    }
    const std::size_t index = std::stoul(field.substr(1, end - 1));
    std::string message = error.message;
    const std::string prefix = field.substr(0, end + 1) + ".";
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    return failed(code, lines_.at(index), message);
  }

  Failure failed(Exit code, std::size_t line, const std::string& message) const {
    return Failure(code, fmt::format("line {}: {}; {}", line, message, what_was_stored()));
  }

  std::string what_was_stored() const {
    if (total_.stored == 0) return "nothing was stored";
    return fmt::format("{} tasks of the lines before {} were stored, none from there on",
                       total_.stored, first_unstored());
  }

  std::size_t first_unstored() const {
    return lines_.empty() ? input_.lines_read() : lines_.front();
  }

  const Options& options_;
  Input input_;
  const tasks::Tasks tasks_;
  Progress progress_;
  BatchJson total_;
  std::vector<tasks::NewTask> chunk_;
  std::size_t bytes_ = 0;           // Of their lines.
  std::vector<std::size_t> lines_;  // Where each of them stands.
};

Exit batch(Session& session, const Options& options) {
  if (options.chunk < 1 || options.chunk > 10'000) {
    throw Failure(Exit::usage, fmt::format("--chunk must be 1 to 10000, got {}", options.chunk));
  }
  const BatchJson total = Batch(session, options).run();
  if (session.is_json) {
    session.out.json(total);
  } else {
    session.out.line("{}", total.stored);
  }
  if (total.duplicates > 0) session.say("{} of them were there already", total.duplicates);
  return Exit::ok;
}

}  // namespace

void add_batch(Command& program) {
  auto options = std::make_shared<Options>();
  Command& command = program.add("batch", "Hand in many tasks, one JSON object a line.", "Tasks");
  command.argument("FILE", options->file, "Where they are; - or nothing: standard input",
                   Need::optional);
  command.option("--chunk N", options->chunk,
                 "So many at a time are stored all or none; 1000 otherwise");
  command.note(
      "A line has the fields of POST /v1/tasks: queue and kind, and payload, delay, run_at, "
      "priority, max_attempts, timeout, id,\n"
      "unique_key, unique_for, expires_in, group, after, trace. A wrong line ends it; what was "
      "stored before is said. Lines with an\n"
      "id can be sent again: they make no second task. Prints how many were stored.");
  command.example("handoff batch tasks.ndjson", "all of a file, with a progress bar on a terminal");
  command.example(
      "jq -c '.[] | {queue:\"mail\", kind:\"welcome\", payload:.}' users.json | handoff batch",
      "what another program has made");
  command.runs([options](Session& session) { return batch(session, *options); });
}

}  // namespace handoff::cli
