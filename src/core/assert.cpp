#include "handoff/detail/core/assert.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

void assertion_failed(const char* condition, std::source_location where) {
  fmt::print(stderr, "handoff: broken invariant: {}\n  at {}:{} in {}\n", condition,
             where.file_name(), where.line(), where.function_name());
  std::abort();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
