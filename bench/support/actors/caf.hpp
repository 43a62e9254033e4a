// The C++ Actor Framework with its defaults but for the number of workers.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/config.hpp>
#include <cstddef>
#include <string>

namespace bench {

struct CafConfig : caf::actor_system_config {
  explicit CafConfig(std::size_t workers) { set("scheduler.max-threads", workers); }
};

inline std::string caf_version() {
  return std::to_string(CAF_MAJOR_VERSION) + "." + std::to_string(CAF_MINOR_VERSION) + "." +
         std::to_string(CAF_PATCH_VERSION);
}

}  // namespace bench
