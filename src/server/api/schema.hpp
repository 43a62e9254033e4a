// What a body is, as JSON Schema: made of the struct that it is read into, so that /openapi.json says what is taken.
//
//   .body = takes<ClaimBody>()          // takes_if_any: it may be left out; takes_many: an array of these, or one in each line
//
// A type with a JsonCodec of its own says there what it is: `static std::string schema()`.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <vector>

#include "handoff/tasks/payload.hpp"
#include "server/http/router.hpp"

namespace handoff::server {

template <typename T>
std::string schema_of();

// An object with these members and no others.
template <detail::JsonStruct T>
std::string object_schema() {
  std::vector<std::string> members;
  std::vector<std::string> required;
  boost::mp11::mp_for_each<detail::MembersOf<T>>([&](auto member) {
    using Member = std::remove_cvref_t<decltype(std::declval<T&>().*member.pointer)>;
    const auto name = detail::json_name(member.name);
    members.push_back(fmt::format(R"("{}":{})", name, schema_of<Member>()));
    if (!detail::JsonOptional<Member> && !detail::may_be_missing<T>(name)) {
      required.push_back(fmt::format(R"("{}")", name));
    }
  });
  return fmt::format(
      R"({{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}})",
      fmt::join(members, ","), fmt::join(required, ","));
}

template <typename T>
std::string schema_of() {
  if constexpr (requires { tasks::JsonCodec<T>::schema(); }) {
    return tasks::JsonCodec<T>::schema();
  } else if constexpr (detail::JsonOptional<T>) {
    return schema_of<typename T::value_type>();
  } else if constexpr (std::same_as<T, tasks::Json>) {
    return "{}";  // Whatever there is.
  } else if constexpr (std::same_as<T, std::string>) {
    return R"({"type":"string"})";
  } else if constexpr (std::same_as<T, tasks::Time>) {
    return R"({"type":"string","format":"date-time"})";
  } else if constexpr (std::same_as<T, tasks::TaskId>) {
    return R"({"type":"string","format":"uuid"})";
  } else if constexpr (std::same_as<T, bool>) {
    return R"({"type":"boolean"})";
  } else if constexpr (detail::JsonInteger<T>) {
    return R"({"type":"integer"})";
  } else if constexpr (std::floating_point<T>) {
    return R"({"type":"number"})";
  } else if constexpr (detail::JsonMap<T>) {
    return fmt::format(R"({{"type":"object","additionalProperties":{}}})",
                       schema_of<typename T::mapped_type>());
  } else if constexpr (detail::JsonSequence<T>) {
    return fmt::format(R"({{"type":"array","items":{}}})", schema_of<typename T::value_type>());
  } else {
    return object_schema<T>();
  }
}

template <typename T>
BodyTaken takes() {
  return {.schema = schema_of<T>()};
}
template <typename T>
BodyTaken takes_if_any() {
  return {.schema = schema_of<T>(), .may_be_left_out = true};
}
template <typename T>
BodyTaken takes_many() {
  return {.schema = schema_of<std::vector<T>>(), .line_schema = schema_of<T>()};
}

}  // namespace handoff::server
