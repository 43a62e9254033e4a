// handoff queues: all of them, one of them, and how one is set.
#include "cli/commands.hpp"
#include "cli/delivery_options.hpp"
#include "cli/people.hpp"
#include "cli/queue_json.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/limits.hpp"

namespace handoff::cli {

namespace {

using enum tasks::TaskState;

// -- Looking --------------------------------------------------------------------------------------

Cell count_cell(std::int64_t count, Colour colour) {
  Cell cell(count);
  if (count > 0) cell.colour = colour;
  return cell;
}

void print_table(Session& session, const std::vector<tasks::QueueLook>& queues) {
  Table table({"QUEUE", "READY", "RUNNING", "SCHEDULED", "WAITING", "DONE", "DEAD", "CANCELLED",
               "OLDEST", ""});
  for (const auto& each : queues) {
    table.add({each.name, each.count(ready), count_cell(each.count(running), Colour::blue),
               each.count(scheduled), each.count(waiting),
               count_cell(each.count(done), Colour::green),
               count_cell(each.count(dead), Colour::red), each.count(cancelled),
               age_of(each.oldest_ready), Cell(each.is_paused ? "paused" : "", Colour::yellow)});
  }
  table.print(session.out);
}

Exit list(Session& session) {
  const auto queues = session.open().queues();
  if (session.is_json) {
    for (const auto& each : queues) session.out.json_text(to_json_text(each));
  } else if (queues.empty()) {
    session.say("there are no queues yet: one exists from its first task on");
  } else {
    print_table(session, queues);
  }
  return Exit::ok;
}

void print_settings(Output& out, const tasks::QueueSettings& settings) {
  const auto line = [&](std::string_view option, const std::string& value) {
    out.line("  {}  {}", out.paint(Colour::dim, fmt::format("{:<20}", option)), value);
  };
  const auto limit = [](auto number) { return number == 0 ? "none" : fmt::format("{}", number); };
  line("--capacity", for_people(settings.capacity));
  line("--capacity-bytes", for_people(settings.capacity_bytes));
  line("--when-full", std::string(name_of(settings.when_full)));
  line("--block-for", tasks::to_text(settings.block_for));
  line("--rate", settings.rate == 0 ? "none" : fmt::format("{}/s", settings.rate));
  line("--burst", fmt::format("{}", settings.burst));
  line("--concurrency", limit(settings.concurrency));
  line("--group-concurrency", limit(settings.group_concurrency));
  line("--lease-for", tasks::to_text(settings.lease_for));
  line("--max-attempts", fmt::format("{}", settings.max_attempts));
  line("--backoff", to_text(settings.retry));
  line("--ageing", tasks::to_text(settings.ageing));
  line("--burst-for", tasks::to_text(settings.burst_for));
  line("--keep-done", tasks::to_text(settings.keep_done));
  line("--keep-dead", tasks::to_text(settings.keep_dead));
  line("--keep-count", for_people(settings.keep_count));
  line("--deliver-to", settings.deliver_to.is_on() ? shown(settings.deliver_to.url) : "none");
  if (settings.deliver_to.is_on()) {
    line("--deliver-timeout", tasks::to_text(settings.deliver_to.timeout));
  }
}

void print_details(Session& session, const tasks::QueueLook& queue) {
  print_table(session, {queue});
  session.out.line("\nholds {} of {} tasks, {} of {}; `handoff queues set {}` changes:",
                   for_people(queue.unfinished()), for_people(queue.settings.capacity),
                   bytes_for_people(static_cast<std::uint64_t>(queue.bytes)),
                   bytes_for_people(static_cast<std::uint64_t>(queue.settings.capacity_bytes)),
                   queue.name);
  print_settings(session.out, queue.settings);
}

void check_name(const std::string& name) {
  if (const auto good = tasks::check_queue(name, "QUEUE"); !good) {
    throw Failure(Exit::usage, good.error().message);
  }
}

Exit show(Session& session, const std::string& name) {
  check_name(name);
  const auto queue = session.open().queue(name);
  if (session.is_json) {
    session.out.json_text(to_json_text(queue));
  } else {
    print_details(session, queue);
  }
  return Exit::ok;
}

// -- Setting --------------------------------------------------------------------------------------

// "sidekiq", "fixed:30s", "exponential:1s:1h".
struct Backoff {
  tasks::RetryPolicy policy;
};

std::optional<tasks::RetryPolicy> parse_backoff(std::string_view text) {
  if (text == "sidekiq") return tasks::RetryPolicy{tasks::SidekiqBackoff()};
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  const auto second = rest.find(':');
  const auto first_time = tasks::parse_duration(rest.substr(0, second));
  if (!first_time) return std::nullopt;
  if (kind == "fixed" && second == std::string_view::npos) {
    return tasks::RetryPolicy{tasks::FixedBackoff{.delay = *first_time}};
  }
  if (kind != "exponential" || second == std::string_view::npos) return std::nullopt;
  const auto most = tasks::parse_duration(rest.substr(second + 1));
  if (!most) return std::nullopt;
  return tasks::RetryPolicy{tasks::ExponentialBackoff{.base = *first_time, .max = *most}};
}

// Found by the template that reads optional values.
ReadValue read_value(std::string_view text, Backoff& value) {
  const auto policy = parse_backoff(text);
  if (!policy) {
    return std::unexpected(
        "must be sidekiq, fixed:<time> or exponential:<base>:<longest>, as in exponential:1s:1h");
  }
  value.policy = *policy;
  return {};
}

struct Changes {
  std::string queue;
  std::optional<std::int64_t> capacity;
  std::optional<std::int64_t> capacity_bytes;
  std::optional<WhenFull> when_full;
  std::optional<Millis> block_for;
  std::optional<Rate> rate;
  std::optional<int> burst;
  std::optional<int> concurrency;
  std::optional<int> group_concurrency;
  std::optional<Millis> lease_for;
  std::optional<int> max_attempts;
  std::optional<Backoff> backoff;
  std::optional<Millis> ageing;
  std::optional<Millis> burst_for;
  std::optional<Millis> keep_done;
  std::optional<Millis> keep_dead;
  std::optional<std::int64_t> keep_count;
  DeliveryOptions deliver;

