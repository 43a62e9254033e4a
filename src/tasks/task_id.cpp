#include "handoff/tasks/task_id.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "handoff/detail/core/atomic.hpp"
#include "tasks/entropy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

constexpr std::string_view shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

// The first 60 bits of an id that are not fixed: milliseconds and their 4096ths.
using Tick = std::uint64_t;
constexpr Tick ticks_per_millisecond = 4096;

Tick tick_of(std::chrono::system_clock::time_point time) {
  using std::chrono::nanoseconds;
  const auto since_1970 = std::max(nanoseconds(time.time_since_epoch()), nanoseconds(0)).count();
  // No overflow: 64 bits of nanoseconds end in 2262, 48 of milliseconds in 10889.
  const auto milliseconds = static_cast<Tick>(since_1970) / 1'000'000;
  const auto rest = static_cast<Tick>(since_1970) % 1'000'000;
  return milliseconds * ticks_per_millisecond + rest * ticks_per_millisecond / 1'000'000;
}

// The tick of `time`, or the one after the last if that is later.
Tick next_tick(std::chrono::system_clock::time_point time) {
  static detail::atomic<Tick> last = 0;
  const Tick wanted = tick_of(time);
  Tick seen = last.load(detail::relaxed);
  Tick next;
  do {
    next = std::max(wanted, seen + 1);
    // Relaxed: the changes of one variable have an order that all threads agree on.
  } while (!last.compare_exchange_weak(seen, next, detail::relaxed));
  return next;
}

constexpr std::uint64_t big_endian(std::uint64_t number) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
}

TaskId from_halves(std::uint64_t first, std::uint64_t second) {
  TaskId::Bytes bytes;
  first = big_endian(first);
  second = big_endian(second);
  std::memcpy(bytes.data(), &first, 8);
  std::memcpy(bytes.data() + 8, &second, 8);
  return TaskId(bytes);
}

std::uint64_t half(const TaskId& id, std::size_t at) {
  std::uint64_t number;
  std::memcpy(&number, id.bytes().data() + at, 8);
  return big_endian(number);
}

// The digit's value; 16 if it is none.
constexpr unsigned hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 16;
}

}  // namespace

TaskId TaskId::make(std::chrono::system_clock::time_point now) {
  const Tick tick = next_tick(now);
  constexpr std::uint64_t version_7 = 7 << 12;
  constexpr std::uint64_t variant = std::uint64_t{0b10} << 62;
  return from_halves(
      (tick / ticks_per_millisecond) << 16 | version_7 | tick % ticks_per_millisecond,
      variant | random_bits() >> 2);
}

std::expected<TaskId, std::string> TaskId::parse(std::string_view text) {
  const auto error = [] {
    return std::unexpected<std::string>(
        "must be a UUID such as 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c");
  };
  if (text.size() != shape.size()) return error();
  Bytes bytes;
  std::size_t digits = 0;
  unsigned byte = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '-') {
      if (text[i] != '-') return error();
      continue;
    }
    const unsigned value = hex_value(text[i]);
    if (value == 16) return error();
    byte = byte << 4 | value;
    if (++digits % 2 == 0) bytes[digits / 2 - 1] = static_cast<std::uint8_t>(byte);
  }
  return TaskId(bytes);
}

std::optional<TaskId> TaskId::from_bytes(std::span<const std::byte> bytes) {
  TaskId id;
  if (bytes.size() != id.bytes_.size()) return std::nullopt;
  std::memcpy(id.bytes_.data(), bytes.data(), bytes.size());
  return id;
}

std::string TaskId::to_string() const {
  std::string text(shape);
  std::size_t at = 0;
  for (const auto byte : bytes_) {
    if (shape[at] == '-') ++at;
    text[at++] = "0123456789abcdef"[byte >> 4];
    text[at++] = "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::optional<std::chrono::sys_time<std::chrono::milliseconds>> TaskId::time() const {
  if (bytes_[6] >> 4 != 7) return std::nullopt;
  return std::chrono::sys_time<std::chrono::milliseconds>(
      std::chrono::milliseconds(static_cast<std::int64_t>(half(*this, 0) >> 16)));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks

std::size_t std::hash<handoff::tasks::TaskId>::operator()(
    const handoff::tasks::TaskId& id) const noexcept {
  // Both halves, and mixed: those of clients need not be random anywhere.
  std::uint64_t mixed =
      handoff::tasks::half(id, 0) * 0x9e37'79b9'7f4a'7c15 ^ handoff::tasks::half(id, 8);
  mixed = (mixed ^ mixed >> 32) * 0xd6e8'feb8'6659'fd93;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

fmt::format_context::iterator fmt::formatter<handoff::tasks::TaskId>::format(
    const handoff::tasks::TaskId& id, fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(id.to_string(), context);
}
