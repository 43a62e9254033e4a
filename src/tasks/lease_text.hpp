// A lease as clients of a server see it: "1f-5c0a81d2e6b34970". They hand it back as it is.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <expected>
#include <string>
#include <string_view>

#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

inline std::string to_text(const Lease& lease) {
  return fmt::format("{:x}-{:x}", lease.row, lease.token);
}

// The error begins so that the name of the field can stand before it.
inline std::expected<Lease, std::string> parse_lease(std::string_view text) {
  Lease lease;
  const char* const end = text.data() + text.size();
  const auto row = std::from_chars(text.data(), end, lease.row, 16);
  if (row.ec == std::errc() && row.ptr != end && *row.ptr == '-') {
    const auto token = std::from_chars(row.ptr + 1, end, lease.token, 16);
    if (token.ec == std::errc() && token.ptr == end && lease.row > 0 && lease.token >= 0) {
      return lease;
    }
  }
  return std::unexpected("must be the lease that a claim has given");
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
