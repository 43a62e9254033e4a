// Commands about queues, schedules, workflows, and the health of it all.
#include <fmt/format.h>

#include "cli/program.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class QueueCommands : public CliTest {};

TEST_F(QueueCommands, QueuesHasATableOfAllAndTheSettingsOfOne) {
  enqueue("k", {"--queue", "email"});
  EXPECT_THAT(run({"queues"}).out, HasSubstr("email"));
  const std::string one = run({"queues", "email"}).out;
  EXPECT_THAT(one, HasSubstr("--capacity "));
  EXPECT_THAT(one, HasSubstr("100,000"));
  const auto json = json_of(run({"queues", "--json"}).out);
  EXPECT_EQ(text_at(json, "name"), "email");
  EXPECT_EQ(json.root().member("counts")->member("ready")->signed_integer(), 1);
  EXPECT_EQ(run({"queues", "e mail"}).code, 2);
}

TEST_F(QueueCommands, SetChangesWhatIsNamed) {
  const Ended ended = run({"queues",
                           "set",
                           "email",
                           "--capacity",
                           "7",
                           "--rate",
                           "300/m",
                           "--burst",
                           "3",
                           "--concurrency",
                           "2",
                           "--group-concurrency",
                           "1",
                           "--lease-for",
                           "1m",
                           "--max-attempts",
                           "4",
                           "--backoff",
                           "exponential:2s:1h",
                           "--ageing",
                           "1h",
                           "--keep-done",
                           "2d",
                           "--keep-dead",
                           "3d",
                           "--keep-count",
                           "99",
                           "--when-full",
                           "block",
                           "--block-for",
                           "1s",
                           "--capacity-bytes",
                           "5000"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const QueueSettings set = open().queue("email").settings;
  EXPECT_EQ(set.capacity, 7);
  EXPECT_EQ(set.rate, 5);
  EXPECT_EQ(set.when_full, WhenFull::block);
  EXPECT_EQ(set.keep_dead, std::chrono::days(3));
  EXPECT_EQ(set.retry, (RetryPolicy{ExponentialBackoff{.base = 2s, .max = 1h}}));
  ASSERT_EQ(run({"queues", "set", "email", "--backoff", "fixed:5s"}).code, 0);
  EXPECT_EQ(open().queue("email").settings.capacity, 7);
  const auto json = json_of(run({"queues", "email", "--json"}).out);
  EXPECT_EQ(json.root().member("settings")->member("rate")->string(), "5/s");
}

TEST_F(QueueCommands, SetSaysWhereTasksAreDeliveredAndNobodyIsShownTheSecret) {
  write("secret", "s3cret\n");
  const Ended ended =
      run({"queues", "set", "email", "--deliver-to", "http://127.0.0.1:9000/a", "--deliver-timeout",
           "3s", "--deliver-secret-file", path("secret"), "--burst-for", "1m"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Tasks here = tasks::open("sqlite:" + path("tasks.db")).value();  // Also if a server has it.
  EXPECT_EQ(here.queue("email").settings.deliver_to.secret, "s3cret");
  const std::string people = run({"queues", "email"}).out;
  EXPECT_THAT(people, HasSubstr("http://127.0.0.1:9000/a"));
  const std::string all = run({"queues", "--json"}).out;
  EXPECT_THAT(people + all, Not(HasSubstr("s3cret")));
  const auto json = json_of(all);
  const auto settings = json.root().member("settings").value();
  EXPECT_EQ(settings.member("burst_for")->string(), "1m");
  EXPECT_EQ(settings.member("deliver_to")->member("url")->string(), "http://127.0.0.1:9000/a");
  EXPECT_EQ(settings.member("deliver_to")->member("timeout")->string(), "3s");
  ASSERT_EQ(run({"queues", "set", "email", "--capacity", "7"}).code, 0);
  EXPECT_TRUE(open().queue("email").settings.deliver_to.is_on());
  ASSERT_EQ(run({"queues", "set", "email", "--deliver-to", "none"}).code, 0);
  EXPECT_FALSE(open().queue("email").settings.deliver_to.is_on());
  EXPECT_THAT(run({"queues", "--json"}).out, Not(HasSubstr("deliver_to")));
}

TEST_F(QueueCommands, SetNamesMistakesOfDeliveries) {
  const auto error = [this](std::vector<std::string> options) {
    options.insert(options.begin(), {"queues", "set", "q"});
    const Ended ended = run(options);
    EXPECT_EQ(ended.code, 2) << ended.err;
    return ended.err;
  };
  write("empty", "\n");
  const std::string url = "http://127.0.0.1:9000/";
  EXPECT_THAT(error({"--deliver-to", "ftp://x"}), HasSubstr("deliver_to.url must be"));
  EXPECT_THAT(error({"--deliver-timeout", "3s"}), HasSubstr("need --deliver-to"));
  EXPECT_THAT(error({"--deliver-to", "none", "--deliver-timeout", "3s"}), HasSubstr("need"));
  EXPECT_THAT(error({"--deliver-to", url, "--deliver-secret-file", path("empty")}),
              HasSubstr("--deliver-secret-file"));
  EXPECT_THAT(error({"--deliver-to", url, "--deliver-timeout", "2h"}),
              HasSubstr("deliver_to.timeout must be"));
  EXPECT_EQ(run({"queues", "set", "handoff.notify", "--deliver-to", url}).code, 2);
}

TEST_F(QueueCommands, SetNamesMistakes) {
  const auto error = [this](const std::string& option, const std::string& value) {
    const Ended ended = run({"queues", "set", "q", option, value});
    EXPECT_EQ(ended.code, 2) << option;
    return ended.err;
  };
  EXPECT_THAT(error("--rate", "fast"), HasSubstr("--rate must be a rate"));
  EXPECT_THAT(error("--backoff", "slow"), HasSubstr("--backoff must be sidekiq"));
  EXPECT_THAT(error("--when-full", "blok"), HasSubstr("did you mean \"block\"?"));
  EXPECT_THAT(error("--capacity", "0"), HasSubstr("capacity must be"));
  EXPECT_THAT(error("--lease-for", "1ms"), HasSubstr("lease_for must be"));
}

TEST_F(QueueCommands, PausedQueuesBeginNothing) {
  const std::string id = enqueue("k");
  EXPECT_EQ(run({"pause", "default"}).code, 0);
  EXPECT_EQ(work("true").code, 0);
  EXPECT_EQ(task(id).state, TaskState::ready);
  EXPECT_THAT(run({"queues"}).out, HasSubstr("paused"));
  EXPECT_EQ(text_at(json_of(run({"resume", "default", "--json"}).out), "paused"), "false");
  work("true");
  EXPECT_EQ(task(id).state, TaskState::done);
}

TEST_F(QueueCommands, PurgeWantsToBeMeant) {
  enqueue("k");
  work("true");
  const Ended unsure = run({"purge", "default", "--state", "done"});
  EXPECT_EQ(unsure.code, 2);
  EXPECT_THAT(unsure.err, HasSubstr("--yes"));
  EXPECT_EQ(open().queue("default").count(TaskState::done), 1);
  EXPECT_EQ(run({"purge", "default", "--state", "done", "--yes"}).out, "1\n");
  EXPECT_EQ(text_at(json_of(run({"purge", "default", "-s", "dead", "-y", "--json"}).out), "count"),
            "0");
  EXPECT_THAT(run({"purge", "default", "--yes"}).err, HasSubstr("--state is required"));
  EXPECT_EQ(run({"purge", "default", "--state", "running", "--yes"}).code, 2);
}

// -- Schedules ------------------------------------------------------------------------------------

TEST_F(QueueCommands, SchedulesAreMadeShownPausedAndRemoved) {
  const Ended put = run({"schedule", "put", "nightly", "0 3 * * *", "report", R"({"a":1})",
                         "--queue", "reports", "--timezone", "Europe/Berlin", "--missed", "skip"});
  ASSERT_EQ(put.code, 0) << put.err;
  EXPECT_THAT(put.err, HasSubstr("due in "));
  EXPECT_THAT(run({"schedule", "ls"}).out, HasSubstr("0 3 * * *"));
  const auto json = json_of(run({"schedule", "show", "nightly", "--json"}).out);
  EXPECT_EQ(text_at(json, "missed"), "skip");
  EXPECT_EQ(json.root().member("task")->member("queue")->string(), "reports");
  EXPECT_THAT(run({"schedule", "show", "nightly"}).out, HasSubstr("Europe/Berlin"));
  EXPECT_EQ(run({"schedule", "pause", "nightly"}).code, 0);
  EXPECT_TRUE(open().schedule("nightly")->is_paused);
  EXPECT_EQ(run({"schedule", "resume", "nightly"}).code, 0);
  EXPECT_EQ(text_at(json_of(run({"schedule", "rm", "nightly", "--json"}).out), "name"), "nightly");
  EXPECT_EQ(run({"schedule", "ls", "--json"}).out, "");
}

TEST_F(QueueCommands, SchedulesNameMistakes) {
  EXPECT_THAT(run({"schedule", "put", "n", "0 25 * * *", "k"}).err, HasSubstr("hour"));
  EXPECT_EQ(run({"schedule", "put", "n", "0 25 * * *", "k"}).code, 2);
  EXPECT_THAT(run({"schedule", "put", "n", "@daily", "k", "--timezone", "Europe/Berln"}).err,
              HasSubstr("Europe/Berlin"));
  EXPECT_THAT(run({"schedule", "put", "n", "@daily", "k", "--missed", "never"}).err,
              HasSubstr("--missed must be one of skip, once, all"));
  EXPECT_THAT(run({"schedule", "put", "n"}).err, HasSubstr("is required"));
}

// -- Workflows ------------------------------------------------------------------------------------

constexpr auto checkout = R"({"name": "checkout", "steps": [
    {"name": "charge", "task": {"queue": "q", "kind": "charge"}},
    {"name": "receipt", "after": ["charge"], "task": {"queue": "q", "kind": "receipt"}}]})";

TEST_F(QueueCommands, WorkflowsRunToTheirEnd) {
  write("checkout.json", checkout);
  const Ended started = run({"workflow", "start", "checkout.json"});
  ASSERT_EQ(started.code, 0) << started.err;
  const std::string id = started.out.substr(0, 36);
  EXPECT_THAT(run({"workflow", "ls"}).out, HasSubstr(id));
  work("echo 1", {"--queue", "q"});
  const Ended watched = run({"workflow", "watch", id});
  EXPECT_EQ(watched.code, 0);
  EXPECT_THAT(watched.out, HasSubstr("receipt"));
  const auto json = json_of(run({"workflow", "show", id, "--json"}).out);
  EXPECT_EQ(text_at(json, "state"), "done");
  EXPECT_EQ(json.root().member("steps")->size(), 2u);
}

TEST_F(QueueCommands, WorkflowsCanBeCancelledAndRetried) {
  const auto started = json_of(run({"workflow", "start", "--json"}, checkout).out);
  const std::string id = text_at(started, "id");
  EXPECT_EQ(started.root().member("tasks")->size(), 2u);
  EXPECT_EQ(run({"workflow", "cancel", id}).code, 0);
  EXPECT_EQ(run({"workflow", "watch", id}).code, 1);
  EXPECT_EQ(run({"workflow", "retry", id}).out, "1\n");  // The other comes back with it.
  work("true", {"--queue", "q"});
  EXPECT_EQ(run({"workflow", "watch", id, "--json"}).code, 0);
  EXPECT_EQ(json_lines(run({"workflow", "ls", "--json"}).out).size(), 1u);
}

TEST_F(QueueCommands, WorkflowsNameMistakes) {
  const auto error = [this](const std::string& text) {
    const Ended ended = run({"workflow", "start"}, text);
    EXPECT_EQ(ended.code, 2) << ended.out;
    return ended.err;
  };
  EXPECT_THAT(error("{"), StartsWith("handoff: the workflow"));
  EXPECT_THAT(error(R"({"step": []})"), HasSubstr("step"));
  EXPECT_THAT(
      error(R"({"steps": [{"name": "a", "after": ["b"], "task": {"queue": "q", "kind": "k"}}]})"),
      HasSubstr("b"));
  EXPECT_THAT(
      error(R"({"steps": [{"name": "a", "compensate": {}, "task": {"queue": "q", "kind": "k"}}]})"),
      HasSubstr("not supported yet"));
}

// -- top and doctor -------------------------------------------------------------------------------

TEST_F(QueueCommands, TopPrintsWhatThereIsWithoutATerminal) {
  enqueue("k", {"--queue", "email"});
  const Ended ended = run({"top"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("email"));
  EXPECT_THAT(ended.out, HasSubstr("1 unfinished"));
  const auto json = json_of(run({"top", "--json"}).out);
  EXPECT_EQ(json.root().member("queues")->size(), 1u);
  EXPECT_EQ(run({"top", "--interval", "1ms"}).code, 2);
}

TEST_F(QueueCommands, TopIsLiveOnATerminalUntilQIsPressed) {
  enqueue("k", {"--queue", "email"});
  Terminal terminal({"top", "--interval", "100ms"}, store);
  terminal.wait_for("DONE/S");
  terminal.wait_for("in 0.0/s");
  terminal.type("q");
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.shown(), HasSubstr("email"));
  EXPECT_THAT(terminal.shown(), ::testing::EndsWith("\x1b[?7h\x1b[?25h\x1b[?1049l"));
}

TEST_F(QueueCommands, TopPutsTheTerminalBackWhenASignalEndsIt) {
  enqueue("k");
  Terminal terminal({"top"}, store);
  terminal.wait_for("DONE/S");
  terminal.wait_until_it_waits();
  terminal.type("\x03");  // Ctrl-C.
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.shown(), ::testing::EndsWith("\x1b[?7h\x1b[?25h\x1b[?1049l"));
}

