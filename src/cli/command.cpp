#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/command_parts.hpp"
#include "cli/session.hpp"
#include "tasks/nearest.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

namespace {

using Parts = Command::Parts;

std::string placeholder_of(std::string_view names) {
  const auto space = names.find(' ');
  return space == std::string_view::npos ? "" : std::string(names.substr(space + 1));
}

std::string without_placeholder(std::string_view names) {
  return std::string(names.substr(0, names.find(' ')));
}

// "--queue" of "-q,--queue".
std::string long_name(std::string_view names) {
  return std::string(names.substr(names.find("--")));
}

Failure usage_failure(const Parts& command, const std::string& message) {
  return Failure(Exit::usage, fmt::format("{}\nTry: {} --help", message, command.path));
}

// What CLI11 calls with the texts that were given.
template <typename Reader>
CLI::callback_t callback(const Parts& command, std::string name, Reader reader) {
  return
      [&command, name = std::move(name), reader = std::move(reader)](const CLI::results_t& texts) {
        if (const auto read = reader(texts); !read) {
          throw usage_failure(command, name + " " + read.error());
        }
        return true;
      };
}

std::shared_ptr<CLI::App> make_app(const std::string& about, const std::string& name) {
  auto app = std::make_shared<CLI::App>(about, name);
  app->set_help_flag("-h,--help", "This text");
  app->require_subcommand(0, 1);  // So that an argument may be called like a command.
  app->allow_extras();            // Unknown ones are ours to name.
  return app;
}

}  // namespace

// -- Declaring ------------------------------------------------------------------------------------

