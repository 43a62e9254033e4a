// handoff serve: the HTTP API of a store.
#include "server/serve.hpp"

#include <csignal>

#include "cli/commands.hpp"
#include "cli/server_config.hpp"
#include "cli/session.hpp"
#include "handoff/signals.hpp"
#include "server/web/web_files.hpp"

namespace handoff::cli {

namespace {

using server::Config;

struct Options {
  ServerFlags flags;
  bool only_checks = false;
};

void welcome(Session& session, const server::Listening& listening, const Config& config) {
  if (!session.talk.is_terminal()) return;  // The log says it.
  Output& talk = session.talk;
  const std::string token = listening.needs_token ? " -H 'Authorization: Bearer <token>'" : "";
  talk.line("\n{} on {}\n", talk.paint(Colour::bold, "handoff"),
            talk.paint(Colour::green, listening.url));
  if (server::web_files().empty()) {
    talk.line("  dashboard  none: it was built without npm (make deps build)");
  } else {
    talk.line("  dashboard  {}/", listening.url);
  }
  talk.line("  store      {}", config.store);
  talk.line("  queues     {}/v1/queues", listening.url);
  talk.line("  metrics    {}/metrics\n", listening.url);
  talk.line(
      "Hand in a task:\n\n  curl {}/v1/tasks{} -H 'Content-Type: application/json' \\\n    -d "
      "'{{\"queue\":\"email\",\"kind\":\"welcome\",\"payload\":{{\"to\":\"new@example.org\"}}}}'\n",
      listening.url, token);
  talk.flush();
}

struct CheckedJson {
  bool ok = true;
  std::string store;
  std::string listen;
  bool tls = false;
};
BOOST_DESCRIBE_STRUCT(CheckedJson, (), (ok, store, listen, tls))

Exit check(Session& session, const Config& config) {
  if (const auto good = server::check_to_serve(config); !good) {
    throw Failure(Exit::usage, good.error());
  }
  const std::string listen = fmt::format("{}:{}", config.address, config.port);
  if (session.is_json) {
    session.out.json(CheckedJson{
        .store = config.store, .listen = listen, .tls = !config.tls_certificate.empty()});
  } else {
    session.out.line("the configuration is good: {} on {}", config.store, listen);
  }
  return Exit::ok;
}

Exit run(Session& session, const Options& options) {
  const Config config = server_config(session, options.flags);
  if (const std::string store = store_elsewhere(); !store.empty() && !session.is_store_given) {
    session.say("HANDOFF_STORE is {}, which the other commands ask; this serves {}", store,
                config.store);
  }
  if (options.only_checks) return check(session, config);
  const std::stop_token stop = stop_on_signals(SIGTERM, SIGINT);
  try {
    server::serve(config, stop, [&](const server::Listening& listening) {
      if (session.is_json) session.out.line("{{\"url\":\"{}\"}}", listening.url);
      session.out.flush();
      welcome(session, listening, config);
    });
  } catch (const std::runtime_error& error) {
    throw Failure(Exit::unavailable, error.what());
  }
  return Exit::ok;
}

}  // namespace

void add_serve(Command& program) {
  auto options = std::make_shared<Options>();
  Command& command =
      program.add("serve", "Serves the HTTP API of a store, until SIGTERM or Ctrl-C.");
  command.option("--config FILE", options->flags.config,
                 "Settings as TOML; handoff.toml, if it is here and no other is named");
  command.flag("--check", options->only_checks,
               "Only say whether the configuration is good: all but whether the port is free");
  command.flag("--demo", options->flags.has_demo,
               "With a shop that hands in tasks and a worker that does them; in memory, unless a "
               "store is named");
  const auto keys = server::config_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name == "store") continue;  // All commands have it.
    command.option(fmt::format("{} {}", server_flag(keys[i].name), keys[i].value),
                   options->flags.values[i], std::string(keys[i].meaning));
  }
  command.store_is(
      "sqlite:<path>, or memory: (gone at the end); otherwise HANDOFF_STORE, or sqlite:handoff.db");
  command.note(
      "Each can be set by a flag, by the environment (HANDOFF_LISTEN=127.0.0.1:9000) or in the "
      "file, in that precedence.");
  command.example("handoff serve", "http://127.0.0.1:8077, tasks in handoff.db");
  command.example("handoff serve --demo", "something to look at");
  command.example("handoff serve --store sqlite:/var/lib/jobs.db --listen 127.0.0.1:9000",
                  "another file, another port");
  command.example("handoff serve --config /etc/handoff.toml --check", "is the file good?");
  command.runs([options](Session& session) { return run(session, *options); });
}

}  // namespace handoff::cli
