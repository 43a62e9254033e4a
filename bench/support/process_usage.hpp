// What the whole process, all of its threads, has cost so far.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace bench {

struct ProcessUsage {
  double cpu_seconds = 0;              // User and system time.
  std::uint64_t context_switches = 0;  // Voluntary and involuntary.

  static ProcessUsage now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
            .context_switches = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw)};
  }

  friend ProcessUsage operator-(ProcessUsage later, ProcessUsage earlier) {
    return {.cpu_seconds = later.cpu_seconds - earlier.cpu_seconds,
            .context_switches = later.context_switches - earlier.context_switches};
  }

 private:
  static double seconds(timeval time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
};

}  // namespace bench
