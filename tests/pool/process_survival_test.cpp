// Nothing a ProcessPool starts survives its time: not past a timeout, a stop, the program's own end, or ours.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/process_pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

using Result = std::expected<ProcessResult, Refusal>;

ProcessCommand helper(std::string role, std::string argument) {
  return {.arguments = {"/proc/self/exe", "--be", std::move(role), std::move(argument)}};
}

// -- The helpers -----------------------------------------------------------------------------------

[[noreturn]] void stay() {
  while (true) ::pause();
}

void fill(int fd, char letter, std::size_t count) {
  const std::string block(1000, letter);
  for (; count > 0; count -= block.size()) {
    if (::write(fd, block.data(), block.size()) < 0) ::_exit(1);
  }
}

// A child in our group, and one that has got away: into a session of its own, and without its parent.
void have_children() {
  if (::fork() == 0) stay();
  const pid_t between = ::fork();
  if (between == 0) {
    ::setsid();
    if (::fork() == 0) stay();
    ::_exit(0);
  }
  ::waitpid(between, nullptr, 0);
}

// Whoever sees the new argument knows that all before this was done.
[[noreturn]] void stay_as_ready(const char* marker) {
  const std::string ready = std::string(marker) + "-ready";
  ::execl("/proc/self/exe", "test", "--be", "stay", ready.c_str(), nullptr);
  ::_exit(1);
}

[[noreturn]] void run_a_family(const char* marker) {
  ProcessPool pool{{.processes = 1}};
  static_cast<void>(pool.run(helper("family", marker)));
  ::_exit(0);
}

// Counts itself in, notes the most there were, and counts itself out, in a file that all map.
[[noreturn]] void overlap(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  void* memory = ::mmap(nullptr, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  auto* counts = static_cast<int*>(memory);
  const std::atomic_ref<int> inside(counts[0]), most(counts[1]);
  const int now = ++inside;
  for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
  }
  --inside;
  ::_exit(0);
}

[[noreturn]] void be(const std::string& role, const char* argument) {
  if (role == "exit") ::_exit(std::atoi(argument));
  if (role == "raise") {
    ::signal(std::atoi(argument), SIG_DFL);  // The sanitizers have handlers.
    ::raise(std::atoi(argument));
  }
  if (role == "write") {
    for (std::size_t left = std::strtoul(argument, nullptr, 10); left > 0; left -= 1000) {
      fill(1, 'o', 1000);
      fill(2, 'e', 1000);
    }
    ::_exit(0);
  }
  if (role == "stay") stay();
  if (role == "family") {
    have_children();
    stay();
  }
  if (role == "leave") {
    have_children();
    fill(1, 'o', 1000);
    ::_exit(0);
  }
  if (role == "ignore") {
    ::signal(SIGTERM, SIG_IGN);
    stay_as_ready(argument);
  }
  if (role == "speak") {
    fill(1, 'o', 1000);
    stay_as_ready(argument);
  }
  if (role == "elsewhere") {  // Goes to the group of a child of its own, which leads one.
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      stay();
    }
    while (::setpgid(0, child) != 0) {
    }
    ::signal(SIGTERM, SIG_IGN);
    stay_as_ready(argument);
  }
  if (role == "overlap") overlap(argument);
  if (role == "middle") run_a_family(argument);
  ::_exit(126);
}

// Before main(), so that the test program needs no main of its own.
[[gnu::constructor]] void become_a_helper(int count, char** arguments) {
  if (count >= 4 && std::strcmp(arguments[1], "--be") == 0) be(arguments[2], arguments[3]);
}

// -- Who is there ----------------------------------------------------------------------------------

// A word that no other process has among its arguments.
std::string unique_marker() {
  static int count = 0;
  return "handoff-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + "-";
}

// Empty if the process has gone meanwhile.
std::string command_line(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[4096];
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

std::vector<pid_t> processes_with(const std::string& marker) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid == 0) continue;
    if (command_line(entry.path() / "cmdline").find(marker) != std::string::npos)
      found.push_back(pid);
  }
  return found;
}

std::size_t count_with(const std::string& marker) { return processes_with(marker).size(); }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool have_no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

