// Where a queue is delivered to: in a request {"url","timeout","secret"}, or null for nowhere; in an answer {"url","timeout","signed"}, so that a secret is never shown.
#pragma once

#include <expected>
#include <string>

#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/queue.hpp"

namespace handoff::server {

struct DeliveryField {
  bool is_given = false;  // In a request: null is, too.
  tasks::Delivery delivery{};
};

std::expected<DeliveryField, tasks::JsonError> read_delivery(tasks::JsonView view,
                                                             const tasks::ReadOptions& options);
tasks::JsonWriter::Written write_delivery(tasks::JsonWriter& writer,
                                          const tasks::Delivery& delivery);

std::string delivery_schema();

}  // namespace handoff::server

template <>
struct handoff::tasks::JsonCodec<handoff::server::DeliveryField> {
  static JsonWriter::Written write(JsonWriter& writer, const server::DeliveryField& field) {
    return server::write_delivery(writer, field.delivery);
  }
  static std::string schema() { return server::delivery_schema(); }
  static std::expected<server::DeliveryField, JsonError> read(JsonView view,
                                                              const ReadOptions& options) {
    return server::read_delivery(view, options);
  }
};
