#include "server/push/parcel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "net/retry_after.hpp"
#include "server/push/signature.hpp"
#include "tasks/utf8.hpp"

namespace handoff::server {

namespace {

using std::chrono::seconds;
constexpr seconds shortest_deferral{1};  // "0" would be a loop without a pause.
constexpr seconds longest_deferral = std::chrono::hours(1);
constexpr std::size_t most_shown = 200;

bool is_good(int status) { return status >= 200 && status < 300; }

std::chrono::sys_seconds whole(tasks::Time time) {
  return std::chrono::floor<seconds>(std::chrono::sys_time<std::chrono::milliseconds>(time));
}

net::HttpHeaders headers_of(const Parcel& parcel, const tasks::Context& context, tasks::Time now) {
  net::HttpHeaders headers{{"Content-Type", "application/json"},
                           {"Handoff-Task-Id", context.id().to_string()},
                           {"Handoff-Queue", context.queue()},
                           {"Handoff-Kind", context.kind()},
                           {"Handoff-Attempt", fmt::to_string(context.attempt())}};
  if (!context.trace().empty()) headers.emplace_back("traceparent", context.trace());
  if (!parcel.secret.empty()) {
    headers.emplace_back("Handoff-Signature", signature(parcel.secret, whole(now), parcel.body));
  }
  return headers;
}

tasks::Json status_json(int status) {
  return tasks::Json::parse(fmt::format(R"({{"status":{}}})", status)).value();
}

// The beginning of what it says, in one line.
std::string shown(std::string_view body) {
  std::string text = tasks::readable_utf8(body, 4 * most_shown);
  std::size_t characters = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins_one = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins_one && ++characters > most_shown) break;
    if (static_cast<unsigned char>(text[end]) < ' ') text[end] = ' ';
  }
  text.resize(end);
  return text;
}

[[noreturn]] void fail(const std::string& url, int status, std::string_view body) {
  const std::string text = shown(body);
  throw std::runtime_error(
      fmt::format("{} answered {}{}{}", url, status, text.empty() ? "" : ": ", text));
}

std::optional<tasks::Defer> deferral(const net::HttpReply& reply, tasks::Time now) {
  if (reply.status != 429 && reply.status != 503) return std::nullopt;
  const auto later = net::retry_after(std::string(reply.header("retry-after")), whole(now));
  if (!later) return std::nullopt;
  return tasks::Defer{std::clamp(*later, shortest_deferral, longest_deferral)};
}

tasks::Finish judged(const Parcel& parcel, net::HttpReply reply, tasks::Time now) {
  if (is_good(reply.status)) {
    auto json = tasks::Json::parse(std::move(reply.body));
    return json ? *std::move(json) : status_json(reply.status);
  }
  if (const auto later = deferral(reply, now)) return *later;
  fail(parcel.url, reply.status, reply.body);
}

}  // namespace

tasks::Finish post(net::HttpClient& client, const Parcel& parcel, const tasks::Context& context,
                   tasks::Time now, std::stop_token stop) {
  auto reply = client.send({.method = "POST",
                            .url = parcel.url,
                            .headers = headers_of(parcel, context, now),
                            .body = parcel.body,
                            .timeout = parcel.timeout,
                            .stop = std::move(stop)});
  if (reply) return judged(parcel, *std::move(reply), now);
  const net::HttpFailure& failure = reply.error();
  if (failure.kind != net::HttpFailure::Kind::too_large) throw std::runtime_error(failure.message);
  // Nobody wants to keep that much; what counts is there.
  if (is_good(failure.status)) return status_json(failure.status);
  fail(parcel.url, failure.status, "");
}

}  // namespace handoff::server