std::future<Result> run_elsewhere(ProcessPool& pool, ProcessCommand command, Wait wait = {}) {
  return std::async(std::launch::async, [&pool, command = std::move(command), wait] {
    return pool.run(command, wait);
  });
}

// -- Timeouts --------------------------------------------------------------------------------------

TEST(ProcessSurvival, ATimeoutEndsTheProgramAndAllItStarted) {
  ManualClock clock;
  const auto marker = unique_marker();
  ProcessPool pool{{.processes = 1}};
  auto command = helper("family", marker);
  command.timeout = 10s;
  auto running = run_elsewhere(pool, command);
  eventually([&] { return count_with(marker) == 3 && clock.waiting() == 1; });

  clock.advance(10s);
  const auto result = running.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::timed_out);
  EXPECT_EQ(result->signal, SIGTERM);
  EXPECT_EQ(result->wall_time, 10s);
  EXPECT_EQ(count_with(marker), 0u);
  EXPECT_EQ(pool.stats().timed_out, 1u);
}

TEST(ProcessSurvival, WhoIgnoresSigtermIsKilledAfterTheGrace) {
  ManualClock clock;
  const auto marker = unique_marker();
  ProcessPool pool{{.processes = 1}};
  auto command = helper("ignore", marker);
  command.timeout = 10s;
  command.grace = 2s;
  auto running = run_elsewhere(pool, command);
  eventually([&] { return count_with(marker + "-ready") == 1 && clock.waiting() == 1; });

  clock.advance(10s);
  eventually([&] { return clock.waiting() == 1; });  // Now for the end of the grace.
  EXPECT_EQ(count_with(marker), 1u);
  clock.advance(2s);
  const auto result = running.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_EQ(count_with(marker), 0u);
}

TEST(ProcessSurvival, AProgramThatWentToAnotherGroupIsKilledToo) {
  const std::string marker = unique_marker();
  ManualClock clock;
  ProcessPool pool{{.processes = 1}};
  auto command = helper("elsewhere", marker);
  command.timeout = 10s;
  auto running = run_elsewhere(pool, command);
  eventually([&] { return count_with(marker + "-ready") == 1; });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(10s);
  eventually([&] { return clock.waiting() == 1; });  // It ignores SIGTERM.
  clock.advance(command.grace);
  EXPECT_EQ(running.get()->end, ProcessEnd::timed_out);
  EXPECT_EQ(count_with(marker), 0u);
}

TEST(ProcessSurvival, WithoutGraceItIsKilledAtOnce) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"sleep", "1000"}, .timeout = 1ms, .grace = 0s});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST(ProcessSurvival, ATimeoutByTheRealClock) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"sleep", "1000"}, .timeout = 20ms});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::timed_out);
  EXPECT_GE(result->wall_time, 20ms);
}

TEST(ProcessSurvival, ATimeoutKeepsTheOutputSoFar) {
  ManualClock clock;
  const auto marker = unique_marker();
  ProcessPool pool{{.processes = 1}};
  auto command = helper("speak", marker);
  command.timeout = 10s;
  auto running = run_elsewhere(pool, command);
  eventually([&] { return count_with(marker + "-ready") == 1 && clock.waiting() == 1; });
  clock.advance(10s);
  const auto result = running.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::timed_out);
  EXPECT_EQ(result->output, std::string(1000, 'o'));
}

// -- Deadlines and stops ---------------------------------------------------------------------------

TEST(ProcessSurvival, ADeadlineEndsTheProgramAndRefuses) {
  ManualClock clock;
  const auto marker = unique_marker();
  ProcessPool pool{{.processes = 1}};
  auto running = run_elsewhere(pool, helper("family", marker), {.deadline = within(5s)});
  eventually([&] { return count_with(marker) == 3 && clock.waiting() == 1; });
  clock.advance(5s);
  EXPECT_EQ(running.get().error(), Refusal::timed_out);
  EXPECT_EQ(count_with(marker), 0u);
  EXPECT_EQ(pool.stats().cancelled, 1u);
}

TEST(ProcessSurvival, AStopEndsTheProgramAndRefuses) {
  const auto marker = unique_marker();
  std::stop_source stop;
  ProcessPool pool{{.processes = 1}};
  auto running = run_elsewhere(pool, helper("family", marker), {.stop = stop.get_token()});
  eventually([&] { return count_with(marker) == 3; });
  stop.request_stop();
  EXPECT_EQ(running.get().error(), Refusal::stopped);
  EXPECT_EQ(count_with(marker), 0u);
}

