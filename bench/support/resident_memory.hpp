// How many bytes of memory the process holds right now.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace bench {

inline std::uint64_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::uint64_t pages_virtual = 0;
  std::uint64_t pages_resident = 0;
  if (!(statm >> pages_virtual >> pages_resident)) {
    throw std::runtime_error("cannot read /proc/self/statm");
  }
  return pages_resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bench
