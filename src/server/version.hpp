// Which version of handoff this is.
#pragma once

#include <string_view>

namespace handoff::server {

std::string_view version();

}  // namespace handoff::server
