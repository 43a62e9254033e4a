#include "options.hpp"

#include <fmt/core.h>

#include <charconv>
#include <concepts>
#include <optional>

namespace burst {

namespace {

using Error = std::optional<std::string>;

// Reads all of `text` as a number within the limits.
template <typename Number>
Error read(std::string_view option, std::string_view text, Number least, Number most,
           Number& number) {
  constexpr auto kind = std::integral<Number> ? "a whole number" : "a number";
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !(value >= least && value <= most)) {
    return fmt::format("{} must be {} from {} to {}, got \"{}\"", option, kind, least, most, text);
  }
  number = value;
  return {};
}

Error set(Options& options, std::string_view option, std::string_view value) {
  if (option == "--clicks")
    return read<std::uint64_t>(option, value, 1, 100'000'000, options.clicks);
  if (option == "--capacity")
    return read<std::size_t>(option, value, 1, 10'000'000, options.capacity);
  if (option == "--workers") return read<std::size_t>(option, value, 1, 256, options.workers);
  if (option == "--rate") return read<std::uint64_t>(option, value, 1, 1'000'000, options.rate);
  double seconds = 0;
  if (auto error = read(option, value, 0.01, 3600.0, seconds)) return error;
  options.seconds = std::chrono::duration<double>(seconds);
  return {};
}

bool takes_value(std::string_view option) {
  return option == "--clicks" || option == "--seconds" || option == "--capacity" ||
         option == "--workers" || option == "--rate";
}

}  // namespace

std::expected<Options, std::string> parse(std::span<const std::string_view> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      continue;
    }
    if (argument == "--test") {
      options.test = true;
      continue;
    }
    const auto equals = argument.find('=');
    const auto option = argument.substr(0, equals);
    if (!takes_value(option))
      return std::unexpected(fmt::format("there is no option {}", argument));

    const bool attached = equals != std::string_view::npos;
    if (!attached && i + 1 == arguments.size()) {
      return std::unexpected(fmt::format("{} needs a value, as in {} {}", option, option,
                                         option == "--seconds" ? "0.5" : "1000"));
    }
    const auto value = attached ? argument.substr(equals + 1) : arguments[++i];
    if (auto error = set(options, option, value)) return std::unexpected(*error);
  }
  return options;
}

std::string_view help_text() {
  return R"(burst: a marketing e-mail goes out, and everybody clicks at once.

A bounded queue stands between the clicks and the workers. What fits waits its turn;
what does not is told at once to try again later. Watch the queue fill and drain.

Usage: burst [options]

  --clicks N      clicks that come                             1 to 100000000   50000
  --seconds S     how long they take to come                   0.01 to 3600     0.5
  --capacity N    clicks that may wait in the queue            1 to 10000000    40000
  --workers N     threads that work them off                   1 to 256         4
  --rate N        clicks all workers together do in a second   1 to 1000000     4000
  --test          a short run that checks itself, for ctest
  -h, --help      this text

Ctrl-C stops the workers and hands back what is still queued; a second one ends at once.
Colours are left out if NO_COLOR is set; a pipe or a file gets plain lines.

Examples:
  burst                                    the default: about ten seconds
  burst --capacity 5000                    a small queue: most are told to try again later
  burst --capacity 100000                  a large one: nobody is refused, the last waits longest
  burst --rate 20000 --workers 8           faster workers: over in less than three seconds
  burst --clicks 5000 --seconds 5          no burst at all: the queue stays almost empty

Exit status: 0 if every click is accounted for, 1 if not, 2 for a wrong option.
)";
}

}  // namespace burst
