// Rates in requests and answers: "500/s", "30/m", "5/h", or a number a second; 0 is no limit.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>

#include "handoff/tasks/payload.hpp"

namespace handoff::server {

struct RateField {
  double per_second = 0;
};

std::expected<RateField, tasks::JsonError> read_rate(tasks::JsonView view);

}  // namespace handoff::server

template <>
struct handoff::tasks::JsonCodec<handoff::server::RateField> {
  static JsonWriter::Written write(JsonWriter& writer, const server::RateField& field) {
    return writer.string(fmt::format("{}/s", field.per_second));
  }
  static std::string schema() { return R"({"type":["string","number"]})"; }
  static std::expected<server::RateField, JsonError> read(JsonView view, const ReadOptions&) {
    return server::read_rate(view);
  }
};
