// The version of Boost that a contender was built with.
#pragma once

#include <boost/version.hpp>
#include <string>

namespace bench {

inline std::string boost_version() {
  return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000);
}

}  // namespace bench
