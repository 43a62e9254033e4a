// Turns a failed measurement into a message and an exit code that bench/run can show.
#pragma once

#include <exception>
#include <iostream>

namespace bench {

template <typename Measure>
int report_errors(Measure measure) {
  try {
    measure();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace bench
