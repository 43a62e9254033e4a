// A worker process is killed again and again, in the middle of its work. Every task is done all the same, and recorded as done
// once. See README.md.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "handoff/signals.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"
#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;
namespace tasks = handoff::tasks;

struct Mail {
  std::string to;
};
BOOST_DESCRIBE_STRUCT(Mail, (), (to))

constexpr int in_hand = 4;  // Mails at a time.

struct Options {
  std::uint64_t mails = 500;
  std::uint64_t kills = 8;
  std::string work_on;  // For the worker process: the folder.
};

std::string store_in(const std::string& folder) { return "sqlite:" + folder + "/shop.db"; }
std::string outbox_in(const std::string& folder) { return folder + "/outbox.txt"; }

// -- The worker process ---------------------------------------------------------------------------

int work(const std::string& folder) {
  auto store = tasks::open(store_in(folder));
  if (!store) {
    fmt::print(stderr, "survive-a-crash: {}\n", store.error().message);
    return 1;
  }
  const int outbox =
      ::open(outbox_in(folder).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  tasks::Worker worker{*store, {.queues = {{"email", in_hand}}}};
  worker.handle<Mail>([&](const Mail& mail, tasks::Context&) {
    std::this_thread::sleep_for(3ms);  // The mail server takes its time.
    const std::string line = mail.to + "\n";
    if (::write(outbox, line.data(), line.size()) < 0)
      throw std::runtime_error("the outbox is full");
  });
  worker.run(handoff::stop_on_signals(SIGTERM));
  return 0;
}

// -- Who starts it, and kills it ------------------------------------------------------------------

pid_t start_worker(const std::string& folder) {
  std::string program = "/proc/self/exe";
  std::string option = "--work-on";
  std::string value = folder;
  char* const arguments[] = {program.data(), option.data(), value.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    throw std::runtime_error("the worker process cannot be started");
  }
  return child;
}

// As a service manager does: who does not go in time is killed.
void end_worker(pid_t child, int signal) {
  ::kill(child, signal);
  const auto gives_up = std::chrono::steady_clock::now() + 10s;
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > gives_up) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
}

std::map<std::string, int> mails_in(const std::string& outbox) {
  std::map<std::string, int> sent;
  std::ifstream file(outbox);
  for (std::string line; std::getline(file, line);) ++sent[line];
  return sent;
}

// False if anything is lost, or was recorded other than as done.
bool run(const Options& options, const std::string& folder) {
  auto store = tasks::open(store_in(folder)).value();
  std::vector<tasks::TaskId> ids;
  for (std::uint64_t i = 0; i < options.mails; ++i) {
    ids.push_back(
        store.enqueue(Mail{fmt::format("user-{}@example.org", i)}, {.queue = "email"}).value().id);
  }
  fmt::print("{} mails are queued, on the disk.\n", ids.size());

  std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> alive_for(5, 50);  // Milliseconds, once it works.
  const auto done = [&] { return store.queue("email").count(tasks::TaskState::done); };
  for (std::uint64_t i = 1; i <= options.kills; ++i) {
    // Some progress each time: a task that is in hand at three kills would be taken for their cause.
    const auto wanted = done() + 2 * in_hand;
    if (wanted >= std::ssize(ids)) break;
    const pid_t child = start_worker(folder);
    const auto gives_up = std::chrono::steady_clock::now() + 60s;
    while (done() < wanted && std::chrono::steady_clock::now() < gives_up) {
      std::this_thread::sleep_for(1ms);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(alive_for(random)));
    end_worker(child, SIGKILL);
    fmt::print("worker {} was killed with -9: {} of {} mails are done\n", i, done(), ids.size());
  }

  const pid_t last = start_worker(folder);
  bool is_complete = true;
  int crashes = 0;
  for (const tasks::TaskId& id : ids) {
    const auto task = store.wait(id, 60s);
    is_complete &= task && task->state == tasks::TaskState::done;
    crashes += task ? task->crashes : 0;
  }
  end_worker(last, SIGTERM);

  const auto sent = mails_in(outbox_in(folder));
  int twice = 0;
  for (const auto& [to, count] : sent) twice += count > 1 ? 1 : 0;
  is_complete &= sent.size() == ids.size();
  fmt::print("\n{} mails were sent, {} recorded as done, {} lost.\n", sent.size(), done(),
             ids.size() - sent.size());
  fmt::print("{} were in hand when a worker died, and went to the next at once.\n", crashes);
  fmt::print(
      "{} of these had been sent already, and were sent twice: see docs/guide/exactly-once.md.\n",
      twice);
  return is_complete;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  example::CommandLine line("survive-a-crash",
                            "A worker is killed in the middle of its work, and no task is lost.");
  line.add("--mails", "mails to send", options.mails, 1, 100'000);
  line.add("--kills", "workers to kill", options.kills, 0, 1'000);
  line.add("--work-on", "only work, on the store in this folder, until SIGTERM", options.work_on,
           "a folder", [](std::string_view text) { return !text.empty(); });
  line.add_example("survive-a-crash --kills 50 --mails 2000", "for longer");
  if (const auto status = line.read(count, values)) return *status;
  if (!options.work_on.empty()) return work(options.work_on);
  if (line.is_test()) options.kills = 2;  // In hand at all of them, a task is still done.

  std::string folder = (std::filesystem::temp_directory_path() / "survive-a-crash-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "survive-a-crash: no folder can be made in {}\n",
               std::filesystem::temp_directory_path().string());
    return 1;
  }
  const bool is_complete = run(options, folder);
  std::filesystem::remove_all(folder);
  if (!is_complete) fmt::print("A mail is not accounted for.\n");
  return is_complete ? 0 : 1;
}
