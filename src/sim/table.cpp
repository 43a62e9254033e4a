#include "sim/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "sim/scheduler.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

namespace {

constexpr std::size_t width = 30;

// Objects are numbered as they come: addresses say nothing, and change from run to run.
class Numbers {
 public:
  std::string of(const void* object) {
    if (object == nullptr) return {};
    const auto [found, is_new] = numbers_.try_emplace(object, numbers_.size() + 1);
    return fmt::format(" #{}", found->second);
  }

 private:
  std::map<const void*, std::size_t> numbers_;
};

}  // namespace

std::string table_of(const Scheduler& run, std::size_t lines) {
  std::string head = fmt::format("{:>7}", "step");
  for (const auto& each : run.threads()) head += fmt::format("  {:<{}}", each->name(), width);
  Numbers numbers;
  std::vector<std::string> body;
  for (const Event& each : run.events()) {
    const std::string what = each.what + numbers.of(each.object);
    std::string line = fmt::format("{:>7}", each.step);
    for (unsigned column = 1; column < each.thread; ++column)
      line += fmt::format("  {:<{}}", "", width);
    body.push_back(line + "  " + what);
  }
  std::string text = head + "\n";
  const std::size_t left_out = body.size() > lines ? body.size() - lines : 0;
  if (left_out > 0) text += fmt::format("    ...  {} lines before these\n", left_out);
  for (std::size_t i = left_out; i < body.size(); ++i) text += body[i] + "\n";
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
