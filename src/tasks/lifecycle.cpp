#include "tasks/lifecycle.hpp"

#include <algorithm>
#include <array>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

using enum TaskState;
using H = Happening;

constexpr auto transitions = std::to_array<Transition>({
    {scheduled, H::due, ready},           {scheduled, H::cancelled, cancelled},
    {scheduled, H::expired, cancelled},   {waiting, H::freed, ready},
    {waiting, H::freed_early, scheduled}, {waiting, H::abandoned, cancelled},
    {waiting, H::cancelled, cancelled},   {waiting, H::expired, cancelled},
    {ready, H::claimed, running},         {ready, H::cancelled, cancelled},
    {ready, H::expired, cancelled},       {running, H::succeeded, done},
    {running, H::failed, scheduled},      {running, H::exhausted, dead},
    {running, H::failed_for_good, dead},  {running, H::deferred, scheduled},
    {running, H::released, ready},        {running, H::crashed, ready},
    {running, H::quarantined, dead},      {running, H::cancelled, cancelled},
    {done, H::replayed, ready},           {dead, H::replayed, ready},
    {cancelled, H::replayed, ready},      {done, H::revived, waiting},
    {dead, H::revived, waiting},          {cancelled, H::revived, waiting},
});

constexpr std::array<std::string_view, task_states> state_names = {
    "scheduled", "waiting", "ready", "running", "done", "dead", "cancelled"};

constexpr std::array<std::string_view, happenings> happening_names = {
    "due",         "freed",           "claimed",  "succeeded", "failed",
    "exhausted",   "failed for good", "deferred", "released",  "crashed",
    "quarantined", "cancelled",       "expired",  "abandoned", "replayed",
    "revived",     "freed early"};

}  // namespace

std::span<const Transition> all_transitions() { return transitions; }

std::optional<TaskState> after(TaskState from, Happening what) {
  const auto found = std::ranges::find_if(
      transitions, [&](const Transition& each) { return each.from == from && each.what == what; });
  if (found == transitions.end()) return std::nullopt;
  return found->to;
}

namespace {
constexpr auto legal = [] {
  std::array<std::array<bool, task_states>, task_states> table{};
  for (const Transition& each : transitions) {
    table[static_cast<std::size_t>(each.from)][static_cast<std::size_t>(each.to)] = true;
  }
  return table;
}();
}  // namespace

bool is_legal(TaskState from, TaskState to) {
  return legal[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

std::string_view to_string(Happening what) {
  return happening_names[static_cast<std::size_t>(what)];
}

std::string_view to_string(TaskState state) { return state_names[static_cast<std::size_t>(state)]; }

std::optional<TaskState> parse_state(std::string_view text) {
  const auto found = std::ranges::find(state_names, text);
  if (found == state_names.end()) return std::nullopt;
  return static_cast<TaskState>(found - state_names.begin());
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