TEST_F(QueueCommands, PurgeAsksOnATerminal) {
  enqueue("k");
  Terminal no({"purge", "default", "--state", "ready"}, store);
  no.wait_for("Forget 1 ready tasks of queue default? [y/N]");
  no.type("n\n");
  EXPECT_EQ(no.wait(), 1);
  Terminal yes({"purge", "default", "--state", "ready"}, store);
  yes.wait_for("[y/N]");
  yes.type("y\n");
  EXPECT_EQ(yes.wait(), 0);
  EXPECT_EQ(open().queue("default").unfinished(), 0);
}

TEST_F(QueueCommands, ColoursAreForTerminalsThatWantThem) {
  enqueue("k");
  Terminal coloured({"queues"}, store);
  EXPECT_EQ(coloured.wait(), 0);
  EXPECT_THAT(coloured.shown(), HasSubstr("\x1b[1mQUEUE"));
  Terminal plain({"queues"}, store, {"NO_COLOR=1"});
  EXPECT_EQ(plain.wait(), 0);
  EXPECT_THAT(plain.shown(), Not(HasSubstr("\x1b")));
}

TEST_F(QueueCommands, DoctorIsContentWithAHealthyStore) {
  enqueue("k");
  const Ended ended = run({"doctor"});
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_THAT(ended.out, Not(HasSubstr("FAIL")));
  EXPECT_THAT(ended.out, HasSubstr("nobody takes them"));
  for (const auto& each : json_lines(run({"doctor", "--json"}).out)) {
    EXPECT_THAT(text_at(each, "verdict"), ::testing::AnyOf("ok", "warn"));
  }
}