Command::Command(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Command::~Command() = default;

Command& Command::add(std::string name, std::string about, std::string group) {
  auto parts = std::make_unique<Parts>();
  parts->parent = parts_.get();
  parts->app = make_app(about, name);
  parts->path = parts_->path + " " + name;
  parts->about = std::move(about);
  parts->group = std::move(group);
  parts_->app->add_subcommand(parts->app);
  parts_->children.push_back(std::make_unique<Command>(std::move(parts)));
  return *parts_->children.back();
}

void Command::add_option(std::string_view names, std::string meaning, Reader reader,
                         bool takes_many) {
  const std::string all = without_placeholder(names);
  CLI::Option* const option =
      parts_->app->add_option(all, callback(*parts_, long_name(all), std::move(reader)), meaning);
  option->expected(1);
  if (takes_many) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  parts_->options.push_back({all, placeholder_of(names), std::move(meaning)});
}

void Command::add_argument(std::string_view name, std::string meaning, Reader reader,
                           bool takes_many, Need need) {
  CLI::Option* const option = parts_->app->add_option(
      std::string(name), callback(*parts_, std::string(name), std::move(reader)), meaning);
  if (takes_many) {
    option->expected(1, CLI::detail::expected_max_vector_size);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args();
  }
  if (need == Need::required) option->required();
  const std::string shape = fmt::format("{}{}", name, takes_many ? "..." : "");
  parts_->usage_of_arguments += need == Need::required ? " " + shape : fmt::format(" [{}]", shape);
  parts_->arguments.push_back({std::string(name), "", std::move(meaning)});
}

void Command::flag(std::string_view names, bool& value, std::string meaning) {
  parts_->app->add_flag(std::string(names), value, meaning);
  parts_->options.push_back({std::string(names), "", std::move(meaning)});
}

void Command::has_default(std::string_view names, std::string by_default) {
  parts_->defaults[long_name(without_placeholder(names))] = std::move(by_default);
}

void Command::rest(std::vector<std::string>& rest) { parts_->rest = &rest; }

void Command::example(std::string command, std::string shows) {
  parts_->examples.push_back({std::move(command), std::move(shows)});
}

void Command::note(std::string text) { parts_->note = std::move(text); }

void Command::store_is(std::string meaning) { parts_->store = std::move(meaning); }

void Command::runs(Run run, JsonOutput json) {
  parts_->run = std::move(run);
  parts_->json = json;
}

// -- Reading --------------------------------------------------------------------------------------

class Reading {
 public:
  Reading(Parts& program, Session& session) : program_(program), session_(session) {
    add_common(program_);
  }

  Exit run(std::vector<std::string> arguments) {
    take_rest(arguments);
    fill_in_defaults(arguments);
    std::ranges::reverse(arguments);  // As CLI11 wants them.
    try {
      program_.app->parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return help(chosen());
    } catch (const CLI::RequiredError& error) {
      refuse_unknown(program_);
      throw missing(chosen(), error);
    } catch (const CLI::ParseError& error) {
      throw usage_failure(chosen(), error.what());
    }
    refuse_unknown(program_);
    return run(chosen());
  }

 private:
  Exit run(Parts& command) {
    if (version_) return version();
    if (command.run) return command.run(session_);
    if (command.parent == nullptr) {
      session_.talk.write(help_of(command, children_of(command)));
      return Exit::usage;
    }
    std::vector<std::string> names;
    for (const Parts* const each : children_of(command)) names.push_back(each->app->get_name());
    throw usage_failure(command,
                        fmt::format("{} needs one of {}", command.path, fmt::join(names, ", ")));
  }

  Exit version() {
    session_.out.line("{}", program_.version);
    return Exit::ok;
  }

  Exit help(const Parts& command) {
    session_.out.write(help_of(command, children_of(command)));
    return Exit::ok;
  }

  // What every command has.
  void add_common(Parts& command) {
    for (const auto& each : command.children) add_common(*each->parts_);
    CLI::App& app = *command.app;
    const bool is_program = command.parent == nullptr;
    if (!command.run && !is_program) return;
    const auto take_store = [this](const std::string& store) {
      session_.store = store;
      session_.is_store_given = true;
    };
    app.add_option_function<std::string>("--store", take_store);
    app.add_option("--token-file", session_.token_file);
    app.add_option("--ca-file", session_.ca_file);
    app.add_flag("--json", session_.is_json);
    const bool is_lines = command.json == JsonOutput::lines;
    command.options.push_back({"--store", "STORE", command.store});
    if (is_program) {
      command.options.push_back({"--token-file", "FILE",
                                 "The token that the server wants is in its first line; otherwise "
                                 "HANDOFF_TOKEN_FILE, or HANDOFF_TOKEN"});
      command.options.push_back(
          {"--ca-file", "FILE", "Whom to trust over https; otherwise HANDOFF_CA_FILE"});
    }
    command.options.push_back({"--json", "",
                               is_program ? "What is printed for programs to read"
                               : is_lines ? "One JSON document a line (NDJSON)"
                                          : "One JSON document"});
    command.options.push_back({"-h,--help", "", "This text"});
    if (!is_program) return;
    app.add_flag("--version", version_);
    command.options.push_back({"--version", "", "The version of this program"});
  }

  static std::vector<const Parts*> children_of(const Parts& command) {
    std::vector<const Parts*> children;
    for (const auto& each : command.children) children.push_back(each->parts_.get());
    return children;
  }

  // The command that the arguments name.
  Parts& chosen() {
    Parts* command = &program_;
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const auto& each : command->children) {
        if (!each->parts_->app->parsed()) continue;
        command = each->parts_.get();
        goes_on = true;
        break;
      }
    }
    return *command;
  }

  // The first argument that names a command of the program.
  const Parts* named(const std::vector<std::string>& arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& each_argument = arguments[i];
      if (each_argument == "--store" || each_argument == "--token-file" ||
          each_argument == "--ca-file") {
        ++i;
      }
      if (i >= arguments.size() || arguments[i].starts_with('-')) continue;
      for (const auto& each : program_.children) {
        if (each->parts_->app->get_name() == arguments[i]) return each->parts_.get();
      }
      return nullptr;
    }
    return nullptr;
  }

  void take_rest(std::vector<std::string>& arguments) const {
    const Parts* const command = named(arguments);
    const auto mark = std::ranges::find(arguments, "--");
    if (command == nullptr || command->rest == nullptr || mark == arguments.end()) return;
    command->rest->assign(mark + 1, arguments.end());
    arguments.erase(mark, arguments.end());
  }

  // `--wait` alone becomes `--wait=<default>`, unless what follows looks like a value.
  void fill_in_defaults(std::vector<std::string>& arguments) const {
    const Parts* const command = named(arguments);
    if (command == nullptr) return;
    for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
      const auto by_default = command->defaults.find(arguments[i]);
      if (by_default == command->defaults.end()) continue;
      const bool has_value = i + 1 < arguments.size() && !arguments[i + 1].empty() &&
                             arguments[i + 1][0] >= '0' && arguments[i + 1][0] <= '9';
      if (!has_value) arguments[i] += "=" + by_default->second;
    }
  }

  Failure missing(const Parts& command, const CLI::RequiredError& error) const {
    std::string what = error.what();  // "KIND is required"
    return usage_failure(command, what);
  }

  // -- What nobody knows ---------------------------------------------------------------------------

  void refuse_unknown(const Parts& command) {
    for (const std::string& each : command.app->remaining()) {
      if (each != "--") throw unknown(command, each);
    }
    for (const auto& each : command.children) {
      if (each->parts_->app->parsed()) refuse_unknown(*each->parts_);
    }
  }

  static Failure unknown(const Parts& command, const std::string& text) {
    if (text.starts_with("-")) return unknown_option(command, text);
    if (!command.children.empty()) return unknown_command(command, text);
    return usage_failure(command, fmt::format("{} is one argument too many", tasks::quoted(text)));
  }

  static Failure unknown_option(const Parts& command, const std::string& text) {
    const std::string name = text.substr(0, text.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* const each : std::as_const(*command.app).get_options()) {
      for (const std::string& known : each->get_lnames()) names.push_back("--" + known);
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    return usage_failure(command, fmt::format("there is no option {} here{}", tasks::quoted(name),
                                              tasks::did_you_mean(name, known)));
  }

  static Failure unknown_command(const Parts& command, const std::string& text) {
    std::vector<std::string> names;
    for (const auto& each : command.children) names.push_back(each->parts_->app->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    return usage_failure(command, fmt::format("there is no command {}{}", tasks::quoted(text),
                                              tasks::did_you_mean(text, known)));
  }

  Parts& program_;
  Session& session_;
  bool version_ = false;
};

CommandLine::CommandLine(std::string name, std::string version, std::string about,
                         std::string footer) {
  auto parts = std::make_unique<Parts>();
  parts->app = make_app(about, name);
  parts->about = std::move(about);
  parts->footer = std::move(footer);
  parts->version = fmt::format("{} {}", name, version);
  parts->path = std::move(name);
  program_ = std::make_unique<Command>(std::move(parts));
}

CommandLine::~CommandLine() = default;

Exit CommandLine::run(Session& session, std::vector<std::string> arguments) {
  return Reading(*program_->parts_, session).run(std::move(arguments));
}

}  // namespace handoff::cli
