// The command line of burst.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace burst {

struct Options {
  std::uint64_t clicks = 50'000;               // How many come.
  std::chrono::duration<double> seconds{0.5};  // How long they take to come.
  std::size_t capacity = 40'000;               // How many may wait.
  std::size_t workers = 4;                     // How many threads work them off.
  std::uint64_t rate = 4'000;                  // How many all workers together do in a second.
  bool test = false;
  bool help = false;
};

// What a mistake gets as its answer is a sentence that names the option and what is allowed.
std::expected<Options, std::string> parse(std::span<const std::string_view> arguments);

std::string_view help_text();

}  // namespace burst
