// The name of a task: a UUID of version 7 (RFC 9562), which sorts by the time it was made at.
//
//   auto id = TaskId::make(std::chrono::system_clock::now());
//   fmt::print("{}\n", id);                            // 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c
//   auto again = TaskId::parse(id.to_string());        // std::expected<TaskId, std::string>
//
//   48 bits    milliseconds since 1970
//   12 bits    fraction of the millisecond, in units of 1/4096; with the above, a number that always grows
//   62 bits    random, from the kernel: an id cannot be guessed from another. (6 bits are fixed.)
//
// make() never gives an id that sorts before, or is the same as, one it gave earlier in this process, in whichever thread, also if the clock
// stands still or goes back: it then counts on from the last one, 4096 ids for each millisecond. After such a step, or when more than four million
// ids a second are made, the time in an id is that of the last one and not of the clock.
//
// Ids chosen by clients may be UUIDs of any version: parse() takes them all. They sort in some place or other.
//
// Thread safety: values; make() by any thread.
#pragma once

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class TaskId {
 public:
  using Bytes = std::array<std::uint8_t, 16>;

  constexpr TaskId() = default;  // The nil UUID: no task has it.
  constexpr explicit TaskId(const Bytes& bytes) : bytes_(bytes) {}

  static TaskId make(std::chrono::system_clock::time_point now);

  // The canonical text only: 8-4-4-4-12 hexadecimal digits in either case, nothing around them.
  static std::expected<TaskId, std::string> parse(std::string_view text);
  // What bytes() gave, back from a BLOB. Nothing unless there are 16.
  static std::optional<TaskId> from_bytes(std::span<const std::byte> bytes);

  constexpr const Bytes& bytes() const { return bytes_; }
  std::string to_string() const;  // In lower case.
  constexpr bool is_nil() const { return *this == TaskId(); }
  // When it was made, if it is of version 7.
  std::optional<std::chrono::sys_time<std::chrono::milliseconds>> time() const;

  friend constexpr auto operator<=>(const TaskId&, const TaskId&) = default;

 private:
  Bytes bytes_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks

template <>
struct std::hash<handoff::tasks::TaskId> {
  std::size_t operator()(const handoff::tasks::TaskId& id) const noexcept;
};

template <>
struct fmt::formatter<handoff::tasks::TaskId> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(const handoff::tasks::TaskId& id,
                                       fmt::format_context& context) const;
};
