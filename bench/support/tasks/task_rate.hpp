// Times a piece of work on many tasks, and prints how many a second it did.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../json_line.hpp"
#include "../process_usage.hpp"

namespace bench {

class TaskStopwatch {
 public:
  void stop() {
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    usage_ = ProcessUsage::now() - before_;
  }
  void add_to(JsonLine& line, std::uint64_t tasks) const {
    line.add("tasks", tasks);
    line.add("seconds", seconds_);
    line.add("tasks_per_s", static_cast<double>(tasks) / seconds_);
    line.add("cpu_us_per_task", usage_.cpu_seconds * 1e6 / static_cast<double>(tasks));
  }
  void print(std::string_view version, std::uint64_t tasks) const {
    JsonLine line{version};
    add_to(line, tasks);
    line.print();
  }

 private:
  ProcessUsage before_ = ProcessUsage::now();
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double seconds_ = 0;
  ProcessUsage usage_;
};

// Throws std::runtime_error unless all that was to be done is done.
inline void check_tasks(std::uint64_t wanted, std::uint64_t done) {
  if (wanted == done) return;
  throw std::runtime_error("wanted " + std::to_string(wanted) + " tasks, done " +
                           std::to_string(done));
}

}  // namespace bench
