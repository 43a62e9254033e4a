#include "screen.hpp"

#include <fmt/core.h>

#include <cstdio>

namespace burst {

using example::for_people;
using example::mebibytes;
using example::share;

namespace {

double fullness(const Side& side) { return share(side.waiting, side.limit); }

}  // namespace

void Screen::show(const Picture& picture) {
  if (terminal_.mode() == example::Terminal::Mode::silent) return;
  if (terminal_.mode() == example::Terminal::Mode::lines) {
    fmt::print(
        "{:>6}  pool: waiting {:>6}  refused {:>6}  processed {:>5}  {:>9}"
        "   unbounded: waiting {:>6}  processed {:>5}  {:>9}\n",
        for_people(picture.elapsed), picture.pool.waiting, picture.pool.refused,
        picture.pool.processed, mebibytes(picture.pool.resident), picture.unbounded.waiting,
        picture.unbounded.processed, mebibytes(picture.unbounded.resident));
    std::fflush(stdout);
    return;
  }
  pool_depths_.add(fullness(picture.pool));
  unbounded_depths_.add(fullness(picture.unbounded));
  if (picture.stopping) terminal_.restore();
  terminal_.draw(panel(picture));
}

std::string Screen::title(const Picture& picture) const {
  const auto come = picture.pool.accepted + picture.pool.refused;
  const auto state = picture.is_over && picture.stopping ? terminal_.yellow("stopped")
                     : picture.is_over                   ? terminal_.green("done")
                     : picture.stopping                  ? terminal_.yellow("stopping")
                     : come < picture.clicks             ? terminal_.red("the burst is on")
                                             : terminal_.yellow("the workers work it off");
  return fmt::format("{}  {:>7}  {}", terminal_.bold("A burst of clicks"),
                     for_people(picture.elapsed), state);
}

std::string Screen::depth(const Side& side) const {
  const auto bar = terminal_.bar(fullness(side), bar_width);
  return fmt::format("{} {:>9}",
                     fullness(side) >= 0.5 ? terminal_.yellow(bar) : terminal_.green(bar),
                     for_people(side.waiting));
}

std::string Screen::memory(const Side& side, std::uint64_t most) const {
  const double part = share(side.resident, most);
  const auto bar = terminal_.bar(part, bar_width);
  return fmt::format("{} {:>9}", part >= 0.25 ? terminal_.red(bar) : terminal_.green(bar),
                     mebibytes(side.resident));
}

std::string Screen::over_time(const example::History& depths) const {
  return terminal_.curve(depths.values()) +
         std::string(bar_width + 10 - depths.values().size(), ' ');
}

std::vector<std::string> Screen::panel(const Picture& picture) const {
  const Side& pool = picture.pool;
  const Side& unbounded = picture.unbounded;
  const auto row = [](std::string_view name, const std::string& left, const std::string& right) {
    return fmt::format("  {:<11}{:>30}   {:>30}", name, left, right);
  };
  const auto bars = [](std::string_view name, const std::string& left, const std::string& right) {
    return fmt::format("  {:<11}{}   {}", name, left, right);
  };
  const auto name =
      fmt::format("{:<30}", fmt::format("WorkerPool, {} may wait", for_people(pool.limit)));

  std::vector<std::string> lines{
      title(picture),
      "",
      bars("", terminal_.bold(name), terminal_.bold("std::queue, no limit")),
      bars("waiting", depth(pool), depth(unbounded)),
      bars("over time", over_time(pool_depths_), over_time(unbounded_depths_)),
      bars("memory", memory(pool, picture.most_memory), memory(unbounded, picture.most_memory)),
      "",
      row("accepted", for_people(pool.accepted), for_people(unbounded.accepted)),
      row("refused", for_people(pool.refused), for_people(unbounded.refused)),
      row("processed", for_people(pool.processed), for_people(unbounded.processed)),
      row("next waits", for_people(pool.next_wait), for_people(unbounded.next_wait)),
  };
  if (picture.is_over) return lines;
  lines.push_back("");
  lines.push_back(
      picture.stopping
          ? terminal_.yellow("  Finishing the clicks in hand; Ctrl-C again ends at once.")
          : terminal_.dim("  Ctrl-C stops and hands back what is queued."));
  return lines;
}

}  // namespace burst
