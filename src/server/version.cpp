#include "server/version.hpp"

namespace handoff::server {

std::string_view version() { return HANDOFF_VERSION; }

}  // namespace handoff::server
