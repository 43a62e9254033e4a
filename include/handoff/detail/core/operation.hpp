// An operation of a primitive, from its call to its return: a line in the table of a simulation that fails.
//
//   const sim::Operation here(*this, "put");
//
// In production it is nothing.
#pragma once

#include <source_location>
#include <string_view>

#include "handoff/detail/core/config.hpp"
#include "handoff/detail/core/simulation.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {
class Primitive;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

// On a primitive; or on something without a name of its own, said in words; or by a coroutine, at this place.
class Operation {
 public:
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
  Operation(const Primitive& on, const char* what);
  Operation(std::string_view on, const char* what);
  Operation(const std::source_location& by, const char* what);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  const bool is_shown_;
#else
  Operation(const Primitive&, const char*) {}
  Operation(std::string_view, const char*) {}
  Operation(const std::source_location&, const char*) {}
#endif
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
