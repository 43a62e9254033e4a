#include "tasks/nearest.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tasks/ascii.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

constexpr std::size_t longest_name = 256;  // What is longer is no misspelt name.

bool same(char a, char b) { return to_lower(a) == to_lower(b); }

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t most) {
  if (one.size() > other.size()) std::swap(one, other);
  if (other.size() - one.size() > most) return most + 1;

  // Rows of the usual table: distances between the first i letters of one and the first j of the other.
  std::vector<std::size_t> row_before_last(one.size() + 1), last(one.size() + 1),
      row(one.size() + 1);
  for (std::size_t i = 0; i <= one.size(); ++i) row[i] = i;
  for (std::size_t j = 1; j <= other.size(); ++j) {
    std::swap(row_before_last, last);
    std::swap(last, row);
    row[0] = j;
    for (std::size_t i = 1; i <= one.size(); ++i) {
      const std::size_t replaced = last[i - 1] + (same(one[i - 1], other[j - 1]) ? 0 : 1);
      row[i] = std::min({last[i] + 1, row[i - 1] + 1, replaced});
      const bool swapped =
          i > 1 && j > 1 && same(one[i - 1], other[j - 2]) && same(one[i - 2], other[j - 1]);
      if (swapped) row[i] = std::min(row[i], row_before_last[i - 2] + 1);
    }
    if (std::ranges::min(row) > most) return most + 1;
  }
  return std::min(row[one.size()], most + 1);
}

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> known) {
  if (name.empty() || name.size() > longest_name) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t allowed = std::max<std::size_t>(name.size() / 3, 1);
  const auto consider = [&](std::string_view candidate, std::string_view compared) {
    if (const auto distance = edit_distance(name, compared, allowed);
        distance <= allowed && distance < compared.size()) {
      best = candidate;
      allowed = distance == 0 ? 0 : distance - 1;
      return distance == 0;
    }
    return false;
  };
  for (const auto candidate : known)
    if (consider(candidate, candidate)) return best;
  for (const auto candidate : known)
    if (candidate.find('/') != candidate.npos && consider(candidate, last_part(candidate)))
      return best;
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  const auto found = nearest(name, known);
  return found ? fmt::format("; did you mean \"{}\"?", *found) : std::string();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
