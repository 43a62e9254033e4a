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

  // Whether messages of the actor whose turn it is wait for room elsewhere: those that follow go behind them.
  static bool has_outbox();
  static void set_has_outbox(bool has_one);

 private:
  ActorCell* const before_;
  const bool had_outbox_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
