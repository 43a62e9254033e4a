// Any bytes at all, as the target of a request: what is a path has only segments that can be trusted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/http/host_policy.hpp"
#include "server/http/message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const handoff::server::HostPolicy hosts("::", {"tasks.example"});
  static_cast<void>(hosts.allows(bytes));
  const auto target = handoff::server::parse_target(bytes);
  if (!target) return 0;
  for (const auto& segment : target->segments) {
    if (segment.empty() || segment == "." || segment == ".." ||
        segment.find('\0') != std::string::npos)
      std::abort();
  }
  return 0;
}
