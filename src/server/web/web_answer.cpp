#include "server/web/web_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace handoff::server {

namespace {

constexpr std::string_view policy =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "object-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

constexpr std::string_view without = R"(<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Handoff</title></head>
<body>
<h1>Handoff</h1>
<p>This server runs, but it was built without its dashboard: there was no npm.
Install it (<code>apt-get install npm</code>, or <code>make deps</code>), then build again (<code>make build</code>).</p>
<p>The API is complete:
<a href="/v1/queues">queues</a>, <a href="/v1/tasks">tasks</a>, <a href="/v1/workers">workers</a>,
<a href="/v1/totals">totals</a>, <a href="/metrics">metrics</a>, <a href="/openapi.json">OpenAPI</a>.</p>
</body>
</html>
)";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// What is before the next mark; that and the mark are taken away.
std::string_view next_of(std::string_view& list, char mark) {
  const auto end = std::min(list.find(mark), list.size());
  const auto item = trimmed(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

bool is_same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

// "q=0", "q=0.00"
bool is_refusal(std::string_view weight) {
  return (weight.starts_with("q=") || weight.starts_with("Q=")) &&
         weight.find_first_not_of("0.", 2) == weight.npos;
}

void add_headers(Response& response, std::string_view caching) {
  response.headers = {{"Cache-Control", std::string(caching)},
                      {"Content-Security-Policy", std::string(policy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"}};
}

// The names of these have the hash of what is in them: they never change.
bool is_immutable(const WebFile& file) { return file.path.starts_with("/assets/"); }

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    auto item = next_of(accept_encoding, ',');
    const auto coding = next_of(item, ';');
    if (is_same(coding, "gzip") || coding == "*") return !is_refusal(trimmed(item));
  }
  return false;
}

bool has_tag(std::string_view if_none_match, std::string_view tag) {
  while (!if_none_match.empty()) {
    auto item = next_of(if_none_match, ',');
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == tag || item == "*") return true;
  }
  return false;
}

Response web_answer(const WebFile& file, const Request& request) {
  const bool is_compressed =
      file.gzip.size() < file.plain.size() && accepts_gzip(request.accept_encoding);
  const std::string tag = fmt::format("\"{}{}\"", file.hash, is_compressed ? "-gzip" : "");
  Response response{.status = 200, .content_type = std::string(file.content_type)};
  add_headers(response, is_immutable(file) ? "public, max-age=31536000, immutable" : "no-cache");
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (has_tag(request.if_none_match, tag)) {
    response.status = 304;
    return response;
  }
  if (is_compressed) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = is_compressed ? file.gzip : file.plain;
  return response;
}

Response page_without_dashboard() {
  Response response{
      .status = 200, .body = std::string(without), .content_type = "text/html; charset=utf-8"};
  add_headers(response, "no-cache");
  return response;
}

}  // namespace handoff::server
