// Waits until every other thread of this program sleeps.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

// One that is counted as waiting may still be having its last look.
inline void await_sleep() {
  testing::eventually([] {
    int awake = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string line;
      std::getline(std::ifstream(task.path() / "stat"), line);
      const auto state = line.rfind(") ");
      awake += state != std::string::npos && line[state + 2] != 'S';
    }
    return awake <= 1;  // The one that asks.
  });
}

}  // namespace handoff::tests
