#include "server/api/delivery_field.hpp"

#include <optional>
#include <string>
#include <utility>

#include "server/api/duration_field.hpp"
#include "server/api/schema.hpp"

namespace handoff::server {

namespace {

struct DeliveryBody {
  std::string url;
  std::optional<DurationField> timeout;
  std::optional<std::string> secret;
};
BOOST_DESCRIBE_STRUCT(DeliveryBody, (), (url, timeout, secret))

struct DeliveryJson {
  std::string url;
  DurationField timeout;
  bool signed_ = false;
};
BOOST_DESCRIBE_STRUCT(DeliveryJson, (), (url, timeout, signed_))

std::unexpected<tasks::JsonError> empty(std::string field) {
  return std::unexpected(
      tasks::JsonError{.path = std::move(field), .message = "must not be empty"});
}

}  // namespace

std::string delivery_schema() {
  return fmt::format(R"({{"anyOf":[{},{{"type":"null"}}]}})", schema_of<DeliveryBody>());
}

// As a whole: a secret does not follow to another URL.
std::expected<DeliveryField, tasks::JsonError> read_delivery(tasks::JsonView view,
                                                             const tasks::ReadOptions& options) {
  if (view.is_null()) return DeliveryField{.is_given = true};
  auto body = tasks::JsonCodec<DeliveryBody>::read(view, options);
  if (!body) return std::unexpected(std::move(body).error());
  if (body->url.empty()) return empty("url");
  if (body->secret && body->secret->empty()) return empty("secret");
  DeliveryField field{.is_given = true};
  field.delivery.url = std::move(body->url);
  if (body->timeout) field.delivery.timeout = body->timeout->value;
  field.delivery.secret = std::move(body->secret).value_or("");
  return field;
}

tasks::JsonWriter::Written write_delivery(tasks::JsonWriter& writer,
                                          const tasks::Delivery& delivery) {
  if (!delivery.is_on()) {
    writer.null();
    return {};
  }
  const DeliveryJson json{.url = delivery.url,
                          .timeout = DurationField{delivery.timeout},
                          .signed_ = !delivery.secret.empty()};
  return tasks::JsonCodec<DeliveryJson>::write(writer, json);
}

}  // namespace handoff::server
