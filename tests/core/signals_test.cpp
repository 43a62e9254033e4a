// Every test starts this program once more, as a process that may be killed: see Scenario.
#include "handoff/signals.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"

extern char** environ;  // NOLINT: POSIX has no header for it.

namespace handoff {
namespace {

constexpr const char* scenario_variable = "HANDOFF_SIGNALS_SCENARIO";

// -- In the process that gets the signals ----------------------------------------------------------

void say(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(!::write(STDOUT_FILENO, text.data(), text.size()));
}

// A worker waits as users do. The main thread, which gets the signals, makes many short pauses instead: ThreadSanitizer holds a
// signal back until the thread's next system call that it knows, and our futex is not one of them.
void wait_for(const std::stop_token& stop) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::jthread worker([&] { static_cast<void>(nothing.take({.stop = stop})); });
  testing::eventually([&] { return stop.stop_requested(); });
}

void wait_for_ever() {
  testing::eventually([] { return false; }, std::chrono::minutes(1));
}

std::string line_of(const char* file, const std::string& key) {
  std::ifstream status(file);
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return line;
  }
  return "";
}

long open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

void stop_and_tell() {
  const auto stop = stop_on_signals(SIGTERM, SIGINT);
  say(fmt::format("ready {}", last_signal()));
  wait_for(stop);
  say(fmt::format("stopped by {}", last_signal()));
}

void stop_and_linger() {
  stop_and_tell();
  wait_for_ever();
}

void lock_in_a_callback() {
  const auto stop = stop_on_signals(SIGTERM);
  BlockingQueue<int> done{{.capacity = 1}};
  std::stop_callback callback(stop, [&] {
    say(line_of("/proc/thread-self/status", "Name:"));
    say(line_of("/proc/thread-self/status", "SigBlk:"));
    EXPECT_TRUE(done.put(1));
  });
  say("ready");
  testing::eventually([&] { return done.size() == 1; });
}

void call_twice() {
  const auto first = stop_on_signals(SIGTERM);
  const auto second = stop_on_signals({SIGUSR1});
  say(first == second ? "same" : "different");
  wait_for(first);
  say(fmt::format("stopped by {}", last_signal()));
  static_cast<void>(stop_on_signals(SIGUSR1));  // Must not take the default action away again.
  say(second.stop_requested() ? "again" : "not requested");
  wait_for_ever();
}

void leave_nothing_to_inherit() {
  const std::string blocked = line_of("/proc/self/status", "SigBlk:");
  const long files = open_files();
  static_cast<void>(stop_on_signals(SIGTERM, SIGINT));
  say(open_files() == files ? "no file" : "a file");
  say(line_of("/proc/self/status", "SigBlk:") == blocked ? "no mask" : "a mask");
}

void take_over_an_ignored_signal() {
  ::signal(SIGINT, SIG_IGN);
  stop_and_tell();
}

// The child does nothing but wait: after fork() a program with threads may do little else.
void fork_a_child() {
  const auto stop = stop_on_signals(SIGTERM);
  const pid_t child = ::fork();
  if (child == 0) {
    say("forked");
    while (true) ::pause();
  }
  std::array<char, 1> go{};
  static_cast<void>(!::read(STDIN_FILENO, go.data(), go.size()));
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  say(WIFSIGNALED(status) ? fmt::format("child killed by {}", WTERMSIG(status)) : "child lives on");
  say(stop.stop_requested() ? "parent stopped" : "parent goes on");
}

class Scenario {
 public:
  // Before main(), so that no test runs in that process.
  Scenario() {
    const char* name = std::getenv(scenario_variable);
    if (name == nullptr) return;
    const std::map<std::string, std::function<void()>> scenarios{
        {"stop_and_tell", stop_and_tell},
        {"stop_and_linger", stop_and_linger},
        {"lock_in_a_callback", lock_in_a_callback},
        {"call_twice", call_twice},
        {"leave_nothing_to_inherit", leave_nothing_to_inherit},
        {"take_over_an_ignored_signal", take_over_an_ignored_signal},
        {"fork_a_child", fork_a_child},
    };
    scenarios.at(name)();
    ::_exit(0);
  }
};

const Scenario scenario;

// -- In the test -----------------------------------------------------------------------------------

