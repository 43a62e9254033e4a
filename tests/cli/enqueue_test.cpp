// handoff enqueue and batch: tasks are handed in, once they are stored, or nothing is.
#include <fmt/format.h>

#include "cli/program.hpp"

namespace handoff::tests {
namespace {

using namespace tasks;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Enqueueing : public CliTest {};

TEST_F(Enqueueing, PrintsTheIdOfAStoredTask) {
  const std::string id = enqueue("welcome", {R"({"to": "x"})", "--queue", "email"});
  const Task made = task(id);
  EXPECT_EQ(made.kind, "welcome");
  EXPECT_EQ(made.queue, "email");
  EXPECT_EQ(made.payload, R"({"to": "x"})");
}

TEST_F(Enqueueing, TakesEveryField) {
  const std::string first = enqueue("k");
  const std::string id = "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c";
  EXPECT_EQ(enqueue("k", {"1",
                          "--queue=q",
                          "--priority",
                          "-5",
                          "--max-attempts",
                          "3",
                          "--timeout",
                          "5m",
                          "--id",
                          id,
                          "--unique-key",
                          "u",
                          "--unique-for",
                          "1h",
                          "--expires-in",
                          "10m",
                          "--group",
                          "g",
                          "--after",
                          first,
                          "--trace",
                          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}),
            id);
  const Task made = task(id);
  EXPECT_EQ(made.priority, -5);
  EXPECT_EQ(made.max_attempts, 3);
  EXPECT_EQ(made.timeout, std::chrono::minutes(5));
  EXPECT_EQ(made.unique_key, "u");
  EXPECT_EQ(made.group, "g");
  EXPECT_EQ(made.after.size(), 1u);
  EXPECT_EQ(made.state, TaskState::waiting);
  EXPECT_THAT(made.trace, StartsWith("00-0af7"));
}

TEST_F(Enqueueing, KnowsLater) {
  EXPECT_EQ(task(enqueue("k", {"--delay", "1h"})).state, TaskState::scheduled);
  const Task then = task(enqueue("k", {"--run-at", "2100-01-01T00:00:00Z"}));
  EXPECT_EQ(to_text(then.run_at), "2100-01-01T00:00:00.000Z");
}

TEST_F(Enqueueing, ReadsPayloadsFromFilesAndStandardInput) {
  write("payload.json", "[1, 2]\n");
  const Ended from_file = run({"enqueue", "k", "@payload.json"});
  ASSERT_EQ(from_file.code, 0) << from_file.err;
  EXPECT_EQ(task(from_file.out.substr(0, 36)).payload, "[1, 2]\n");
  const Ended from_input = run({"enqueue", "k", "-"}, "\"text\"");
  EXPECT_EQ(task(from_input.out.substr(0, 36)).payload, "\"text\"");
}

TEST_F(Enqueueing, APayloadMayLookLikeAnything) {
  for (const std::string payload :
       {"{}", "[]", "-5", "\"--json\"", "[1,2]", "{\"a\":\"\\u0000\\u001b\"}"}) {
    const Ended ended = run({"enqueue", "work", "--", payload});
    ASSERT_EQ(ended.code, 0) << payload << ended.err;
    EXPECT_EQ(task(ended.out.substr(0, 36)).payload, payload);
  }
}

TEST_F(Enqueueing, AnswersInJson) {
  const auto json = json_of(run({"enqueue", "k", "--unique-key", "u", "--json"}).out);
  EXPECT_EQ(text_at(json, "state"), "ready");
  EXPECT_EQ(text_at(json, "duplicate"), "false");
  const auto again = json_of(run({"enqueue", "k", "--unique-key", "u", "--json"}).out);
  EXPECT_EQ(text_at(again, "duplicate"), "true");
  EXPECT_EQ(text_at(again, "id"), text_at(json, "id"));
}

TEST_F(Enqueueing, WaitsForTheResult) {
  Background worker = start({"work", "--", "sh", "-c", "echo '{\"sum\": 5}'"});
  const Ended ended = run({"enqueue", "k", "--wait", "60s"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "{\"sum\":5}\n");
  const auto json = json_of(run({"enqueue", "k", "--json", "--wait"}).out);
  EXPECT_EQ(text_at(json, "state"), "done");
}

TEST_F(Enqueueing, AWaitInVainSaysSo) {
  const Ended ended = run({"enqueue", "k", "--wait=1ms"});
  EXPECT_EQ(ended.code, 75);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("not finished"));
}

TEST_F(Enqueueing, AWaitForOneThatDiesFails) {
  Background worker = start({"work", "--", "sh", "-c", "echo broken >&2; exit 1"});
  const Ended ended = run({"enqueue", "k", "--max-attempts", "1", "--wait"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("dead: exited with code 1: broken"));
}

TEST_F(Enqueueing, MistakesNameTheOptionAndWhatIsAllowed) {
  const auto message = [this](std::vector<std::string> options) {
    options.insert(options.begin(), {"enqueue", "k"});
    const Ended ended = run(options);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("handoff: "));
    return ended.err;
  };
  EXPECT_THAT(message({"--priority", "500"}), HasSubstr("--priority must be -100 to 100, got 500"));
  EXPECT_THAT(message({"--priority", "high"}), HasSubstr("--priority must be a whole number"));
  EXPECT_THAT(message({"--delay", "soon"}), HasSubstr("--delay must be"));
  EXPECT_THAT(message({"--max-attempts", "2000"}), HasSubstr("--max-attempts must be"));
  EXPECT_THAT(message({"--id", "17"}), HasSubstr("--id must be"));
  EXPECT_THAT(message({"--wait=soon"}), HasSubstr("--wait must be"));
  EXPECT_THAT(message({"{oops"}), HasSubstr("PAYLOAD must be JSON"));
  EXPECT_THAT(message({"@missing.json"}), HasSubstr("cannot read \"missing.json\""));
  EXPECT_THAT(message({"--queue", "e mail"}), HasSubstr("--queue must be"));
  EXPECT_THAT(message({"--dely", "3s"}), HasSubstr("did you mean \"--delay\"?"));
  EXPECT_THAT(message({"--queue"}), HasSubstr("--queue"));
}

TEST_F(Enqueueing, NotifyNamesWhoIsToldOfTheEnd) {
  const std::string id = enqueue("k", {"--notify", "http://127.0.0.1:9000/ended"});
  EXPECT_EQ(task(id).notify_url, "http://127.0.0.1:9000/ended");
  const Ended ended = run({"enqueue", "k", "--notify", "nowhere"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("--notify must be"));
}

TEST_F(Enqueueing, AFullQueueSaysToTryLater) {
  enqueue("k");
  QueueSettings settings;
  settings.capacity = 1;
  ASSERT_TRUE(open().configure("default", settings));
  const Ended ended = run({"enqueue", "k"});
  EXPECT_EQ(ended.code, 75);
  EXPECT_THAT(ended.err, StartsWith("handoff: queue \"default\" holds 1 of 1"));
}

// -- Many -----------------------------------------------------------------------------------------

class Batches : public CliTest {
 protected:
  static std::string lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{{\"queue\":\"q\",\"kind\":\"k\",\"payload\":{}}}\n", i);
    return text;
  }
  std::int64_t stored() const { return open().queue("q").unfinished(); }
};

TEST_F(Batches, HandInAllLines) {
  const Ended ended = run({"batch"}, lines(2500));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "2500\n");
  EXPECT_EQ(stored(), 2500);
  write("tasks.ndjson", lines(3) + "\n  \n" + lines(1));
  EXPECT_EQ(text_at(json_of(run({"batch", "tasks.ndjson", "--json"}).out), "stored"), "4");
  EXPECT_EQ(run({"batch"}, "").out, "0\n");
}

TEST_F(Batches, AWrongLineIsNamedAndWhatWasStoredIsSaid) {
  const Ended ended =
      run({"batch"}, lines(1500) + "{\"queue\":\"q\",\"kindd\":\"k\"}\n" + lines(10));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("line 1501: "));
  EXPECT_THAT(ended.err, HasSubstr("kind"));
  EXPECT_THAT(ended.err, HasSubstr("1000 tasks"));
  EXPECT_EQ(stored(), 1000);
}

TEST_F(Batches, AValueThatIsNotAllowedIsNamedByItsLine) {
  const Ended ended =
      run({"batch"}, lines(2) + "\n{\"queue\":\"q\",\"kind\":\"k\",\"priority\":500}\n");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("line 4: priority must be -100 to 100, got 500"));
  EXPECT_THAT(ended.err, HasSubstr("nothing was stored"));
  EXPECT_EQ(stored(), 0);
}

TEST_F(Batches, OfIdsCanBeSentAgain) {
  const std::string line =
      R"({"queue":"q","kind":"k","id":"018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c"})";
  EXPECT_EQ(run({"batch"}, line).code, 0);
  const Ended again = run({"batch", "--json"}, line);
  EXPECT_EQ(text_at(json_of(again.out), "duplicates"), "1");
  EXPECT_EQ(stored(), 1);
}

TEST_F(Batches, MistakesAreNamed) {
  EXPECT_EQ(run({"batch", "missing"}).code, 2);
  EXPECT_THAT(run({"batch", "--chunk", "0"}).err, HasSubstr("--chunk must be 1 to 10000"));
  EXPECT_THAT(run({"batch", folder.string()}).err, HasSubstr("directory"));
}

}  // namespace
}  // namespace handoff::tests
