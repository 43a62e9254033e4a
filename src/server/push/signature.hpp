// By which a receiver knows that a request comes from here, and when it was made:
//
//   Handoff-Signature: t=1764590400,v1=5f8a...          HMAC-SHA256 of "<t>.<body>", in hexadecimal
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace handoff::server {

std::string signature(std::string_view secret, std::chrono::sys_seconds time,
                      std::string_view body);

}  // namespace handoff::server
