// How the server is doing, as Prometheus reads it.
#pragma once

#include <string>

#include "server/api/context.hpp"
#include "server/api/request_meters.hpp"
#include "server/http/http_server.hpp"

namespace handoff::server {

std::string metrics_text(ApiContext& api, const HttpCounters& http, const RequestMeters& requests);

}  // namespace handoff::server
