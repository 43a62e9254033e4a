// By how much the resident memory of the process has grown at its highest since a moment.
//
//   PeakMemory peak;        // Now.
//   work();
//   peak.growth_mib();
//
// The kernel keeps the mark, so that no peak is missed between two looks. It counts each thread's pages in lots of 64:
// a growth of less than a MiB means nothing.
#pragma once

#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

namespace bench {

class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream{"/proc/self/clear_refs"} << 5;  // Lowers the mark to what is resident now.
    before_ = read("VmRSS:");
  }

  double growth_mib() const {
    const std::uint64_t peak = read("VmHWM:");
    return peak > before_ ? static_cast<double>(peak - before_) / 1024 : 0.0;
  }

 private:
  static std::uint64_t read(const std::string& field) {  // In KiB.
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
      std::uint64_t kib = 0;
      if (word == field && status >> kib) return kib;
      status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    throw std::runtime_error("cannot read " + field + " in /proc/self/status");
  }

  std::uint64_t before_;
};

}  // namespace bench
