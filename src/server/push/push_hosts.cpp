#include "server/push/push_hosts.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "net/url.hpp"
#include "tasks/ascii.hpp"

namespace handoff::server {

namespace {

constexpr int all_bits = 128;
constexpr int v4_prefix = 96;

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return tasks::is_letter(c) || tasks::is_digit(c) || c == '-' || c == '.' || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, fits) &&
         std::ranges::any_of(text, tasks::is_letter);
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

}  // namespace

PushHosts::PushHosts() { *this = parse({"127.0.0.0/8", "::1", "localhost"}).value(); }

std::optional<PushHosts::Address> PushHosts::parse_address(std::string_view text) {
  const std::string terminated(text);
  Address address{};
  if (::inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
  address[10] = address[11] = 0xff;
  if (::inet_pton(AF_INET, terminated.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

// "10.0.0.0/8"; an address is a network of one.
std::optional<PushHosts::Network> PushHosts::parse_network(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == text.size()) return Network{.address = *address, .bits = all_bits};
  const int before = text.find(':') == std::string_view::npos ? v4_prefix : 0;
  const std::string_view bits_text = text.substr(slash + 1);
  int bits = -1;
  const auto read = std::from_chars(bits_text.data(), bits_text.data() + bits_text.size(), bits);
  if (read.ec != std::errc() || read.ptr != bits_text.data() + bits_text.size()) {
    return std::nullopt;
  }
  if (bits < 0 || bits + before > all_bits) return std::nullopt;
  return Network{.address = *address, .bits = bits + before};
}

std::expected<PushHosts, std::string> PushHosts::parse(const std::vector<std::string>& entries) {
  PushHosts hosts(entries);
  for (const std::string& each : entries) {
    if (const auto network = parse_network(each)) {
      hosts.networks_.push_back(*network);
    } else if (is_name(each)) {
      hosts.names_.push_back(lowered(each));
    } else {
      return std::unexpected(fmt::format(
          "must be names, addresses or networks, as in \"hooks.example.org\", \"10.0.0.1\" or "
          "\"10.0.0.0/8\", got \"{}\"",
          each));
    }
  }
  return hosts;
}

bool PushHosts::allows(const std::string& host) const {
  const auto address = parse_address(host);
  if (!address) return std::ranges::find(names_, host) != names_.end();
  const auto has = [&](const Network& network) {
    for (int bit = 0; bit < network.bits; ++bit) {
      const auto byte = static_cast<std::size_t>(bit / 8);
      const int mask = 0x80 >> (bit % 8);
      if (((network.address[byte] ^ (*address)[byte]) & mask) != 0) return false;
    }
    return true;
  };
  return std::ranges::any_of(networks_, has);
}

std::optional<std::string> PushHosts::refusal(const std::string& url) const {
  const auto parsed = net::parse_url(url);
  if (!parsed) return parsed.error();
  if (allows(parsed->host)) return std::nullopt;
  return fmt::format(
      "must name a host that the server may call, which are {} (push_hosts), got \"{}\"",
      entries_.empty() ? "none" : fmt::to_string(fmt::join(entries_, ", ")), parsed->host);
}

}  // namespace handoff::server