class Process {
 public:
  explicit Process(const std::string& name) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe");
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string variable = std::string(scenario_variable) + "=" + name;
    std::string program = "signals_scenario";
    std::vector<char*> environment;
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::array<char*, 2> arguments{program.data(), nullptr};
    const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(),
                                    environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (error != 0) throw std::runtime_error("no process");
  }
  ~Process() {
    ::close(to_);
    ::close(from_);
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The next line it says; empty once it has ended.
  std::string line() const {
    std::string text;
    char each = 0;
    while (::read(from_, &each, 1) == 1 && each != '\n') text += each;
    return text;
  }
  void send(int signal) const { ::kill(pid_, signal); }
  void go() const { static_cast<void>(!::write(to_, "g", 1)); }
  // Sends it again and again until the process has ended.
  void send_until_it_ends(int signal) const {
    testing::eventually([&] {
      send(signal);
      siginfo_t info{};
      return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             info.si_pid == pid_;
    });
  }
  std::string end() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFSIGNALED(status) ? fmt::format("killed by {}", WTERMSIG(status))
                               : fmt::format("exit {}", WEXITSTATUS(status));
  }

 private:
  pid_t pid_ = 0;
  int to_ = -1;
  int from_ = -1;
};

class EachSignal : public ::testing::TestWithParam<int> {};

TEST_P(EachSignal, TheFirstRequestsAStopAndSaysWhy) {
  Process process("stop_and_tell");
  ASSERT_EQ(process.line(), "ready 0");
  process.send(GetParam());
  EXPECT_EQ(process.line(), fmt::format("stopped by {}", GetParam()));
  EXPECT_EQ(process.end(), "exit 0");
}

TEST_P(EachSignal, TheSecondOfTheSameKindKills) {
  Process process("stop_and_linger");
  ASSERT_EQ(process.line(), "ready 0");
  process.send(GetParam());
  ASSERT_EQ(process.line(), fmt::format("stopped by {}", GetParam()));
  process.send_until_it_ends(GetParam());
  EXPECT_EQ(process.end(), fmt::format("killed by {}", GetParam()));
}

// timeout(1) sends one to the process and one to its group.
TEST_P(EachSignal, TwoInARowAreOne) {
  Process process("stop_and_tell");
  ASSERT_EQ(process.line(), "ready 0");
  process.send(GetParam());
  process.send(GetParam());
  EXPECT_EQ(process.line(), fmt::format("stopped by {}", GetParam()));
  EXPECT_EQ(process.end(), "exit 0");
}

INSTANTIATE_TEST_SUITE_P(Signals, EachSignal, ::testing::Values(SIGTERM, SIGINT));

TEST(Signals, StopCallbacksRunOnAnOrdinaryThreadWithNothingBlocked) {
  Process process("lock_in_a_callback");
  ASSERT_EQ(process.line(), "ready");
  process.send(SIGTERM);
  EXPECT_EQ(process.line(), "Name:\thandoff signals");
  EXPECT_EQ(process.line(), "SigBlk:\t0000000000000000");
}

TEST(Signals, AnotherCallAddsItsSignalsToTheSameStop) {
  Process process("call_twice");
  ASSERT_EQ(process.line(), "same");
  process.send(SIGUSR1);
  EXPECT_EQ(process.line(), fmt::format("stopped by {}", SIGUSR1));
  ASSERT_EQ(process.line(), "again");
  process.send_until_it_ends(SIGUSR1);
  EXPECT_EQ(process.end(), fmt::format("killed by {}", SIGUSR1));
}

TEST(Signals, AChildProcessInheritsNeitherFilesNorABlockedSignal) {
  Process process("leave_nothing_to_inherit");
  EXPECT_EQ(process.line(), "no file");
  EXPECT_EQ(process.line(), "no mask");
  EXPECT_EQ(process.end(), "exit 0");
}

TEST(Signals, AnIgnoredSignalIsTakenOver) {
  Process process("take_over_an_ignored_signal");
  ASSERT_EQ(process.line(), "ready 0");
  process.send(SIGINT);
  EXPECT_EQ(process.line(), fmt::format("stopped by {}", SIGINT));
}

TEST(Signals, AForkedChildHasTheDefaultActionAndDoesNotStopItsParent) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under ThreadSanitizer the forked child outlives the signal";
#endif
  Process process("fork_a_child");
  ASSERT_EQ(process.line(), "forked");
  process.go();
  EXPECT_EQ(process.line(), fmt::format("child killed by {}", SIGTERM));
  EXPECT_EQ(process.line(), "parent goes on");
}

TEST(Signals, WhatCannotBeCaughtIsABrokenContract) {
  EXPECT_THROW((void)stop_on_signals(SIGKILL), std::invalid_argument);
  EXPECT_THROW((void)stop_on_signals(SIGTERM, 0), std::invalid_argument);
  EXPECT_THROW((void)stop_on_signals(-1), std::invalid_argument);
  EXPECT_THROW((void)stop_on_signals(10'000), std::invalid_argument);
  struct sigaction action{};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace handoff
