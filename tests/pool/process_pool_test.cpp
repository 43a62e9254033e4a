// What run() does and answers. What becomes of processes that do not end by themselves is in process_survival_test.cpp,
// which also has the helpers that this program becomes when it is started with "--be".
#include "handoff/process_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <expected>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

using Result = std::expected<ProcessResult, Refusal>;

ProcessCommand helper(std::string role, std::string argument) {
  return {.arguments = {"/proc/self/exe", "--be", std::move(role), std::move(argument)}};
}

ProcessCommand endless() { return {.arguments = {"sleep", "1000"}}; }

std::future<Result> run_elsewhere(ProcessPool& pool, ProcessCommand command, Wait wait = {}) {
  return std::async(std::launch::async, [&pool, command = std::move(command), wait] {
    return pool.run(command, wait);
  });
}

template <typename Make>
std::string message_of(Make make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// -- Input and output ------------------------------------------------------------------------------

TEST(ProcessPool, GivesBackWhatTheProgramWrites) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"echo", "a b", "$HOME", "*"}});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->succeeded());
  EXPECT_EQ(result->output, "a b $HOME *\n");
  EXPECT_EQ(result->errors, "");
  EXPECT_EQ(result->to_string(), "exited with code 0");
}

TEST(ProcessPool, InputAndOutputFlowAtOnce) {
  std::string input;
  while (input.size() < 10'000'000) input += std::to_string(input.size()) + "\n";
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"cat"}, .input = input, .output_limit = 20'000'000});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->output == input);
  EXPECT_FALSE(result->output_truncated);
}

TEST(ProcessPool, OutputPastTheLimitIsCountedAndNotKept) {
  ProcessPool pool{{.processes = 1}};
  auto command = helper("write", "3000000");
  command.output_limit = 1000;
  const auto result = pool.run(command);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->succeeded());
  EXPECT_EQ(result->output, std::string(1000, 'o'));
  EXPECT_EQ(result->errors, std::string(1000, 'e'));
  EXPECT_EQ(result->output_bytes, 3'000'000u);
  EXPECT_EQ(result->errors_bytes, 3'000'000u);
  EXPECT_TRUE(result->output_truncated && result->errors_truncated);
}

TEST(ProcessPool, OutputUpToTheLimitIsNotTruncated) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"echo", "abc"}, .output_limit = 4});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "abc\n");
  EXPECT_FALSE(result->output_truncated);
}

TEST(ProcessPool, AProgramNeedNotReadItsInput) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"true"}, .input = std::string(5'000'000, 'x')});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->succeeded());
  sigset_t pending;  // The SIGPIPE of a write in vain must not have stayed behind.
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

// -- Ends ------------------------------------------------------------------------------------------

TEST(ProcessPool, TellsTheExitCode) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run(helper("exit", "42"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::exited);
  EXPECT_EQ(result->exit_code, 42);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(pool.stats().failed, 1u);
}

TEST(ProcessPool, ACrashIsAValue) {
  ProcessPool pool{{.processes = 1}};
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL}) {
    const auto result = pool.run(helper("raise", std::to_string(signal)));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->end, ProcessEnd::killed);
    EXPECT_EQ(result->signal, signal);
    EXPECT_THAT(result->to_string(), HasSubstr("killed by signal " + std::to_string(signal)));
  }
}

TEST(ProcessPool, AProgramThatIsNotThereIsAValueThatNamesIt) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"no-such-program"}, .input = "x"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::could_not_start);
  EXPECT_EQ(result->error_number, ENOENT);
  EXPECT_EQ(result->error,
            "cannot execute \"no-such-program\" from PATH: No such file or directory");
  EXPECT_EQ(pool.stats().could_not_start, 1u);
}

TEST(ProcessPool, WhatMayNotBeExecutedIsAValueThatSaysWhy) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"/etc/passwd"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::could_not_start);
  EXPECT_EQ(result->error, "cannot execute \"/etc/passwd\": Permission denied");
}

TEST(ProcessPool, ADirectoryThatIsNotThereIsAValueThatNamesIt) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"ls"}, .directory = "/no/such/directory"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::could_not_start);
  EXPECT_THAT(result->error, HasSubstr("\"/no/such/directory\": No such file or directory"));
}

