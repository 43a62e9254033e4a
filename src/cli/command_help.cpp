// What --help prints.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command_parts.hpp"

namespace handoff::cli {

namespace {

using Parts = Command::Parts;

std::string usage_of(const Parts& command) {
  std::string usage = command.path;
  if (!command.children.empty() && !command.run) usage += " COMMAND";
  usage += command.usage_of_arguments;
  if (!command.options.empty()) usage += " [OPTIONS]";
  if (command.rest != nullptr) usage += " -- PROGRAM [ARGUMENTS]";
  return usage;
}

std::string with_placeholder(const Parts::Entry& entry) {
  const std::string_view all = entry.names;
  const auto comma = all.find(',');
  const std::string names =
      comma == std::string_view::npos
          ? entry.names
          : fmt::format("{}, {}", all.substr(0, comma), all.substr(comma + 1));
  return entry.placeholder.empty() ? names : names + " " + entry.placeholder;
}

// A line for each: the left part, then the right one, which may go on below itself.
std::string listed(const std::vector<std::pair<std::string, std::string>>& lines) {
  constexpr std::size_t most = 30;
  std::size_t width = 0;
  for (const auto& [left, right] : lines) {
    if (left.size() <= most) width = std::max(width, left.size());
  }
  std::string text;
  for (const auto& [left, right] : lines) {
    const bool fits = left.size() <= width;
    text += fits ? fmt::format("  {:<{}}  {}\n", left, width, right)
                 : fmt::format("  {}\n  {:<{}}  {}\n", left, "", width, right);
  }
  return text;
}

std::string entries(std::string_view heading, const std::vector<Parts::Entry>& all) {
  if (all.empty()) return {};
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& each : all) lines.emplace_back(with_placeholder(each), each.meaning);
  return fmt::format("\n{}:\n{}", heading, listed(lines));
}

std::string commands(const Parts& command, const std::vector<const Parts*>& children) {
  std::vector<std::string> groups;
  for (const Parts* const each : children) {
    if (std::ranges::find(groups, each->group) == groups.end()) groups.push_back(each->group);
  }
  std::string text;
  for (const std::string& group : groups) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const Parts* const each : children) {
      if (each->group == group)
        lines.emplace_back(each->path.substr(command.path.size() + 1), each->about);
    }
    text += fmt::format("\n{}:\n{}", group, listed(lines));
  }
  return text;
}

std::string examples(const Parts& command) {
  if (command.examples.empty()) return {};
  std::string text = "\nExamples:\n";
  for (const auto& each : command.examples) {
    text += fmt::format("  {}\n      {}\n", each.command, each.shows);
  }
  return text;
}

}  // namespace

std::string help_of(const Parts& command, const std::vector<const Parts*>& children) {
  std::string text = fmt::format("{}\n\nUsage: {}\n", command.about, usage_of(command));
  text += commands(command, children);
  text += entries("Arguments", command.arguments);
  text += entries("Options", command.options);
  if (!command.note.empty()) text += fmt::format("\n{}\n", command.note);
  text += examples(command);
  if (!command.footer.empty()) text += fmt::format("\n{}\n", command.footer);
  return text;
}

}  // namespace handoff::cli
