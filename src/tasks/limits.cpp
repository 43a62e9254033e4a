#include "handoff/tasks/limits.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "handoff/tasks/duration.hpp"
#include "tasks/ascii.hpp"
#include "tasks/quoted.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

using std::chrono::milliseconds;

Checked invalid(std::string_view field, std::string_view must_be) {
  return std::unexpected(Invalid{std::string(field), fmt::format("{} must be {}", field, must_be)});
}

bool is_name_character(char c) {
  return is_digit(c) || is_letter(c) || c == '.' || c == '_' || c == '-';
}

Checked check_text(std::string_view text, std::size_t most, std::string_view field) {
  if (!text.empty() && text.size() <= most && is_utf8(text)) return {};
  const auto got = text.size() > most ? fmt::format("{} bytes", text.size()) : quoted(text);
  return invalid(field, fmt::format("1 to {} bytes of UTF-8, got {}", most, got));
}

bool are_hex_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool are_zeros(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

// 00-trace-parent-flags: version 00 is the only one there is.
bool is_traceparent(std::string_view text) {
  if (text.size() != 55 || !text.starts_with("00-") || text[35] != '-' || text[52] != '-')
    return false;
  const auto trace = text.substr(3, 32), parent = text.substr(36, 16), flags = text.substr(53, 2);
  return are_hex_digits(trace) && are_hex_digits(parent) && are_hex_digits(flags) &&
         !are_zeros(trace) && !are_zeros(parent);
}

}  // namespace

Checked check_queue(std::string_view name, std::string_view field) {
  if (!name.empty() && name.size() <= limits::queue_size &&
      std::ranges::all_of(name, is_name_character))
    return {};
  return invalid(field, fmt::format("1 to {} of A-Z a-z 0-9 . _ -, got {}", limits::queue_size,
                                    quoted(name, limits::queue_size)));
}

Checked check_kind(std::string_view kind, std::string_view field) {
  const auto fits = [](char c) { return is_name_character(c) || c == '/'; };
  if (!kind.empty() && kind.size() <= limits::kind_size && std::ranges::all_of(kind, fits))
    return {};
  return invalid(field, fmt::format("1 to {} of A-Z a-z 0-9 . _ - /, got {}", limits::kind_size,
                                    quoted(kind, limits::kind_size)));
}

Checked check_worker(std::string_view name, std::string_view field) {
  return check_text(name, limits::worker_size, field);
}

Checked check_group(std::string_view group, std::string_view field) {
  return check_text(group, limits::group_size, field);
}

Checked check_unique_key(std::string_view key, std::string_view field) {
  return check_text(key, limits::unique_key_size, field);
}

Checked check_id(const TaskId& id, std::string_view field) {
  if (!id.is_nil()) return {};
  return invalid(field, "a UUID of its own, got the nil one");
}

Checked check_url(std::string_view url, std::string_view field) {
  const bool has_scheme = url.starts_with("http://") || url.starts_with("https://");
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (has_scheme && url.size() <= limits::url_size && std::ranges::all_of(url, is_visible))
    return {};
  return invalid(field, fmt::format("an http:// or https:// URL of up to {} characters, got {}",
                                    limits::url_size, quoted(url)));
}

Checked check_trace(std::string_view traceparent, std::string_view field) {
  if (is_traceparent(traceparent)) return {};
  return invalid(field,
                 fmt::format("a W3C traceparent such as "
                             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, got {}",
                             quoted(traceparent, 60)));
}

Checked check_priority(std::int64_t priority, std::string_view field) {
  return check_range(priority, limits::lowest_priority, limits::highest_priority, field);
}

Checked check_max_attempts(std::int64_t attempts, std::string_view field) {
  return check_range(attempts, 1, limits::most_attempts, field);
}

Checked check_fraction(double fraction, std::string_view field) {
  if (fraction >= 0 && fraction <= 1) return {};  // Not so for NaN.
  return invalid(field, fmt::format("0 to 1, got {}", fraction));
}

Checked check_payload_size(std::size_t bytes, std::size_t most, std::string_view field) {
  if (bytes <= most) return {};
  return invalid(field, fmt::format("at most {} bytes, got {}", most, bytes));
}

Checked check_delay(milliseconds delay, std::string_view field) {
  return check_range(delay, milliseconds(0), longest_duration, field);
}

Checked check_timeout(milliseconds timeout, std::string_view field) {
  return check_range(timeout, milliseconds(1), longest_duration, field);
}

Checked check_lease(milliseconds lease, std::string_view field) {
  return check_range(lease, limits::shortest_lease, limits::longest_lease, field);
}

Checked check_range(std::int64_t number, std::int64_t least, std::int64_t most,
                    std::string_view field) {
  if (number >= least && number <= most) return {};
  return invalid(field, fmt::format("{} to {}, got {}", least, most, number));
}

Checked check_range(milliseconds duration, milliseconds least, milliseconds most,
                    std::string_view field) {
  if (duration >= least && duration <= most) return {};
  return invalid(field,
                 fmt::format("{} to {}, got {}", to_text(least), to_text(most), to_text(duration)));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
