// Rates in requests and answers: "500/s", "30/m", "5/h", or a number a second; 0 is no limit.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <expected>
#include <string>

#include "handoff/tasks/payload.hpp"

namespace handoff::server {

struct RateField {
  double per_second = 0;
};

inline std::expected<RateField, std::string> parse_rate(std::string_view text) {
  constexpr const char* message = "must be a rate such as \"500/s\", \"30/m\" or \"5/h\", or a number a second";
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const std::string_view unit(read.ptr, end);
  const double seconds = unit == "/s" ? 1 : unit == "/m" ? 60 : unit == "/h" ? 3600 : 0;
  if (read.ec != std::errc() || seconds == 0) return std::unexpected(message);
  return RateField{number / seconds};
}

}  // namespace handoff::server

template <>
struct handoff::tasks::JsonCodec<handoff::server::RateField> {
  static JsonWriter::Written write(JsonWriter& writer, const server::RateField& field) {
    return writer.string(fmt::format("{}/s", field.per_second));
  }
  static std::expected<server::RateField, JsonError> read(JsonView view, const ReadOptions&) {
    if (view.kind() == JsonKind::number) return server::RateField{view.number()};
    auto read = server::parse_rate(view.kind() == JsonKind::string ? view.string() : "");
    if (!read) return std::unexpected(JsonError{.path = {}, .message = std::move(read.error())});
    return *read;
  }
};
