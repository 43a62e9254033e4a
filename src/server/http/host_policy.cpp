#include "server/http/host_policy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

namespace handoff::server {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string lowered_text(text);
  std::ranges::transform(lowered_text, lowered_text.begin(), lower);
  return lowered_text;
}

bool is_same_text(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lower, lower);
}

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "[::1]:80" is "::1", "localhost:80" is "localhost". Nothing if it is no host.
std::optional<std::string_view> without_port(std::string_view host) {
  const bool is_v6 = host.starts_with('[');
  const auto end = is_v6 ? host.find(']') : host.find(':');
  if (is_v6 && end == std::string_view::npos) return std::nullopt;
  const auto name = is_v6 ? host.substr(1, end - 1) : host.substr(0, end);
  const auto rest = end == std::string_view::npos ? "" : host.substr(is_v6 ? end + 1 : end);
  if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
  if (name.empty()) return std::nullopt;
  return name;
}

bool is_address(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> unused{};
  const std::string terminated(text);
  return ::inet_pton(AF_INET, terminated.c_str(), unused.data()) == 1 ||
         ::inet_pton(AF_INET6, terminated.c_str(), unused.data()) == 1;
}

}  // namespace

HostPolicy::HostPolicy(std::string_view address, const std::vector<std::string>& names)
    : names_{"localhost", "127.0.0.1", "::1"},
      any_address_(address == "0.0.0.0" || address == "::") {
  if (!any_address_) names_.push_back(lowered(address));
  for (const auto& name : names) names_.push_back(lowered(name));
}

bool HostPolicy::allows(std::string_view host) const {
  const auto name = without_port(host);
  if (!name) return false;
  const auto is_it = [&](const std::string& each) { return is_same_text(each, *name); };
  return std::ranges::any_of(names_, is_it) || (any_address_ && is_address(*name));
}

// Browsers leave out the port in both if it is the usual one. "null" is no origin of ours.
bool HostPolicy::is_same(std::string_view origin, std::string_view host) {
  const auto scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) return false;
  return is_same_text(origin.substr(scheme_end + 3), host);
}

}  // namespace handoff::server
