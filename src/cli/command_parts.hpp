// What a command is made of: CLI11 reads its arguments, and its help is written from what is kept here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace CLI {
class App;
}

namespace handoff::cli {

struct Command::Parts {
  struct Entry {
    std::string names;  // "-q,--queue", or what stands for an argument.
    std::string placeholder;
    std::string meaning;
  };
  struct Example {
    std::string command;
    std::string shows;
  };

  Parts* parent = nullptr;
  std::shared_ptr<CLI::App> app;
  std::string path;  // "handoff schedule put"
  std::string about;
  std::string group;
  std::string usage_of_arguments;
  std::vector<Entry> arguments;
  std::vector<Entry> options;
  std::vector<Example> examples;
  std::string store =
      "sqlite:<path>, or a server: http://<host>:<port>; otherwise HANDOFF_STORE, or "
      "sqlite:handoff.db";  // What --store means.
  std::string note;
  std::string version;  // Of the program.
  std::string footer;
  Run run;
  JsonOutput json = JsonOutput::document;
  std::vector<std::string>* rest = nullptr;
  std::vector<std::unique_ptr<Command>> children;
  std::map<std::string, std::string> defaults;  // Of options whose value may be left out.
};

std::string help_of(const Command::Parts& command,
                    const std::vector<const Command::Parts*>& children);

}  // namespace handoff::cli
