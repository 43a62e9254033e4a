// The terminal as a screen of its own: drawn as a whole, keys read one by one, and put back as it was, also when a signal ends the program.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"

namespace handoff::cli {

class Screen {
 public:
  explicit Screen(Output& out);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  // Lines that do not fit are left out.
  void draw(const std::vector<std::string>& lines);
  // A key, if one is pressed within that time.
  std::optional<char> key(std::chrono::milliseconds patience);

 private:
  struct Saved;

  Output& out_;
  std::unique_ptr<Saved> saved_;  // How the keyboard was; nothing if it is none.
};

}  // namespace handoff::cli
