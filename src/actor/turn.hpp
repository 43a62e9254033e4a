// Whose turn it is on a thread.
#pragma once

#include "handoff/detail/actor/cell.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// While it lives, the calling thread is that actor's. One may come upon another: an actor that spawns makes the new one's object.
class [[nodiscard]] Turn {
 public:
  explicit Turn(ActorCell& cell);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // The last messages that wait for room elsewhere, of the actor whose turn it is: those that follow go behind them. Null if none do.
  static OutRun* outbox();
  static void set_outbox(OutRun* last);

 private:
  ActorCell* const before_;
  OutRun* const outbox_before_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
