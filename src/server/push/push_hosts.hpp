// Whom the server may POST to: what the key `push_hosts` names, and nobody else.
//
//   push_hosts = ["hooks.example.org", "10.1.0.0/16", "::1"]      # names, addresses, networks
//
// A name is meant to the letter, whatever addresses it has. Without that key: this machine, by its loopback addresses or as localhost.
// Thread safety: a value.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace handoff::server {

class PushHosts {
 public:
  PushHosts();  // Loopback.
  // Or what is wrong with one of them.
  static std::expected<PushHosts, std::string> parse(const std::vector<std::string>& entries);

  // Nothing if that URL may be asked; otherwise what is wrong, so that the name of a field can stand before it.
  std::optional<std::string> refusal(const std::string& url) const;

 private:
  // Those of IPv4 as ::ffff:a.b.c.d.
  using Address = std::array<std::uint8_t, 16>;
  struct Network {
    Address address;
    int bits;
  };

  explicit PushHosts(std::vector<std::string> entries) : entries_(std::move(entries)) {}
  static std::optional<Address> parse_address(std::string_view text);
  static std::optional<Network> parse_network(std::string_view text);
  bool allows(const std::string& host) const;

  std::vector<std::string> entries_;  // For people.
  std::vector<std::string> names_;
  std::vector<Network> networks_;
};

}  // namespace handoff::server
