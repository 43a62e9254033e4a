// handoff doctor: what is wrong, or soon will be, and what to do about it.
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/server_config.hpp"
#include "cli/session.hpp"

namespace handoff::cli {

namespace {

using namespace std::chrono_literals;

enum class Verdict { ok, warn, fail };

struct Finding {
  std::string check;
  std::string verdict;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (check, verdict, message))

// Says each finding as it comes; the worst of them is the exit code.
class Report {
 public:
  explicit Report(Session& session) : session_(session) {}

  void add(std::string_view check, Verdict verdict, const std::string& message) {
    if (verdict == Verdict::fail) has_failed_ = true;
    const std::string_view word = verdict == Verdict::ok     ? "ok"
                                  : verdict == Verdict::warn ? "warn"
                                                             : "FAIL";
    if (session_.is_json) {
      session_.out.json(Finding{std::string(check), std::string(word), message});
      return;
    }
    const Colour colour = verdict == Verdict::ok     ? Colour::green
                          : verdict == Verdict::warn ? Colour::yellow
                                                     : Colour::red;
    session_.out.line("{}  {:<14}  {}", session_.out.paint(colour, fmt::format("{:<4}", word)),
                      check, shown(message));
  }
  Exit code() const { return has_failed_ ? Exit::failed : Exit::ok; }

 private:
  Session& session_;
  bool has_failed_ = false;
};

// -- The file -------------------------------------------------------------------------------------

std::string reason() { return std::generic_category().message(errno); }

void check_file(Report& report, const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) {
    return report.add(
        "file", Verdict::fail,
        fmt::format(
            "{}: {}; --store or HANDOFF_STORE may name another, `handoff enqueue` makes one", path,
            reason()));
  }
  if (::access(path.c_str(), R_OK | W_OK) != 0) {
    return report.add(
        "file", Verdict::fail,
        fmt::format("{}: {}; it must be readable and writable for the user that runs this", path,
                    reason()));
  }
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  report.add("file", Verdict::ok, fmt::format("{}, {}", path, bytes_for_people(error ? 0 : size)));
  const auto may = std::filesystem::status(path, error).permissions();
  if (!error && (may & std::filesystem::perms::others_read) != std::filesystem::perms::none) {
    report.add("file", Verdict::warn,
               fmt::format("others may read it, payloads and secrets included; `chmod o= {0} "
                           "{0}-wal {0}-shm`",
                           path));
  }
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void check_folder(Report& report, const std::string& folder) {
  if (::access(folder.c_str(), W_OK | X_OK) == 0) {
    return report.add("folder", Verdict::ok, folder + " can be written to");
  }
  report.add("folder", Verdict::fail,
             fmt::format("{}: {}; the store keeps files beside itself there", folder, reason()));
}

// Locks of network file systems are not what SQLite, or we, rely on.
bool is_network_file_system(const std::string& folder) {
  constexpr auto nfs = 0x6969, smb = 0x517b, smb2 = static_cast<int>(0xfe534d42),
                 cifs = static_cast<int>(0xff534d42);
  struct statfs system{};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  const int type = static_cast<int>(system.f_type);
  return type == nfs || type == smb || type == smb2 || type == cifs;
}

void check_disk(Report& report, const std::string& folder) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    return report.add("disk", Verdict::warn, folder + ": " + reason());
  }
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const Verdict verdict = free < 16 * mebibyte    ? Verdict::fail
                          : free < 256 * mebibyte ? Verdict::warn
                                                  : Verdict::ok;
  report.add("disk", verdict,
             fmt::format("{} free{}", bytes_for_people(free),
                         verdict == Verdict::ok ? "" : "; make room, or tasks will be refused"));
  if (is_network_file_system(folder)) {
    report.add("disk", Verdict::warn,
               "the store is on a network file system, whose locks cannot be relied on; move it to "
               "a local disk");
  }
}

// -- The store ------------------------------------------------------------------------------------

std::optional<tasks::Tasks> check_opens(Report& report, const Session& session) {
  try {
    auto tasks = session.open();
    report.add("store", Verdict::ok,
               is_server(session.store) ? "the server answers, and lets us in"
                                        : "opens; its schema is of this version");
    return tasks;
  } catch (const Failure& failure) {
    report.add("store", Verdict::fail, failure.what());
    return std::nullopt;
  }
}

void check_clock(Report& report, const tasks::Tasks& tasks) {
  constexpr auto built = tasks::Time(std::chrono::sys_days(std::chrono::year(2025) / 1 / 1));
  const tasks::Time now = now_time();
  if (now < built) {
    return report.add("clock", Verdict::fail,
                      fmt::format("it is {} by this machine's clock; set it", tasks::to_text(now)));
  }
  const auto newest = or_fail(tasks.list({.limit = 1})).tasks;
  if (!newest.empty() && newest.front().created_at > now + 1min) {
    return report.add(
        "clock", Verdict::warn,
        fmt::format("the newest task is from {} ahead of this machine's clock; set it",
                    for_people(newest.front().created_at - now)));
  }
  report.add("clock", Verdict::ok, tasks::to_text(now));
}

