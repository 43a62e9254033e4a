#include "support/command_line.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

namespace example {

namespace {

// Reads all of `text` as a number within the limits.
template <typename Number>
bool read_number(std::string_view text, Number least, Number most, Number& number) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !(value >= least && value <= most)) return false;
  number = value;
  return true;
}

}  // namespace

void CommandLine::add(std::string_view name, std::string_view meaning, std::uint64_t& value,
                      std::uint64_t least, std::uint64_t most) {
  options_.push_back({.name = name,
                      .meaning = meaning,
                      .allowed = fmt::format("a whole number from {} to {}", least, most),
                      .by_default = fmt::format("{}", value),
                      .set = [=, &value](std::string_view text) {
                        return read_number(text, least, most, value);
                      }});
}

void CommandLine::add(std::string_view name, std::string_view meaning, double& value, double least,
                      double most) {
  options_.push_back({.name = name,
                      .meaning = meaning,
                      .allowed = fmt::format("a number from {} to {}", least, most),
                      .by_default = fmt::format("{}", value),
                      .set = [=, &value](std::string_view text) {
                        return read_number(text, least, most, value);
                      }});
}

void CommandLine::add(std::string_view name, std::string_view meaning, std::string& value,
                      std::vector<std::string_view> allowed) {
  std::string list;
  for (const auto word : allowed)
    list += list.empty() ? fmt::format("{}", word) : fmt::format(" or {}", word);
  options_.push_back({.name = name,
                      .meaning = meaning,
                      .allowed = list,
                      .by_default = value,
                      .set = [allowed = std::move(allowed), &value](std::string_view text) {
                        if (std::ranges::find(allowed, text) == allowed.end()) return false;
                        value = text;
                        return true;
                      }});
}

void CommandLine::add(std::string_view name, std::string_view meaning, std::string& value,
                      std::string_view allowed,
                      std::function<bool(std::string_view text)> is_allowed) {
  options_.push_back({.name = name,
                      .meaning = meaning,
                      .allowed = std::string(allowed),
                      .by_default = value,
                      .set = [is_allowed = std::move(is_allowed), &value](std::string_view text) {
                        if (!is_allowed(text)) return false;
                        value = text;
                        return true;
                      }});
}

std::optional<int> CommandLine::read(int count, char** values) {
  if (const auto mistake = read(std::vector<std::string_view>(values + 1, values + count))) {
    fmt::print(stderr, "{}: {}\nTry: {} --help\n", program_, *mistake, program_);
    return 2;
  }
  if (!wants_help_) return {};
  fmt::print("{}", help_text());
  return 0;
}

CommandLine::Mistake CommandLine::read(const std::vector<std::string_view>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto argument = arguments[i];
    const bool is_help = argument == "--help" || argument == "-h";
    wants_help_ |= is_help;
    is_test_ |= argument == "--test";
    if (is_help || argument == "--test") continue;

    const auto equals = argument.find('=');
    const auto* const option = find(argument.substr(0, equals));
    if (option == nullptr) return fmt::format("there is no option {}", argument);
    const bool is_attached = equals != std::string_view::npos;
    if (!is_attached && i + 1 == arguments.size()) {
      return fmt::format("{} needs a value, as in {} {}", option->name, option->name,
                         option->by_default);
    }
    const auto value = is_attached ? argument.substr(equals + 1) : arguments[++i];
    if (!option->set(value)) {
      return fmt::format("{} must be {}, got \"{}\"", option->name, option->allowed, value);
    }
  }
  return {};
}

const CommandLine::Option* CommandLine::find(std::string_view name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

std::string CommandLine::help_text() const {
  std::size_t widest = 0;
  for (const auto& option : options_) widest = std::max(widest, option.name.size() + 6);
  std::string text = fmt::format("{}: {}\n\nUsage: {} [options]\n\n", program_, about_, program_);
  for (const auto& option : options_) {
    text += fmt::format("  {:<{}}  {}\n  {:<{}}    {}; {} if not given\n",
                        fmt::format("{} VALUE", option.name), widest, option.meaning, "", widest,
                        option.allowed, option.by_default);
  }
  text += fmt::format("  {:<{}}  a short run that checks itself\n", "--test", widest);
  text += fmt::format("  {:<{}}  this text\n", "-h, --help", widest);
  if (!note_.empty()) text += fmt::format("\n{}\n", note_);
  text += "\nExamples:\n";
  widest = 0;
  for (const auto& example : examples_) widest = std::max(widest, example.command.size());
  for (const auto& example : examples_) {
    text += fmt::format("  {:<{}}  {}\n", example.command, widest, example.shows);
  }
  return text +
         "\nExit status: 0 if everything is accounted for, 1 if not, 2 for a wrong option.\n";
}

}  // namespace example
