#include "server/auth/role.hpp"

namespace handoff::server {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::nobody: return "nobody";
    case Role::any: return "any";
    case Role::produce: return "produce";
    case Role::work: return "work";
    case Role::admin: break;
  }
  return "admin";
}

std::optional<Role> parse_role(std::string_view text) {
  for (const Role each : {Role::produce, Role::work, Role::admin}) {
    if (to_string(each) == text) return each;
  }
  return std::nullopt;
}

}  // namespace handoff::server
