// One task, POSTed to somebody, and what the answer means for it.
//
//   2xx                              done. The body is the result if it is JSON of up to 64 KiB; otherwise {"status":204}
//   429, 503 with Retry-After        not yet: tried again then, within an hour; that costs no attempt
//   anything else, or no answer      failed, with a message that says what came
//
// Redirects are not followed: they are answers as others are.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "handoff/tasks/handler.hpp"
#include "handoff/tasks/time.hpp"
#include "net/http_client.hpp"

namespace handoff::server {

inline constexpr std::size_t most_answered = std::size_t{64} << 10;

struct Parcel {
  std::string url;
  std::chrono::milliseconds timeout{};
  std::string secret;     // Empty: it is not signed.
  std::string_view body;  // JSON.
};

// Throws std::runtime_error if it has failed. The client must take no longer answers than `most_answered`, and follow no redirects.
tasks::Finish post(net::HttpClient& client, const Parcel& parcel, const tasks::Context& context,
                   tasks::Time now, std::stop_token stop);

}  // namespace handoff::server
