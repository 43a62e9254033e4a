// What the parts of a task may be: one place for the library, the server and the command line.
//
//   if (auto good = check_queue(request.queue); !good) return bad_request(good.error());
//   // field "queue", message: queue must be 1 to 64 of A-Z a-z 0-9 . _ -, got "e mail"
//
//   queue          1 to 64 of A-Z a-z 0-9 . _ -           schedule and step names are the same
//   kind           1 to 128 of the same and /
//   worker         1 to 128 bytes of UTF-8                so is group; unique_key may have 256
//   priority       -100 to 100
//   max_attempts   1 to 1000
//   delay          up to 3650d                           so are unique_for, expires_in, ageing and how long to keep things
//   timeout        1ms to 3650d
//   lease_for      1s to 1d
//   id             any UUID but the nil one
//   trace          a W3C traceparent
//   url            http:// or https://, up to 2048 of visible ASCII
//   fraction       0 to 1
//   payload        1 MiB, unless configured
//   result         1 MiB
//
// Each check takes the field's name, for where the same thing has another one ("[17].queue"); the message begins with it and says what is allowed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/task_id.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// Which part of a request is wrong, and what it should have been.
struct Invalid {
  std::string field;
  std::string message;  // A sentence for people; begins with the field.

  friend bool operator==(const Invalid&, const Invalid&) = default;
};

using Checked = std::expected<void, Invalid>;

namespace limits {
inline constexpr std::size_t queue_size = 64;
inline constexpr std::size_t kind_size = 128;
inline constexpr std::size_t unique_key_size = 256;
inline constexpr std::size_t group_size = 128;
inline constexpr std::size_t worker_size = 128;
inline constexpr std::size_t url_size = 2048;
inline constexpr std::size_t secret_size = 1024;
inline constexpr std::int64_t lowest_priority = -100;
inline constexpr std::int64_t highest_priority = 100;
inline constexpr std::int64_t most_attempts = 1000;
inline constexpr std::size_t payload_size = std::size_t{1} << 20;
inline constexpr std::size_t result_size = std::size_t{1} << 20;  // What a handler returns.
inline constexpr std::size_t message_size = 16384;  // Of an error; what is longer is cut.
inline constexpr std::size_t note_size = 1000;      // Of progress; the same.
inline constexpr std::size_t log_lines = 1000;      // Of a task, that are kept.
inline constexpr std::size_t log_line_size = 4096;
inline constexpr std::chrono::milliseconds shortest_lease = std::chrono::seconds(1);
inline constexpr std::chrono::milliseconds longest_lease = std::chrono::days(1);
}  // namespace limits

[[nodiscard]] Checked check_queue(std::string_view name, std::string_view field = "queue");
[[nodiscard]] Checked check_kind(std::string_view kind, std::string_view field = "kind");
[[nodiscard]] Checked check_worker(std::string_view name, std::string_view field = "worker");
[[nodiscard]] Checked check_group(std::string_view group, std::string_view field = "group");
[[nodiscard]] Checked check_unique_key(std::string_view key, std::string_view field = "unique_key");
[[nodiscard]] Checked check_id(const TaskId& id, std::string_view field = "id");
[[nodiscard]] Checked check_trace(std::string_view traceparent, std::string_view field = "trace");
// Only what can be said without knowing which hosts are allowed: that is the server's to say.
[[nodiscard]] Checked check_url(std::string_view url, std::string_view field = "url");

[[nodiscard]] Checked check_priority(std::int64_t priority, std::string_view field = "priority");
[[nodiscard]] Checked check_max_attempts(std::int64_t attempts,
                                         std::string_view field = "max_attempts");
[[nodiscard]] Checked check_fraction(double fraction, std::string_view field = "fraction");
[[nodiscard]] Checked check_payload_size(std::size_t bytes, std::size_t most = limits::payload_size,
                                         std::string_view field = "payload");

[[nodiscard]] Checked check_delay(std::chrono::milliseconds delay,
                                  std::string_view field = "delay");
[[nodiscard]] Checked check_timeout(std::chrono::milliseconds timeout,
                                    std::string_view field = "timeout");
[[nodiscard]] Checked check_lease(std::chrono::milliseconds lease,
                                  std::string_view field = "lease_for");

// For the rest: a whole number, or a duration, between two others.
[[nodiscard]] Checked check_range(std::int64_t number, std::int64_t least, std::int64_t most,
                                  std::string_view field);
[[nodiscard]] Checked check_range(std::chrono::milliseconds duration,
                                  std::chrono::milliseconds least, std::chrono::milliseconds most,
                                  std::string_view field);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