TEST(ProcessPool, MeasuresTimeAndMemory) {
  ProcessPool pool{{.processes = 1}};
  const auto result = pool.run({.arguments = {"cat"}, .input = std::string(1'000'000, 'x')});
  ASSERT_TRUE(result);
  EXPECT_GT(result->wall_time, 0s);
  EXPECT_GT(result->peak_memory_bytes, 100'000u);
}

// -- What the program finds ------------------------------------------------------------------------

TEST(ProcessPool, RunsInTheGivenDirectory) {
  ProcessPool pool{{.processes = 1}};
  EXPECT_EQ(pool.run({.arguments = {"pwd"}, .directory = "/usr"})->output, "/usr\n");
  EXPECT_EQ(pool.run({.arguments = {"pwd"}})->output,
            std::filesystem::current_path().string() + "\n");
}

TEST(ProcessPool, TheEnvironmentIsOursWithChanges) {
  ProcessPool pool{{.processes = 1}};
  ::setenv("HANDOFF_TEST_KEPT", "kept", 1);
  ::setenv("HANDOFF_TEST_CHANGED", "before", 1);
  const auto result =
      pool.run({.arguments = {"env"}, .environment = {"HANDOFF_TEST_CHANGED=after"}});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->output, HasSubstr("HANDOFF_TEST_KEPT=kept\n"));
  EXPECT_THAT(result->output, HasSubstr("HANDOFF_TEST_CHANGED=after\n"));
  EXPECT_THAT(result->output, ::testing::Not(HasSubstr("before")));
}

TEST(ProcessPool, TheEnvironmentCanBeTheCommandsAlone) {
  ProcessPool pool{{.processes = 1}};
  const auto result =
      pool.run({.arguments = {"env"}, .environment = {"A=1", "B="}, .inherit_environment = false});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "A=1\nB=\n");
}

