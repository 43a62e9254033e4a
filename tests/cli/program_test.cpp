// What all commands have in common: help, mistakes, stores that are not there, outputs.
#include "cli/program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Program : public CliTest {};

const std::vector<std::vector<std::string>> all_commands = {{"enqueue"},
                                                            {"batch"},
                                                            {"work"},
                                                            {"ls"},
                                                            {"show"},
                                                            {"watch"},
                                                            {"explain"},
                                                            {"retry"},
                                                            {"cancel"},
                                                            {"dead"},
                                                            {"queues"},
                                                            {"queues", "set"},
                                                            {"pause"},
                                                            {"resume"},
                                                            {"purge"},
                                                            {"schedule"},
                                                            {"schedule", "put"},
                                                            {"schedule", "ls"},
                                                            {"schedule", "show"},
                                                            {"schedule", "rm"},
                                                            {"schedule", "pause"},
                                                            {"schedule", "resume"},
                                                            {"workflow"},
                                                            {"workflow", "start"},
                                                            {"workflow", "ls"},
                                                            {"workflow", "show"},
                                                            {"workflow", "watch"},
                                                            {"workflow", "cancel"},
                                                            {"workflow", "retry"},
                                                            {"workers"},
                                                            {"top"},
                                                            {"doctor"}};

TEST_F(Program, EveryCommandHasHelpWithExamples) {
  for (auto command : all_commands) {
    command.push_back("--help");
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr("Examples:")) << command[0];
    EXPECT_THAT(ended.out, HasSubstr("Usage: handoff " + command[0])) << command[0];
    EXPECT_EQ(ended.err, "");
  }
}

TEST_F(Program, HelpNamesEveryCommandAndTheExitCodes) {
  const Ended ended = run({"--help"});
  EXPECT_EQ(ended.code, 0);
  for (const auto& each : all_commands) EXPECT_THAT(ended.out, HasSubstr("\n  " + each[0] + " "));
  EXPECT_THAT(ended.out, HasSubstr("Exit status:"));
  EXPECT_THAT(run({"--version"}).out, StartsWith("handoff 0."));
}

TEST_F(Program, WithoutACommandItShowsItsHelpAsAMistake) {
  const Ended ended = run({});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("Usage: handoff COMMAND"));
  EXPECT_EQ(run({"schedule"}).code, 2);
  EXPECT_THAT(run({"schedule"}).err, HasSubstr("needs one of put, ls"));
}

TEST_F(Program, WhatNobodyKnowsIsAnsweredWithTheNearest) {
  const auto error = [this](const std::vector<std::string>& arguments) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("handoff: there is no "));
    return ended.err;
  };
  EXPECT_THAT(error({"enqeue", "k"}), HasSubstr("did you mean \"enqueue\"?"));
  EXPECT_THAT(error({"ls", "--quue", "q"}), HasSubstr("did you mean \"--queue\"?"));
  EXPECT_THAT(error({"schedule", "putt"}), HasSubstr("did you mean \"put\"?"));
  EXPECT_THAT(error({"--jsn", "ls"}), HasSubstr("did you mean \"--json\"?"));
  EXPECT_THAT(error({"ls", "--unheard-of"}), Not(HasSubstr("did you mean")));
}

