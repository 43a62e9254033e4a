// What people see of a system.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "family.ipp"
#include "handoff/actor_info.hpp"
#include "handoff/detail/actor/ask_error.hpp"
#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/core/error_text.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

std::string to_string(const AskError& error) {
  if (!error.cause) return std::string(to_string(error.code));
  return fmt::format("{}: {}", to_string(error.code), detail::text_of(error.cause));
}

namespace detail {

AskError ask_error(Refusal refusal) {
  switch (refusal) {
    case Refusal::full: return {AskError::Code::full};
    case Refusal::empty:
    case Refusal::closed: return {AskError::Code::closed};
    case Refusal::timed_out: return {AskError::Code::timed_out};
    case Refusal::stopped: return {AskError::Code::stopped};
  }
  return {AskError::Code::closed};
}

namespace {

// With references, so that nobody is looked at under the lock of a family.
std::vector<ActorCell*> members_of(const Family& family) {
  std::vector<ActorCell*> members;
  family.for_each([&](ActorCell& each) {
    each.add_reference();
    members.push_back(&each);
  });
  std::ranges::sort(members, {}, [](const ActorCell* each) { return each->id(); });
  return members;
}

void inspect(const Family& family, std::size_t depth, std::vector<ActorInfo>& infos) {
  for (ActorCell* const each : members_of(family)) {
    ActorInfo info;
    info.depth = depth;
    each->describe(info);
    infos.push_back(std::move(info));
    if (const ActorExtras* const extras = each->extras_if_any()) {
      inspect(extras->children, depth + 1, infos);
    }
    each->drop_reference();
  }
}

}  // namespace

std::vector<ActorInfo> SystemCore::inspect() const {
  std::vector<ActorInfo> infos;
  detail::inspect(roots_, 0, infos);
  return infos;
}

}  // namespace detail

namespace {

std::string time_of(Duration time) {
  using namespace std::chrono;
  if (time <= Duration::zero()) return "";
  if (time < 1us) return fmt::format("{} ns", time.count());
  if (time < 1ms) return fmt::format("{} us", duration_cast<microseconds>(time).count());
  if (time < 1s) return fmt::format("{} ms", duration_cast<milliseconds>(time).count());
  return fmt::format("{:.1f} s", duration<double>(time).count());
}

}  // namespace

std::string to_table(const std::vector<ActorInfo>& actors) {
  using Row = std::array<std::string, 10>;
  std::vector<Row> rows{{"actor", "type", "state", "mailbox", "oldest", "handled", "failures",
                         "restarts", "waits for", "last failure"}};
  for (const ActorInfo& each : actors) {
    rows.push_back({std::string(2 * each.depth, ' ') + each.path, each.type, each.state,
                    fmt::format("{} of {}", each.mailbox, each.capacity), time_of(each.oldest),
                    std::to_string(each.handled), std::to_string(each.failures),
                    std::to_string(each.restarts), each.waits_for, each.last_failure});
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + '\n';
  }
  return table;
}

std::string to_string(const ActorShutdownReport& report) {
  std::string text = fmt::format("{} stopped", report.stopped);
  if (const auto count = report.handed_back.size(); count > 0) {
    text += fmt::format(", {} message{} handed back", count, count == 1 ? "" : "s");
  }
  if (report.still_alive.empty()) return text;
  text += fmt::format(", {} still alive", report.still_alive.size());
  const char* separator = ": ";
  for (const ActorInfo& each : report.still_alive) {
    text += fmt::format("{}{} ({}{}{})", std::exchange(separator, ", "), each.path, each.state,
                        each.waits_for.empty() ? "" : ", waits for ", each.waits_for);
  }
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
