// What one actor tells another in its urgent lane, when one of them has failed.
#pragma once

#include <exception>
#include <utility>

#include "handoff/detail/actor/cell.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

struct Order final : Runnable {
  enum class Kind : std::uint8_t {
    restart,  // A sibling has failed, and all restart.
    resume,   // A parent was told to go on after a failure of its child.
    failed,   // A child has, and leaves it to its parent.
  };

  // Hands it to `whom`, or destroys it if that has stopped. `child` is for `failed`.
  static void give(ActorCell& whom, Kind kind, ActorCell* child = nullptr,
                   std::exception_ptr error = nullptr);

 private:
  Order(ActorCell& whom, Kind kind, ActorCell* child, std::exception_ptr error);
  ~Order();
  static void run_in_turn(Runnable& runnable);

  ActorCell& whom_;  // Kept alive by us.
  const Kind kind_;
  ActorCell* const child_;  // The same; may be null.
  const std::exception_ptr error_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
