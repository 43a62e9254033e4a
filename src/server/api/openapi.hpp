// The API as OpenAPI 3.1, made of its routes.
#pragma once

#include <string>

#include "server/http/router.hpp"

namespace handoff::server {

std::string openapi_text(const Router& router);

}  // namespace handoff::server