  tasks::QueueSettings applied_to(tasks::QueueSettings settings) const;
  void declare(Command& command);
};

tasks::QueueSettings Changes::applied_to(tasks::QueueSettings settings) const {
  const auto set = [](const auto& from, auto& to) {
    if (from) to = *from;
  };
  set(capacity, settings.capacity);
  set(capacity_bytes, settings.capacity_bytes);
  set(when_full, settings.when_full);
  set(block_for, settings.block_for);
  if (rate) settings.rate = rate->per_second;
  set(burst, settings.burst);
  set(concurrency, settings.concurrency);
  set(group_concurrency, settings.group_concurrency);
  set(lease_for, settings.lease_for);
  set(max_attempts, settings.max_attempts);
  if (backoff) settings.retry = backoff->policy;
  set(ageing, settings.ageing);
  set(burst_for, settings.burst_for);
  set(keep_done, settings.keep_done);
  set(keep_dead, settings.keep_dead);
  set(keep_count, settings.keep_count);
  set(deliver.delivery(queue), settings.deliver_to);
  return settings;
}

void Changes::declare(Command& command) {
  command.argument("QUEUE", queue, "Which one; made if it is not there");
  command.option("--capacity N", capacity, "Tasks that are not finished");
  command.option("--capacity-bytes N", capacity_bytes, "Of their payloads");
  command.option("--when-full POLICY", when_full, "reject, drop_newest or block");
  command.option("--block-for TIME", block_for, "With block: how long to wait for room");
  command.option("--rate RATE", rate, "How many may begin: 50/s, 300/m, 10/h; 0: no limit");
  command.option("--burst N", burst, "So many at once after a pause");
  command.option("--concurrency N", concurrency, "Running at a time; 0: no limit");
  command.option("--group-concurrency N", group_concurrency, "The same for each group");
  command.option("--lease-for TIME", lease_for, "How long a silent worker is trusted");
  command.option("--max-attempts N", max_attempts, "Of tasks that do not say");
  command.option("--backoff POLICY", backoff, "sidekiq, fixed:30s, exponential:1s:1h");
  command.option("--ageing TIME", ageing, "Who has waited so long goes first; 0: never");
  command.option("--burst-for TIME", burst_for,
                 "The spike for which a server says what capacity it takes");
  command.option("--keep-done TIME", keep_done, "How long done tasks can be looked at");
  command.option("--keep-dead TIME", keep_dead, "The same for dead and cancelled ones");
  command.option("--keep-count N", keep_count, "No more of them than that");
  deliver.declare(command);
}

Exit set(Session& session, const Changes& changes) {
  check_name(changes.queue);
  const tasks::Tasks tasks = session.open(StoreUse::hand_in);
  or_fail(tasks.configure(changes.queue, changes.applied_to(tasks.queue(changes.queue).settings)));
  if (session.is_json) session.out.json_text(to_json_text(tasks.queue(changes.queue)));
  return Exit::ok;
}

void add_set(Command& queues) {
  auto changes = std::make_shared<Changes>();
  Command& command = queues.add("set", "Change how a queue is set; what is not named stays.");
  changes->declare(command);
  command.example("handoff queues set email --capacity 1000 --rate 50/s", "its room, and its pace");
  command.example("handoff queues set import --concurrency 2 --backoff fixed:30s",
                  "two at a time, tried again every 30 seconds");
  command.example("handoff queues set email --deliver-to http://127.0.0.1:9000/email",
                  "a server POSTs its tasks there");
  command.runs([changes](Session& session) { return set(session, *changes); });
}

}  // namespace

void add_queues(Command& program) {
  auto name = std::make_shared<std::string>();
  Command& command =
      program.add("queues", "Show queues, or one of them; `set` changes one.", "Queues");
  add_set(command);
  command.argument("QUEUE", *name, "Only this one, with its settings", Need::optional);
  command.example("handoff queues", "a table of all");
  command.example("handoff queues email", "one, with its settings");
  command.example("handoff queues set email --rate 50/s", "see `handoff queues set --help`");
  command.runs(
      [name](Session& session) { return name->empty() ? list(session) : show(session, *name); },
      JsonOutput::lines);
}

}  // namespace handoff::cli