TEST_F(QueueCommands, DoctorLooksAtTheConfigurationOfTheServer) {
  enqueue("k");
  write("c.toml", "lisen = \"127.0.0.1:1\"\n");
  const Ended typo = run({"doctor", "--config", path("c.toml")});
  EXPECT_EQ(typo.code, 1);
  EXPECT_THAT(typo.out, HasSubstr("FAIL  config"));
  EXPECT_THAT(typo.out, HasSubstr("did you mean"));
  EXPECT_THAT(typo.out, HasSubstr("handoff serve --check"));
  write("c.toml", "listen = \"127.0.0.1:1\"\n");
  const Ended good = run({"doctor", "--config", path("c.toml")});
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("listen on 127.0.0.1:1"));
  const Ended environment = run({"doctor"}, "", {"HANDOFF_LISTN=127.0.0.1:1"});
  EXPECT_EQ(environment.code, 1);
  EXPECT_THAT(environment.out, HasSubstr("HANDOFF_LISTEN"));
}

TEST_F(QueueCommands, DoctorSaysWhatIsWrong) {
  const Ended missing = run({"doctor"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.out, HasSubstr("FAIL  file"));
  EXPECT_FALSE(std::filesystem::exists(path("tasks.db")));
  write("tasks.db", std::string(8192, 'x'));
  const Ended broken = run({"doctor"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.out, HasSubstr("FAIL  store"));
}

TEST_F(QueueCommands, DoctorWarnsIfOthersMayReadTheFile) {
  using std::filesystem::perms;
  ASSERT_EQ(run({"enqueue", "k"}).code, 0);
  const tasks::Tasks keeps_it_open = open();
  for (const char* const each : {"tasks.db", "tasks.db-wal", "tasks.db-shm"}) {
    EXPECT_EQ(std::filesystem::status(path(each)).permissions(),
              perms::owner_read | perms::owner_write)
        << each;
  }
  EXPECT_THAT(run({"doctor"}).out, Not(HasSubstr("chmod")));
  std::filesystem::permissions(path("tasks.db"), perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("others may read it"));
  const tasks::Tasks opened_again = open();  // What is there keeps what it has.
  EXPECT_EQ(std::filesystem::status(path("tasks.db")).permissions() & perms::others_read,
            perms::others_read);
}

}  // namespace
}  // namespace handoff::tests
