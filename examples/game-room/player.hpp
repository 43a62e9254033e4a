// A player: walks to the coin he sees, step by step, and is gone one day without telling anybody.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "messages.hpp"
#include "room.hpp"

namespace game_room {

class Player : public handoff::Actor<Player, View, WhoAreYou, Walk> {
 public:
  // For a client that may be slow: the latest view is all it needs.
  static constexpr handoff::MailboxOptions mailbox{.capacity = 2,
                                                   .when_full = handoff::WhenFull::drop_oldest};

  // `steps`: after so many he is gone. He reads what he was sent before: so whatever was accepted was handled, also if the game ends at that moment.
  Player(std::string name, handoff::ActorRef<Room> room, std::chrono::milliseconds pace,
         std::uint64_t steps)
      : name_(std::move(name)), room_(std::move(room)), pace_(pace), steps_(steps) {}

  void on_start() {
    join();
    every(pace_, Walk());
  }
  void on(View view) { view_ = view; }
  void on(WhoAreYou) { join(); }
  void on(Walk) {
    if (steps_ == 0) return stop_when_drained();
    --steps_;
    const Spot step{.x = view_.coin.x - view_.you.x, .y = view_.coin.y - view_.you.y};
    if (!room_.send(Move{self(), step})) stop_when_drained();  // The room is gone for good.
  }

 private:
  void join() {
    if (!room_.send(Join{name_, self()})) stop_when_drained();
  }

  const std::string name_;
  const handoff::ActorRef<Room> room_;
  const std::chrono::milliseconds pace_;
  std::uint64_t steps_;
  View view_;
};

}  // namespace game_room
