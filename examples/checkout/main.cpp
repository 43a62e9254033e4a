// Orders are charged, then shipped and acknowledged, then closed: steps that depend on each other, each a durable task. The
// process dies in the middle, and the next one goes on where it was. See README.md.
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/signals.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/thread.hpp"
#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;
namespace tasks = handoff::tasks;

struct Charge {
  std::uint64_t order = 0;
};
BOOST_DESCRIBE_STRUCT(Charge, (), (order))
struct Charged {
  std::string payment;
};
BOOST_DESCRIBE_STRUCT(Charged, (), (payment))
struct Ship {
  std::uint64_t order = 0;
};
BOOST_DESCRIBE_STRUCT(Ship, (), (order))
struct Receipt {
  std::uint64_t order = 0;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (order))
struct Close {
  std::uint64_t order = 0;
};
BOOST_DESCRIBE_STRUCT(Close, (), (order))

struct Options {
  std::uint64_t orders = 100;
  std::string store;          // For the process that works.
  std::uint64_t dies_at = 0;  // The order whose receipt kills that process; 0: none.
};

// -- The process that works -----------------------------------------------------------------------

int work(const Options& options) {
  auto store = tasks::open(options.store);
  if (!store) {
    fmt::print(stderr, "checkout: {}\n", store.error().message);
    return 1;
  }
  tasks::Worker worker{*store, {.queues = {{"payments", 2}, {"orders", 4}}}};
  worker.handle<Charge>([](const Charge& charge, tasks::Context&) -> tasks::Finish {
    if (charge.order % 10 == 0) return tasks::Fail{"the card was declined"};
    return Charged{fmt::format("payment {}", charge.order)};  // Kept, for the steps behind it.
  });
  worker.handle<Ship>([](const Ship&, tasks::Context&) {});
  worker.handle<Receipt>([&](const Receipt& receipt, tasks::Context& context) {
    if (receipt.order == options.dies_at) ::raise(SIGKILL);
    const auto charged = context.input<Charged>("charge");
    if (charged.payment != fmt::format("payment {}", receipt.order)) {
      throw std::runtime_error("the payment of somebody else");
    }
  });
  worker.handle<Close>([](const Close&, tasks::Context&) {});
  const auto stop = handoff::stop_on_signals(SIGTERM);
  // On a thread of its own: ThreadSanitizer lets signals in where a thread waits in a call of the system.
  handoff::Thread([&] { worker.run(stop); }).join();
  return 0;
}

pid_t start_worker(const std::string& store, std::uint64_t dies_at) {
  std::vector<std::string> words{"/proc/self/exe", "--work-on", store, "--dies-at",
                                 std::to_string(dies_at)};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawn(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("the worker process cannot be started");
  }
  return child;
}

// How it ended.
int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// -- Who starts the workflows ---------------------------------------------------------------------

bool run(const Options& options, const std::string& where) {
  auto store = tasks::open(where).value();
  std::vector<tasks::WorkflowId> started;
  for (std::uint64_t order = 1; order <= options.orders; ++order) {
    tasks::Workflow checkout{fmt::format("checkout-{}", order)};
    checkout.step("charge", Charge{order}, {.task = {.queue = "payments"}})
        .then("receipt", Receipt{order}, {.queue = "orders"})
        .step("ship", Ship{order}, {.after = {"charge"}, .task = {.queue = "orders"}})
        .step("close", Close{order}, {.after = {"receipt", "ship"}, .task = {.queue = "orders"}});
    started.push_back(store.start(checkout).value().id);  // All four steps, or none.
  }
  fmt::print("{} checkouts of four steps are on the disk.\n", started.size());

  const std::uint64_t dies_at = options.orders / 2 + (options.orders / 2 % 10 == 0 ? 1 : 0);
  const int first = wait_for(start_worker(where, dies_at));
  const bool was_killed = WIFSIGNALED(first) && WTERMSIG(first) == SIGKILL;
  fmt::print("The worker {} in the middle of a receipt. Another one goes on.\n",
             was_killed ? "was killed" : "should have been killed");
  const pid_t second = start_worker(where, 0);

  std::uint64_t done = 0, declined = 0, other = 0;
  for (const auto& id : started) {
    const auto ended = store.wait_workflow(id, 60s);
    const auto look = store.workflow(id);
    if (ended && ended->state == tasks::TaskState::done) {
      ++done;
    } else if (look && look->steps[0].state == tasks::TaskState::dead &&
               look->steps[3].state == tasks::TaskState::cancelled) {
      ++declined;
    } else {
      ++other;
    }
  }
  ::kill(second, SIGTERM);
  const int end = wait_for(second);
  fmt::print("\n{:>5}  paid, shipped, acknowledged and closed\n", done);
  fmt::print("{:>5}  declined: no step behind the charge was run\n", declined);
  const bool is_right = was_killed && end == 0 && other == 0 && declined == options.orders / 10 &&
                        done == options.orders - declined;
  fmt::print("\n{}\n", is_right ? "Every order came to its end, and no step ran before its time."
                                : "An order is not accounted for.");
  return is_right;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  example::CommandLine line("checkout", "Steps that depend on each other, and survive a crash.");
  line.add("--orders", "orders to check out", options.orders, 2, 100'000);
  line.add("--work-on", "only work, on this store", options.store, "a store",
           [](std::string_view text) { return !text.empty(); });
  line.add("--dies-at", "the order whose receipt kills the worker", options.dies_at, 0, UINT64_MAX);
  line.add_example("checkout --orders 1000", "for longer");
  if (const auto status = line.read(count, values)) return *status;
  if (!options.store.empty()) return work(options);

  std::string folder = (std::filesystem::temp_directory_path() / "checkout-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "checkout: no folder can be made in {}\n",
               std::filesystem::temp_directory_path().string());
    return 1;
  }
  const bool is_right = run(options, "sqlite:" + folder + "/shop.db");
  std::filesystem::remove_all(folder);
  return is_right ? 0 : 1;
}
