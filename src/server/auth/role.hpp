// What a token allows. Each may do what those before it may.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace handoff::server {

enum class Role : std::uint8_t {
  nobody,   // Needs no token.
  any,      // Any token.
  produce,  // Hands tasks in, and looks.
  work,     // Claims tasks and reports outcomes.
  admin,    // Everything.
};

std::string_view to_string(Role role);
// Of those that a token can have.
std::optional<Role> parse_role(std::string_view text);

}  // namespace handoff::server
