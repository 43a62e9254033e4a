// How many files this process may have open, each connection being one; and how many sessions the test has.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace chat {

// Asks for so many and some more, and returns how many connections there can be.
inline std::uint64_t allow_open_files(std::uint64_t connections) {
  constexpr rlim_t others = 100;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t wanted = connections + others;
  if (limit.rlim_cur < wanted) {
    const rlimit more{.rlim_cur = wanted, .rlim_max = std::max(wanted, limit.rlim_max)};
    const rlimit allowed{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    // The first is for root; the second is what everybody may have.
    if (setrlimit(RLIMIT_NOFILE, &more) != 0) static_cast<void>(setrlimit(RLIMIT_NOFILE, &allowed));
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur < others ? 0 : limit.rlim_cur - others;
}

constexpr std::uint64_t sessions_in_test() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 500;  // Sanitizers are slow.
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return 500;
#endif
#endif
  return 10'000;
}

}  // namespace chat