TEST_F(Program, CommonOptionsMayStandBeforeTheCommand) {
  const std::string id = enqueue("k");
  const Ended ended =
      run({"--store", store, "--json", "ls"}, "", {"HANDOFF_STORE=sqlite:other.db"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(text_at(json_of(ended.out), "id"), id);
}

TEST_F(Program, WhoOnlyLooksMakesNoStore) {
  const std::string id = "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c";
  const std::vector<std::vector<std::string>> looking = {
      {"ls"},         {"show", id},       {"watch", id},     {"explain", id}, {"retry", id},
      {"cancel", id}, {"dead"},           {"queues"},        {"workers"},     {"top"},
      {"pause", "q"}, {"schedule", "ls"}, {"workflow", "ls"}};
  for (const auto& each : looking) {
    const Ended ended = run(each);
    EXPECT_EQ(ended.code, 4) << each[0];
    EXPECT_THAT(ended.err, HasSubstr("there is no store")) << each[0];
    EXPECT_THAT(ended.err, HasSubstr("--store")) << each[0];
  }
  EXPECT_FALSE(std::filesystem::exists(path("tasks.db")));
}

TEST_F(Program, AStoreThatIsNoneIsNamed) {
  EXPECT_EQ(run({"ls", "--store", "tasks.db"}).code, 2);
  EXPECT_THAT(run({"ls", "--store", "tasks.db"}).err,
              HasSubstr("did you mean \"sqlite:tasks.db\"?"));
  write("broken.db", std::string(8192, 'x'));
  const Ended broken = run({"ls", "--store", "sqlite:broken.db"});
  EXPECT_EQ(broken.code, 4);
  EXPECT_THAT(broken.err, HasSubstr("cannot open the store sqlite:broken.db"));
}

TEST_F(Program, NoSuchTaskIsThree) {
  enqueue("k");
  const std::string id = "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c";
  for (const std::string command : {"show", "watch", "explain", "retry", "cancel"}) {
    const Ended ended = run({command, id});
    EXPECT_EQ(ended.code, 3) << command;
    EXPECT_THAT(ended.err, HasSubstr("there is no task " + id)) << command;
  }
  EXPECT_EQ(run({"show", "17"}).code, 2);
  EXPECT_EQ(run({"schedule", "show", "x"}).code, 3);
  EXPECT_EQ(run({"schedule", "rm", "x"}).code, 3);
  EXPECT_EQ(run({"workflow", "show", id}).code, 3);
  EXPECT_EQ(run({"workflow", "cancel", id}).code, 3);
}

TEST_F(Program, WhatTheStoreHoldsCannotPlayWithTheTerminal) {
  const std::string id = enqueue("k", {R"("\u001b[31mred\u009b2J\u202e")"});
  write("evil.json",
        "\"\xc2\x9b"
        "31m \xe2\x80\xae \x7f\"");
  const Ended raw = run({"enqueue", "k", "@evil.json"});
  ASSERT_EQ(raw.code, 0) << raw.err;
  work("printf '\\033[2J\\007 bell' >&2; exit 1");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"ls"}, {"show", id}, {"ls", "--json"}, {"show", id, "--json"}}) {
    const std::string out = run(command).out;
    for (const std::string_view harmful : {"\x1b", "\x07", "\x7f", "\xc2\x9b", "\xe2\x80\xae"}) {
      EXPECT_THAT(out, Not(HasSubstr(std::string(harmful)))) << command[0];
    }
  }
  EXPECT_THAT(run({"show", id}).out, HasSubstr("\\x1b[2J\\x07 bell"));
  EXPECT_NO_THROW(json_lines(run({"ls", "--json"}).out));
}

TEST_F(Program, NdjsonHasOneDocumentALineWhateverThePayload) {
  write("pretty.json", "{\n  \"a\": [\n 1,\n 2 ],\n \"b\": \"x  y\"\n}\n");
  ASSERT_EQ(run({"enqueue", "k", "@pretty.json"}).code, 0);
  const auto lines = json_lines(run({"ls", "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(text_at(lines[0], "payload"), R"({"a":[1,2],"b":"x  y"})");
}

TEST_F(Program, AReaderThatGoesAwayIsNoError) {
  std::string lines;
  for (int i = 0; i < 1000; ++i)
    lines += R"({"queue":"q","kind":"k","payload":")" + std::string(500, 'x') + "\"}\n";
  ASSERT_EQ(run({"batch"}, lines).code, 0);
  const std::string command =
      std::string("HANDOFF_STORE=") + store + " " HANDOFF_PROGRAM " ls --json --limit 1000 2> " +
      path("err") + " | head -n 1 > " + path("out") + "; echo ${PIPESTATUS[0]} > " + path("code");
  ASSERT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  EXPECT_EQ(read("code"), "0\n");
  EXPECT_EQ(read("out").size(), read("out").find('\n') + 1);
  EXPECT_THAT(read("err"), Not(HasSubstr("pipe")));
}

TEST_F(Program, NothingIsColouredWithoutATerminal) {
  enqueue("k");
  for (const std::string command : {"ls", "queues", "top", "doctor"}) {
    EXPECT_THAT(run({command}, "", {"TERM=xterm"}).out, Not(HasSubstr("\x1b"))) << command;
  }
}

}  // namespace
}  // namespace handoff::tests