bool takes(const tasks::WorkerLook& worker, const std::string& queue) {
  return std::ranges::find(worker.queues, queue, &tasks::WorkerLook::Queue::name) !=
         worker.queues.end();
}

void check_workers(Report& report, const std::vector<tasks::WorkerLook>& workers) {
  constexpr auto stale = 2min;
  const auto silent = std::ranges::count_if(workers, [&](const auto& each) {
    return now_time() - each.seen_at > stale && !each.running.empty();
  });
  if (silent > 0) {
    return report.add("workers", Verdict::warn,
                      fmt::format("{} of {} have tasks in hand and were silent for two minutes; "
                                  "`handoff workers` shows them",
                                  silent, workers.size()));
  }
  report.add("workers", Verdict::ok, fmt::format("{}", workers.size()));
}

void check_queue(Report& report, const tasks::QueueLook& queue,
                 const std::vector<tasks::WorkerLook>& workers) {
  const auto ready = queue.count(tasks::TaskState::ready);
  const bool has_worker =
      std::ranges::any_of(workers, [&](const auto& each) { return takes(each, queue.name); });
  const std::string name = "queue " + queue.name;
  if (queue.is_paused) {
    report.add(name, Verdict::warn, fmt::format("is paused; `handoff resume {}`", queue.name));
  }
  if (ready > 0 && !has_worker) {
    report.add(name, Verdict::warn,
               fmt::format(
                   "{} tasks are ready and nobody takes them; `handoff work --queue {} -- PROGRAM`",
                   for_people(ready), queue.name));
  }
  if (queue.unfinished() * 10 >= queue.settings.capacity * 9) {
    report.add(name, Verdict::warn,
               fmt::format("holds {} of {} tasks; soon it refuses more: add workers, or `handoff "
                           "queues set {} --capacity N`",
                           for_people(queue.unfinished()), for_people(queue.settings.capacity),
                           queue.name));
  }
  if (const auto dead = queue.count(tasks::TaskState::dead); dead > 0) {
    report.add(name, Verdict::warn,
               fmt::format("{} tasks are dead; `handoff dead --queue {}` tells why",
                           for_people(dead), queue.name));
  }
}

void check_content(Report& report, const tasks::Tasks& tasks) {
  const auto workers = tasks.workers();
  const auto queues = tasks.queues();
  check_clock(report, tasks);
  check_workers(report, workers);
  for (const auto& each : queues) check_queue(report, each, workers);
  report.add("queues", Verdict::ok, fmt::format("{}", queues.size()));
}

// -- How a server would be set --------------------------------------------------------------------

void check_config(Report& report, const Session& session, const ServerFlags& flags) {
  const std::string file = config_file(flags);
  const std::string from = file.empty() ? "no file, the environment" : file + ", the environment";
  try {
    const server::Config config = server_config(session, flags);
    const std::string listens = fmt::format("{}:{}", config.address, config.port);
    report.add("config", Verdict::ok,
               fmt::format("{}: `handoff serve` would use {} and listen on {}", from, config.store,
                           listens));
    if (config.store != session.store && !config.has_demo) {
      report.add("config", Verdict::warn,
                 fmt::format("`handoff serve` would use {}, not {}, which this looks at; look at "
                             "that with --store, or set HANDOFF_STORE",
                             config.store, session.store));
    }
  } catch (const Failure& failure) {
    report.add("config", Verdict::fail,
               fmt::format("{}; mend it, `handoff serve --check` says whether it is good",
                           failure.what()));
  }
}

Exit doctor(Session& session, const ServerFlags& flags) {
  Report report(session);
  report.add("where", Verdict::ok, session.store);
  // A server elsewhere is set elsewhere.
  if (!session.store.starts_with("http")) check_config(report, session, flags);
  if (const std::string path = file_of(session.store); !path.empty()) {
    check_file(report, path);
    check_folder(report, folder_of(path));
    check_disk(report, folder_of(path));
  }
  if (const auto tasks = check_opens(report, session)) {
    try {
      check_content(report, *tasks);
    } catch (const std::exception& error) {  // It opens, and cannot be read.
      report.add("store", Verdict::fail, error.what());
    }
  }
  return report.code();
}

}  // namespace

void add_doctor(Command& program) {
  auto flags = std::make_shared<ServerFlags>();
  Command& command = program.add(
      "doctor",
      "Check the store, the disk, the clock, the workers and how a server would be set, and say "
      "what to do.",
      "Operating");
  command.option(
      "--config FILE", flags->config,
      "Settings of the server; HANDOFF_CONFIG, or handoff.toml if it is here, otherwise");
  command.note("Each line is ok, warn or FAIL; the exit status is 1 if one is FAIL.");
  command.example("handoff doctor", "before you ask somebody");
  command.example("handoff doctor --json | jq 'select(.verdict != \"ok\")'",
                  "what is not as it should be");
  command.runs([flags](Session& session) { return doctor(session, *flags); }, JsonOutput::lines);
}

}  // namespace handoff::cli
