#include "net/retry_after.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>

namespace handoff::inline HANDOFF_FLAVOUR::net {

std::optional<std::chrono::seconds> retry_after(const std::string& header,
                                                std::chrono::sys_seconds now) {
  using std::chrono::seconds;
  if (header.empty()) return std::nullopt;
  if (std::ranges::all_of(header, [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t count = 0;
    const auto read = std::from_chars(header.data(), header.data() + header.size(), count);
    return read.ec == std::errc() ? seconds(count) : seconds::max();  // More than there is.
  }
  const time_t date = curl_getdate(header.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::max(std::chrono::sys_seconds(seconds(date)) - now, seconds(0));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
