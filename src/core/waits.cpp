#include "handoff/waits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "handoff/detail/core/places.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace {

constexpr std::size_t columns = 6;
using Row = std::array<std::string, columns>;

std::string for_people(Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds >= 100) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", std::max(0.0, seconds * 1e6));
}

Row to_row(const WaitInfo& wait, TimePoint at) {
  const bool unnamed = wait.name.starts_with(wait.kind + "#");
  return {wait.thread,
          wait.operation,
          unnamed ? wait.name : fmt::format("{} \"{}\"", wait.kind, wait.name),
          for_people(at - wait.since),
          fmt::format("{}:{}", detail::file_of(wait.where), wait.where.line()),
          wait.held_by + (wait.deadlocked ? " (deadlock)" : "")};
}

// What a coroutine's wait is part of, below its line.
void add_chain(std::string& table, const WaitInfo& wait) {
  for (std::size_t i = 1; i < wait.awaited_by.size(); ++i) {
    table += fmt::format("  {} {}\n", i + 1 < wait.awaited_by.size() ? "awaited at" : "spawned at",
                         detail::to_string(wait.awaited_by[i]));
  }
  if (!wait.scope.empty()) table += fmt::format("  in {}\n", wait.scope);
}

}  // namespace

std::string to_table(const std::vector<WaitInfo>& waits) {
  if (waits.empty()) return "nobody waits\n";
  std::vector<Row> rows{{"thread", "waits to", "on", "for", "at", "held by"}};
  const auto at = now();
  for (const WaitInfo& wait : waits) rows.push_back(to_row(wait, at));

  std::array<std::size_t, columns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.resize(line.find_last_not_of(' ') + 1);
    table += line + '\n';
    // The first row is the head line.
    if (&row != &rows.front())
      add_chain(table, waits[static_cast<std::size_t>(&row - &rows.front()) - 1]);
  }
  return table;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
