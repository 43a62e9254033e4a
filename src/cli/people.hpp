// Numbers, times and states as people read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::cli {

using Millis = std::chrono::milliseconds;

tasks::Time now_time();
std::string for_people(Millis time);                  // "850ms", "12s", "3m20s", "5h10m", "9d"
std::string for_people(std::int64_t number);          // "50,000"
std::string bytes_for_people(std::uint64_t bytes);    // "4.6 MiB"
std::string age_of(std::optional<tasks::Time> time);  // How long ago; "-" if never.
std::string when(std::optional<tasks::Time> time);    // "3m20s ago", "in 12s", "-"

Colour colour_of(tasks::TaskState state);

// So many cells, of which this part is filled.
std::string bar(double part, std::size_t cells);
// One character a value, the largest as high as a line.
std::string sparkline(const std::vector<double>& values);

}  // namespace handoff::cli