TEST(ProcessPool, AProgramGetsItsThreeDescriptorsAndCleanSignals) {
  std::ofstream not_for_children("/dev/null");  // Opened without O_CLOEXEC.
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  struct sigaction ignore{}, old{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR2, &ignore, &old);

  ProcessPool pool{{.processes = 1}};
  const auto descriptors = pool.run({.arguments = {"ls", "/proc/self/fd"}});
  const auto signals = pool.run({.arguments = {"grep", "Sig[BI]", "/proc/self/status"}});

  ::sigaction(SIGUSR2, &old, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(descriptors->output, "0\n1\n2\n3\n");  // The 3 is the directory that ls reads.
  EXPECT_EQ(signals->output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

// -- Limits ----------------------------------------------------------------------------------------

TEST(ProcessPool, ACallerPastTheCapacityIsRefused) {
  ProcessPool pool{{.processes = 1, .capacity = 1, .when_full = WhenFull::reject}};
  auto running = run_elsewhere(pool, endless());
  eventually([&] { return pool.stats().running == 1; });
  auto waiting = run_elsewhere(pool, {.arguments = {"true"}});
  eventually([&] { return pool.stats().waiting == 1; });

  EXPECT_EQ(pool.run({.arguments = {"true"}}).error(), Refusal::full);
  EXPECT_EQ(pool.stats().refused, 1u);

  pool.stop_all();
  EXPECT_EQ(running.get().error(), Refusal::stopped);
  EXPECT_EQ(waiting.get().error(), Refusal::stopped);
}

TEST(ProcessPool, WithoutCapacityItRunsNowOrNot) {
  ProcessPool pool{{.processes = 1, .when_full = WhenFull::reject}};
  EXPECT_TRUE(pool.run({.arguments = {"true"}})->succeeded());
  auto running = run_elsewhere(pool, endless());
  eventually([&] { return pool.stats().running == 1; });
  EXPECT_EQ(pool.run({.arguments = {"true"}}).error(), Refusal::full);
  pool.stop_all();
}

TEST(ProcessPool, ABlockingPoolLetsTheOthersWaitOutside) {
  ProcessPool pool{{.processes = 1, .capacity = 0, .name = "blocking"}};
  std::stop_source stop;
  auto running = run_elsewhere(pool, endless(), {.stop = stop.get_token()});
  eventually([&] { return pool.stats().running == 1; });
  auto outside = run_elsewhere(pool, {.arguments = {"echo", "in"}});
  eventually([&] { return pool.stats().waiting == 1; });
  stop.request_stop();
  EXPECT_EQ(outside.get()->output, "in\n");
  EXPECT_EQ(running.get().error(), Refusal::stopped);
}

TEST(ProcessPool, ADeadlineEndsTheWaitForAPlace) {
  ManualClock clock;
  ProcessPool pool{{.processes = 1, .capacity = 1, .name = "few"}};
  auto running = run_elsewhere(pool, endless());
  eventually([&] { return pool.stats().running == 1; });
  auto late = run_elsewhere(pool, {.arguments = {"true"}}, {.deadline = within(1s)});
  eventually([&] { return clock.waiting() == 1; });

  const auto table = to_table(waits());
  EXPECT_THAT(table, HasSubstr("few.place"));
  EXPECT_THAT(table, HasSubstr("process_pool_test.cpp"));

  clock.advance(1s);
  EXPECT_EQ(late.get().error(), Refusal::timed_out);
  pool.stop_all();
  EXPECT_EQ(running.get().error(), Refusal::stopped);
}

TEST(ProcessPool, APassedDeadlineStartsNothing) {
  ManualClock clock;
  ProcessPool pool{{.processes = 1}};
  const auto late = pool.run(helper("exit", "0"), {.deadline = now()});
  EXPECT_EQ(late.error(), Refusal::timed_out);
  EXPECT_EQ(pool.stats().refused, 1u);
  EXPECT_EQ(pool.stats().cancelled, 0u);
}

TEST(ProcessPool, WhoWantsToKnowIsToldHowAStoppedProgramEnded) {
  ProcessPool pool{{.processes = 1}};
  std::stop_source stop;
  const std::string began = ::testing::TempDir() + "began-" + std::to_string(::getpid());
  ProcessCommand command{.arguments = {"sh", "-c",
                                       "trap 'echo finished; exit 0' TERM; echo > \"$0\"; "
                                       "while :; do sleep 0.01; done",
                                       began},
                         .answers_when_stopped = true};
  command.grace = 1min;
  auto running = run_elsewhere(pool, command, {.stop = stop.get_token()});
  eventually([&] { return ::access(began.c_str(), F_OK) == 0; });
  ::unlink(began.c_str());
  stop.request_stop();
  const auto result = running.get();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->succeeded());
  EXPECT_EQ(result->output, "finished\n");
}

TEST(ProcessPool, ARequestedStopStartsNothing) {
  ProcessPool pool{{.processes = 1}};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(pool.run({.arguments = {"true"}}, {.stop = stop.get_token()}).error(),
            Refusal::stopped);
}

// -- Closing ---------------------------------------------------------------------------------------

TEST(ProcessPool, ClosingRefusesNewcomersAndServesWhoWasLetIn) {
  ProcessPool pool{{.processes = 1, .capacity = 1}};
  std::stop_source stop;
  auto running = run_elsewhere(pool, endless(), {.stop = stop.get_token()});
  eventually([&] { return pool.stats().running == 1; });
  auto let_in = run_elsewhere(pool, {.arguments = {"echo", "served"}});
  eventually([&] { return pool.stats().waiting == 1; });
  auto outside = run_elsewhere(pool, {.arguments = {"true"}});
  eventually([&] { return pool.stats().waiting == 2; });

  pool.close();
  EXPECT_TRUE(pool.is_closed());
  EXPECT_EQ(outside.get().error(), Refusal::closed);
  EXPECT_EQ(pool.run({.arguments = {"true"}}).error(), Refusal::closed);
  EXPECT_EQ(pool.stats().running, 1u);
  stop.request_stop();
  EXPECT_EQ(let_in.get()->output, "served\n");
}

TEST(ProcessPool, TheDestructorEndsWhatRunsAndWaitsForItsCallers) {
  std::future<Result> running, waiting;
  {
    ProcessPool pool{{.processes = 1, .capacity = 1}};
    running = run_elsewhere(pool, endless());
    eventually([&] { return pool.stats().running == 1; });
    waiting = run_elsewhere(pool, endless());
    eventually([&] { return pool.stats().waiting == 1; });
  }
  EXPECT_EQ(running.get().error(), Refusal::stopped);
  EXPECT_EQ(waiting.get().error(), Refusal::stopped);
}

// -- Mistakes --------------------------------------------------------------------------------------

TEST(ProcessPool, UnusableOptionsAreNamed) {
  EXPECT_THAT(message_of([] { ProcessPool pool{{.processes = 0}}; }),
              HasSubstr("processes must be 1 to 2147483647, got 0"));
  EXPECT_THAT(message_of([] { ProcessPool pool{{.processes = 1, .capacity = 1ul << 40}}; }),
              HasSubstr("capacity must be at most 2147483646"));
  for (const auto policy : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
    EXPECT_THAT(message_of([&] { ProcessPool pool{{.processes = 1, .when_full = policy}}; }),
                HasSubstr("when_full must be block or reject"));
  }
}

TEST(ProcessPool, UnusableCommandsAreNamed) {
  ProcessPool pool{{.processes = 1}};
  const auto message = [&](const ProcessCommand& command) {
    return message_of([&] { static_cast<void>(pool.run(command)); });
  };
  const std::string nul("a\0b", 3);
  EXPECT_THAT(message({.arguments = {}}), HasSubstr("arguments must begin with"));
  EXPECT_THAT(message({.arguments = {""}}), HasSubstr("arguments must begin with"));
  EXPECT_THAT(message({.arguments = {"x", nul}}), HasSubstr("arguments[1] must not contain a NUL"));
  EXPECT_THAT(message({.arguments = {"x"}, .environment = {"A=" + nul}}),
              HasSubstr("environment[0] must not contain a NUL"));
  EXPECT_THAT(message({.arguments = {"x"}, .environment = {"A=1", "=2"}}),
              HasSubstr("environment[1] must be \"NAME=value\", got \"=2\""));
  EXPECT_THAT(message({.arguments = {"x"}, .directory = nul}),
              HasSubstr("directory must not contain a NUL"));
  EXPECT_THAT(message({.arguments = {"x"}, .timeout = -3s}),
              HasSubstr("timeout must be positive, got -3s"));
  EXPECT_THAT(message({.arguments = {"x"}, .grace = -1s}),
              HasSubstr("grace must not be negative, got -1s"));
}

// -- Many at once ----------------------------------------------------------------------------------

// The programs themselves count how many of them there are, in a file they all map.
TEST(ProcessPool, NeverRunsMoreThanItsProcessesAtOnce) {
  constexpr std::size_t callers = 8, runs = 40, processes = 3;
  const std::string path = ::testing::TempDir() + "overlap-" + std::to_string(::getpid());
  std::ofstream(path) << std::string(2 * sizeof(int), '\0');
  ProcessPool pool{{.processes = processes, .capacity = callers}};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < callers; ++i) {
      threads.emplace_back([&] {
        for (std::size_t n = 0; n < runs; ++n) {
          const auto result = pool.run(helper("overlap", path));
          EXPECT_TRUE(result && result->succeeded());
        }
      });
    }
  }
  int counts[2] = {-1, -1};  // How many there are, and the most there ever were.
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(counts), sizeof counts);
  std::filesystem::remove(path);
  EXPECT_EQ(counts[0], 0);
  EXPECT_GE(counts[1], 1);
  EXPECT_LE(counts[1], static_cast<int>(processes));
  EXPECT_EQ(pool.stats().high_water, processes);
  EXPECT_EQ(pool.stats().running, 0u);
}

