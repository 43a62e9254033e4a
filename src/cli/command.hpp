// The commands and their options: a thin layer over CLI11, which only command.cpp has to compile.
//
//   void add_pause(Command& program) {
//     auto options = std::make_shared<Options>();
//     Command& command = program.add("pause", "Tasks of a queue wait until it is resumed.");
//     command.argument("QUEUE", options->queue, "Which one");
//     command.option("--for TIME", options->time, "How long");
//     command.example("handoff pause email", "nothing of it is begun any more");
//     command.runs([options](Session& session) { return pause(session, *options); });
//   }
//
// A command whose `runs` is set has --store, --json and --help besides. What the options are kept in must live as long as the program:
// the function that runs holds it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/values.hpp"

namespace handoff::cli {

struct Session;

enum class Need { required, optional };
// What --json prints: said in the help of the command.
enum class JsonOutput { document, lines };

class Command {
 public:
  using Run = std::function<Exit(Session&)>;
  struct Parts;

  explicit Command(std::unique_ptr<Parts> parts);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // A command of this one. `group` is the heading under which its parent lists it.
  Command& add(std::string name, std::string about, std::string group = "Commands");

  // "-q,--queue NAME": its names, then what stands for its value.
  template <typename T>
  void option(std::string_view names, T& value, std::string meaning) {
    add_option(names, std::move(meaning), reader_of(value, takes_many<T>), takes_many<T>);
  }
  // The value may be left out: it is `by_default` then.
  template <typename T>
  void option_or(std::string_view names, T& value, std::string by_default, std::string meaning) {
    has_default(names, std::move(by_default));
    option(names, value, std::move(meaning));
  }
  template <typename T>
  void argument(std::string_view name, T& value, std::string meaning, Need need = Need::required) {
    add_argument(name, std::move(meaning), reader_of(value, takes_many<T>), takes_many<T>, need);
  }
  void flag(std::string_view names, bool& value, std::string meaning);
  // All that follows `--`.
  void rest(std::vector<std::string>& rest);

  void example(std::string command, std::string shows);
  void note(std::string text);
  // Of a command that does not ask servers: what its --store may be, instead of what it may be elsewhere.
  void store_is(std::string meaning);
  void runs(Run run, JsonOutput json = JsonOutput::document);

 private:
  friend class CommandLine;
  friend class Reading;
  // Takes what was given; gives what is wrong with it.
  using Reader = std::function<ReadValue(const std::vector<std::string>& texts)>;

  template <typename T>
  static Reader reader_of(T& value, bool many) {
    return [&value, many](const std::vector<std::string>& texts) -> ReadValue {
      for (std::size_t i = 0; i < (many ? texts.size() : 1); ++i) {
        if (auto read = read_value(texts[i], value); !read) return read;
      }
      return {};
    };
  }
  void add_option(std::string_view names, std::string meaning, Reader reader, bool takes_many);
  void add_argument(std::string_view name, std::string meaning, Reader reader, bool takes_many,
                    Need need);
  void has_default(std::string_view names, std::string by_default);

  std::unique_ptr<Parts> parts_;
};

// The whole program.
class CommandLine {
 public:
  // `about` is what `handoff --help` begins with, `footer` what it ends with.
  CommandLine(std::string name, std::string version, std::string about, std::string footer);
  ~CommandLine();

  Command& program() { return *program_; }
  // Reads the arguments and runs the command they name. Throws Failure if they make no sense.
  Exit run(Session& session, std::vector<std::string> arguments);

 private:
  std::unique_ptr<Command> program_;
};

}  // namespace handoff::cli
