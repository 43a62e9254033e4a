// The code of docs/guide/processes.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>

#include "handoff/process_pool.hpp"
#include "handoff/testing/eventually.hpp"

namespace {

using namespace std::chrono_literals;

TEST(ProcessesGuide, ACommandHasInputAndOutput) {
  const std::string photo = "pixels";
  std::string thumbnail, told;

  handoff::ProcessPool converters{{.processes = 4, .capacity = 100, .name = "converters"}};

  auto result = converters.run({.arguments = {"cat", "-"}, .input = photo, .timeout = 10s});
  if (!result) {
    told = to_string(result.error());  // It was not run, or not to its end: full, closed, ...
  } else if (!result->succeeded()) {
    told = result->to_string() + ": " + result->errors;  // It ran, and did not end well.
  } else {
    thumbnail = result->output;
  }

  EXPECT_EQ(thumbnail, photo);
  EXPECT_EQ(told, "");
}

TEST(ProcessesGuide, AnEndIsAValue) {
  std::string told;
  handoff::ProcessPool converters{{.processes = 1}};
  const auto result = converters.run({.arguments = {"no-such-converter"}});
  ASSERT_TRUE(result);

  switch (result->end) {
    case handoff::ProcessEnd::exited: told = "code " + std::to_string(result->exit_code); break;
    case handoff::ProcessEnd::killed: told = "signal " + std::to_string(result->signal); break;
    case handoff::ProcessEnd::could_not_start: told = result->error; break;
    case handoff::ProcessEnd::timed_out: told = "too slow"; break;
  }

  EXPECT_EQ(told, "cannot execute \"no-such-converter\" from PATH: No such file or directory");
}

TEST(ProcessesGuide, ACommandSaysWhereAndHowItRuns) {
  handoff::ProcessPool pool{{.processes = 1}};

  const handoff::ProcessCommand command{
      .arguments = {"env"},          // The program, and its arguments as they are.
      .environment = {"LANG=C"},     // In place of ours of that name, or added.
      .inherit_environment = false,  // None of ours at all.
      .directory = "/",              // Where it runs.
      .timeout = 10s,                // Then SIGTERM to its process group ...
      .grace = 2s,                   // ... and this much later SIGKILL.
      .output_limit = 64 * 1024};    // What is kept of its output, and of its errors.
  const auto result = pool.run(command);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "LANG=C\n");
}

TEST(ProcessesGuide, AWaitEndsTheRun) {
  std::stop_source source;
  const std::stop_token stop = source.get_token();
  handoff::ProcessPool pool{{.processes = 1}};
  auto running = std::async(std::launch::async, [&] {
    return pool.run({.arguments = {"sleep", "1000"}},
                    {.deadline = handoff::within(1min), .stop = stop});
  });
  handoff::testing::eventually([&] { return pool.stats().running == 1; });

  source.request_stop();

  EXPECT_EQ(running.get().error(), handoff::Refusal::stopped);
}

}  // namespace
