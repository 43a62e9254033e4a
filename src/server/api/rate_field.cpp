#include "server/api/rate_field.hpp"

#include <charconv>

namespace handoff::server {

std::expected<RateField, tasks::JsonError> read_rate(tasks::JsonView view) {
  if (view.kind() == tasks::JsonKind::number) return RateField{view.number()};
  const std::string_view text =
      view.kind() == tasks::JsonKind::string ? view.string() : std::string_view();
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const std::string_view unit(read.ptr, end);
  const double seconds = unit == "/s" ? 1 : unit == "/m" ? 60 : unit == "/h" ? 3600 : 0;
  if (read.ec == std::errc() && seconds > 0) return RateField{number / seconds};
  return std::unexpected(tasks::JsonError{
      .path = {},
      .message = "must be a rate such as \"500/s\", \"30/m\" or \"5/h\", or a number a second"});
}

}  // namespace handoff::server
