// By which names a server may be called. A page of a foreign site can make a browser send requests to us, even under a name of its
// own that it lets point to our address (DNS rebinding). It cannot change what the browser then sends as Host and Origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace handoff::server {

class HostPolicy {
 public:
  // `address` is what the server listens on.
  HostPolicy(std::string_view address, const std::vector<std::string>& names);

  // `host` as in a Host header, with or without a port.
  bool allows(std::string_view host) const;
  // Whether a page of that origin and the host it talks to are the same.
  static bool is_same(std::string_view origin, std::string_view host);

 private:
  std::vector<std::string> names_;  // In lower case.
  bool
      any_address_;  // Listens on all: then we do not know which addresses are ours. No page can make up one of them.
};

}  // namespace handoff::server
