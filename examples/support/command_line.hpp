// The command line of an example: options with limits, a help text made of them, and an answer to a mistake that names the
// option and what is allowed.
//
//   example::CommandLine line("burst", "A marketing e-mail goes out, and everybody clicks at once.");
//   line.add("--clicks", "clicks that come", clicks, 1, 1'000'000);
//   line.add_example("burst --clicks 5000", "no burst at all");
//   if (const auto status = line.read(count, values)) return *status;    // --help, or a mistake
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace example {

class CommandLine {
 public:
  CommandLine(std::string_view program, std::string_view about)
      : program_(program), about_(about) {}

  // `value` has the default, and gets what was given if that is allowed.
  void add(std::string_view name, std::string_view meaning, std::uint64_t& value,
           std::uint64_t least, std::uint64_t most);
  void add(std::string_view name, std::string_view meaning, double& value, double least,
           double most);
  void add(std::string_view name, std::string_view meaning, std::string& value,
           std::vector<std::string_view> allowed);
  // Any text for which `is_allowed` says so; `allowed` says in words which that is.
  void add(std::string_view name, std::string_view meaning, std::string& value,
           std::string_view allowed, std::function<bool(std::string_view text)> is_allowed);
  void add_example(std::string_view command, std::string_view shows) {
    examples_.push_back({command, shows});
  }
  void add_note(std::string_view note) { note_ = note; }

  // Empty: go on. Otherwise the exit status: the help text, or what was wrong, has been printed.
  std::optional<int> read(int count, char** values);
  bool is_test() const { return is_test_; }  // --test was given.

 private:
  using Mistake = std::optional<std::string>;
  struct Option {
    std::string_view name;
    std::string_view meaning;
    std::string allowed;
    std::string by_default;
    std::function<bool(std::string_view text)> set;  // False: not allowed.
  };
  struct Example {
    std::string_view command;
    std::string_view shows;
  };

  Mistake read(const std::vector<std::string_view>& arguments);
  const Option* find(std::string_view name) const;
  std::string help_text() const;

  const std::string_view program_;
  const std::string_view about_;
  std::string_view note_;
  std::vector<Option> options_;
  std::vector<Example> examples_;
  bool is_test_ = false;
  bool wants_help_ = false;
};

}  // namespace example