TEST(ProcessSurvival, StopAllEndsEveryProgram) {
  const auto marker = unique_marker();
  ProcessPool pool{{.processes = 3}};
  std::vector<std::future<Result>> running;
  for (int i = 0; i < 3; ++i) running.push_back(run_elsewhere(pool, helper("family", marker)));
  eventually([&] { return count_with(marker) == 9; });
  pool.stop_all();
  for (auto& each : running) EXPECT_EQ(each.get().error(), Refusal::stopped);
  EXPECT_EQ(count_with(marker), 0u);
  EXPECT_EQ(pool.run({.arguments = {"true"}}).error(), Refusal::closed);
}

// -- The program's own end -------------------------------------------------------------------------

TEST(ProcessSurvival, WhatAProgramLeavesBehindIsKilled) {
  const auto marker = unique_marker();
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run(helper("leave", marker));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->succeeded());
  EXPECT_EQ(result->output, std::string(1000, 'o'));
  EXPECT_EQ(count_with(marker), 0u);
}

TEST(ProcessSurvival, ManyRunsLeaveNoDescriptorAndNoProcess) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int callers = 4, runs = 150;  // Forking takes many times as long.
#else
  constexpr int callers = 4, runs = 500;
#endif
  ProcessPool pool{{.processes = 2, .capacity = callers}};
  const auto run_one = [&](int n) {
    if (n % 3 == 0) return pool.run({.arguments = {"no-such-program"}, .input = "x"});
    if (n % 3 == 1) return pool.run({.arguments = {"true"}, .input = std::string(100'000, 'x')});
    return pool.run({.arguments = {"sleep", "1000"}, .timeout = 1ms});
  };
  const auto before = open_descriptors();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < runs; ++n) EXPECT_TRUE(run_one(n));
      });
    }
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(have_no_children());
}

TEST(ProcessSurvival, WorksWhereSigchldIsIgnored) {
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run(helper("exit", "7"));
  ::sigaction(SIGCHLD, &before, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 7);
}

// -- Our end ---------------------------------------------------------------------------------------

// A process that runs a family in a pool of its own. Killed by -9, also if the test fails before.
class Middle {
 public:
  explicit Middle(const std::string& marker) {
    const char* const arguments[] = {"test", "--be", "middle", marker.c_str(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr,
                            const_cast<char* const*>(arguments), environ),
              0);
  }
  ~Middle() { kill(); }
  Middle(const Middle&) = delete;
  Middle& operator=(const Middle&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

TEST(ProcessSurvival, WhenWeAreKilledEverythingDies) {
  const auto marker = unique_marker();
  Middle middle(marker);
  // It, its supervisor, the program, the program's child, and the one that got away.
  eventually([&] { return count_with(marker) == 5; });
  middle.kill();
  EXPECT_TRUE(eventually([&] { return count_with(marker) == 0; }));
}

TEST(ProcessSurvival, WhenTheSupervisorIsKilledTheProgramDies) {
  ProcessPool pool{{.processes = 1}};
  const auto marker = unique_marker();
  auto running = run_elsewhere(pool, helper("stay", marker));
  eventually([&] { return count_with(marker) == 1; });
  pid_t supervisor = 0;
  std::string word;
  std::ifstream status("/proc/" + std::to_string(processes_with(marker).front()) + "/status");
  while (status >> word && word != "PPid:") {
  }
  status >> supervisor;
  ASSERT_GT(supervisor, 1);
  ::kill(supervisor, SIGKILL);
  const auto result = running.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::killed);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_TRUE(eventually([&] { return count_with(marker) == 0; }));
}

// That is for programs to decide: it changes what becomes of all processes below them.
TEST(ProcessSurvival, ALibraryAdoptsNoOrphans) {
  ProcessPool pool{{.processes = 1}};
  ASSERT_TRUE(pool.run(helper("exit", "0")));
  int adopts = -1;
  ASSERT_EQ(::prctl(PR_GET_CHILD_SUBREAPER, &adopts), 0);
  EXPECT_EQ(adopts, 0);
}

}  // namespace
}  // namespace handoff
