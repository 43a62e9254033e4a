// "Did you mean ...?": the known name that is closest to one somebody typed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// How many letters must be inserted, deleted, replaced or swapped with their neighbour to make one of the other, whatever their
// case. Gives `most + 1` if it is more than `most`.
std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t most);

// The first of the closest names, if it is so close that it may have been meant: at most a third of the letters differ. A name whose
// last part is meant counts too: "Berlin" is close to "Europe/Berlin".
std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> known);

// "; did you mean \"x\"?", or nothing: the end of an error message.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
