#include "sim/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "handoff/detail/core/places.hpp"
#include "sim/scheduler.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

namespace {

constexpr std::size_t least_width = 12;
constexpr std::size_t most_width = 48;

struct Line {
  std::uint64_t step;
  unsigned thread;
  std::string text;
};

// Atomics are numbered as they come: addresses say nothing, and change from run to run.
class Numbers {
 public:
  std::size_t of(const void* object) {
    return numbers_.try_emplace(object, numbers_.size() + 1).first->second;
  }

 private:
  std::map<const void*, std::size_t> numbers_;
};

// "put" of "put BlockingQueue "orders"".
std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

// "SmallLock::lock": without the namespaces.
std::string_view short_function_of(const std::source_location& where) {
  std::string_view name = function_of(where);
  for (const std::string_view inside : {"handoff::", "v1_sim::", "detail::", "sim::"}) {
    if (const auto at = name.find(inside); at != name.npos && at < name.find('<')) {
      name.remove_prefix(at + inside.size());
    }
  }
  return name;
}

std::string text_of(const Event& event, Numbers& numbers) {
  const std::string indent(2 * event.depth, ' ');
  switch (event.kind) {
    case Event::Kind::begin: return indent + event.what;
    case Event::Kind::end: return fmt::format("{}{}: done", indent, first_word(event.what));
    case Event::Kind::access:
      return fmt::format("{}{} #{} in {} at {}:{}", indent, event.what, numbers.of(event.object),
                         short_function_of(event.where), file_of(event.where), event.where.line());
    case Event::Kind::other: break;
  }
  if (event.operation.empty()) return event.what;
  return fmt::format("{}{}: {}", indent.substr(2), first_word(event.operation), event.what);
}

// What happens inside of an operation is of interest where another thread comes in; so is its end.
bool is_shown(const std::vector<Event>& events, std::size_t i) {
  const Event& event = events[i];
  if (event.kind == Event::Kind::begin || event.kind == Event::Kind::other) return true;
  const bool begins = i == 0 || events[i - 1].thread != event.thread;
  const bool ends = i + 1 == events.size() || events[i + 1].thread != event.thread;
  if (event.kind == Event::Kind::access) return begins || ends;
  // Looked back from its end to its begin: has anybody else done something?
  for (std::size_t j = i; j-- > 0;) {
    if (events[j].thread != event.thread) return true;
    if (events[j].kind == Event::Kind::begin && events[j].depth == event.depth) return false;
  }
  return true;
}

std::vector<Line> lines_of(const std::vector<Event>& events, bool shows_all) {
  std::vector<Line> lines;
  Numbers numbers;
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::string text = text_of(events[i], numbers);
    if (!shows_all && !is_shown(events, i)) continue;
    lines.push_back({events[i].step, events[i].thread, std::move(text)});
  }
  return lines;
}

}  // namespace

std::string table_of(const Scheduler& run, std::size_t most_lines) {
  const char* const asked = std::getenv("HANDOFF_TABLE");
  const bool shows_all = asked != nullptr && std::string_view(asked) == "all";
  const std::vector<Line> lines = lines_of(run.events(), shows_all);
  const std::size_t left_out =
      !shows_all && lines.size() > most_lines ? lines.size() - most_lines : 0;

  std::vector<std::size_t> widths;
  std::string text = fmt::format("{:>7}", "step");
  for (const auto& each : run.threads()) {
    std::size_t width = std::max(least_width, each->name().size());
    for (std::size_t i = left_out; i < lines.size(); ++i) {
      if (lines[i].thread == each->number) width = std::max(width, lines[i].text.size());
    }
    widths.push_back(std::min(width, most_width));
    text += fmt::format("  {:<{}}", each->name(), widths.back());
  }
  text.resize(text.find_last_not_of(' ') + 1);
  text += '\n';
  if (left_out > 0) text += fmt::format("    ...  {} lines before these\n", left_out);
  for (std::size_t i = left_out; i < lines.size(); ++i) {
    text += fmt::format("{:>7}", lines[i].step);
    for (unsigned column = 1; column < lines[i].thread; ++column)
      text += fmt::format("  {:<{}}", "", widths[column - 1]);
    text += fmt::format("  {}\n", lines[i].text);
  }
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
