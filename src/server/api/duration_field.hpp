// Durations in requests and answers: "250ms", "30s", "5m", "2h", "1d", or a number of seconds.
#pragma once

#include <chrono>
#include <expected>

#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/payload.hpp"

namespace handoff::server {

struct DurationField {
  std::chrono::milliseconds value{};
};

}  // namespace handoff::server

template <>
struct handoff::tasks::JsonCodec<handoff::server::DurationField> {
  static JsonWriter::Written write(JsonWriter& writer, const server::DurationField& field) {
    return writer.string(to_text(field.value));
  }
  static std::string schema() { return R"({"type":["string","number"]})"; }
  static std::expected<server::DurationField, JsonError> read(JsonView view, const ReadOptions&) {
    std::expected<std::chrono::milliseconds, std::string> read =
        std::unexpected("must be a duration such as \"30s\", or a number of seconds");
    if (view.kind() == JsonKind::string) read = parse_duration(view.string());
    if (view.kind() == JsonKind::number) read = duration_from_seconds(view.number());
    if (!read) return std::unexpected(JsonError{.path = {}, .message = std::move(read.error())});
    return server::DurationField{*read};
  }
};
