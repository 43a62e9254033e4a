// handoff token: who may use a server of this store.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "handoff/tasks/time.hpp"
#include "server/auth/tokens.hpp"
#include "tasks/entropy.hpp"

namespace handoff::cli {

namespace {

constexpr auto where = "sqlite:<path>; otherwise HANDOFF_STORE, or sqlite:handoff.db";

struct CreateOptions {
  std::optional<std::string> name;
  std::string role = "produce";
  std::optional<std::chrono::milliseconds> expires_in;
};

struct MadeJson {
  std::string name;
  std::string role;
  std::string token;
};
BOOST_DESCRIBE_STRUCT(MadeJson, (), (name, role, token))

struct RevokedJson {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(RevokedJson, (), (name))

struct TokenJson {
  std::string name;
  std::string role;
  tasks::Time created_at;
  std::optional<tasks::Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(TokenJson, (), (name, role, created_at, expires_at))

server::Role role_of(std::string_view text) {
  const auto role = server::parse_role(text);
  if (!role) {
    throw Failure(Exit::usage,
                  fmt::format("--role must be produce, work or admin, got \"{}\"", text));
  }
  return *role;
}

// One that `revoke` can be given: "produce-3f9a1c". Six digits, so that people can compare it; should it be taken, they are told.
std::string name_for(server::Role role) {
  return fmt::format("{}-{:06x}", to_string(role), tasks::random_bits() & 0xffffff);
}

Exit create(Session& session, const CreateOptions& options) {
  const server::Role role = role_of(options.role);
  must_be_here(session.store, "tokens are made");
  const tasks::Tasks tasks = session.open(StoreUse::hand_in);
  tasks::TasksCore& core = tasks::TasksAccess::core(tasks);
  std::optional<tasks::Time> expires_at;
  if (options.expires_in) expires_at = core.clock().now() + *options.expires_in;
  const std::string name = options.name.value_or(name_for(role));
  const std::string token = or_fail(server::make_token(core, name, role, expires_at));
  if (session.is_json) {
    session.out.json(MadeJson{.name = name, .role = options.role, .token = token});
  } else {
    session.out.line("{}", token);
    if (!options.name) session.say("it is named \"{}\", as `handoff token revoke` wants it", name);
    session.say("this is shown once: keep it where only \"{}\" can read it", name);
  }
  return Exit::ok;
}

Exit list(Session& session) {
  must_be_here(session.store, "tokens are listed");
  const tasks::Tasks tasks = session.open();
  const auto tokens = server::list_tokens(tasks::TasksAccess::core(tasks));
  for (const tasks::TokenRow& each : tokens) {
    if (session.is_json) {
      session.out.json(TokenJson{.name = each.name,
                                 .role = each.role,
                                 .created_at = each.created_at,
                                 .expires_at = each.expires_at});
    } else {
      session.out.line("{:<24}  {:<8}  made {}{}", each.name, each.role, when(each.created_at),
                       each.expires_at ? "  ends " + tasks::to_text(*each.expires_at) : "");
    }
  }
  if (tokens.empty() && !session.is_json) {
    session.say("there are none: the server asks nobody, and listens on loopback only");
  }
  return Exit::ok;
}

Exit revoke(Session& session, const std::string& name) {
  must_be_here(session.store, "tokens are revoked");
  const tasks::Tasks tasks = session.open();
  or_fail(server::revoke_token(tasks::TasksAccess::core(tasks), name));
  if (session.is_json) {
    session.out.json(RevokedJson{name});
  } else {
    session.say("\"{}\" is let in no more", name);
  }
  return Exit::ok;
}

void add_create(Command& token) {
  auto options = std::make_shared<CreateOptions>();
  Command& command = token.add("create", "Makes a token, and shows it once.");
  command.option("--name NAME", options->name,
                 "What people call it; otherwise its role and six digits: produce-3f9a1c");
  command.option("--role ROLE", options->role,
                 "produce (hand in, look), work (also claim and report) or admin; produce");
  command.option("--expires-in TIME", options->expires_in, "How long it is good; for ever");
  command.store_is(where);
  command.example("handoff token create --role produce", "for those who hand in tasks");
  command.runs([options](Session& session) { return create(session, *options); });
}

}  // namespace

void add_token(Command& program) {
  Command& token = program.add(
      "token", "Who may use a server of this store. Without tokens, anybody on this machine.");
  add_create(token);
  Command& ls = token.add("ls", "Lists them, without their secrets.");
  ls.store_is(where);
  ls.example("handoff token ls", "names, roles, and until when they are good");
  ls.runs([](Session& session) { return list(session); }, JsonOutput::lines);
  auto name = std::make_shared<std::string>();
  Command& gone = token.add("revoke", "Lets its holder in no more, within a second.");
  gone.argument("NAME", *name, "Which one");
  gone.store_is(where);
  gone.example("handoff token revoke shop", "from now on it is refused");
  gone.runs([name](Session& session) { return revoke(session, *name); });
  token.example("handoff token create --name shop --role produce", "make one");
}

}  // namespace handoff::cli