TEST(ProcessPool, EveryCallIsCountedOnceWhenManyEndInDifferentWays) {
  constexpr std::size_t callers = 8, rounds = 12;
  ProcessPool pool{{.processes = 4, .capacity = 2, .when_full = WhenFull::reject}};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < callers; ++i) {
      threads.emplace_back([&, i] {
        for (std::size_t n = 0; n < rounds; ++n) {
          std::stop_source stop;
          const auto kind = (i + n) % 5;
          if (kind == 0) static_cast<void>(pool.run({.arguments = {"true"}}));
          if (kind == 1) static_cast<void>(pool.run({.arguments = {"false"}}));
          if (kind == 2) static_cast<void>(pool.run({.arguments = {"no-such-program"}}));
          if (kind == 3) {
            auto command = endless();
            command.timeout = 1ms;
            static_cast<void>(pool.run(command));
          }
          if (kind == 4) {
            std::jthread stopper([&] { stop.request_stop(); });
            EXPECT_FALSE(pool.run(endless(), {.stop = stop.get_token()}));
          }
        }
      });
    }
  }
  const auto stats = pool.stats();
  EXPECT_EQ(stats.succeeded + stats.failed + stats.could_not_start + stats.timed_out +
                stats.cancelled + stats.refused,
            callers * rounds);
  EXPECT_EQ(stats.running, 0u);
}

}  // namespace
}  // namespace handoff
