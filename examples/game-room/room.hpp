// A room: who is in it, where they stand, and the coin they are after. It ticks by itself.
//
// Players are not its children. They outlive the room's failures, and the room hears of their ends because it watches them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "messages.hpp"

namespace game_room {

class Room : public handoff::Actor<Room, Join, Move, Command, AskScoreboard, Tick> {
 public:
  static constexpr std::int32_t width = 20;
  static constexpr std::int32_t height = 10;

  explicit Room(std::chrono::milliseconds tick) : tick_(tick) {}

  void on_start() { every(tick_, Tick()); }

  void on(const Join& join);
  void on(const Move& move);
  void on(const Command& command);
  Scoreboard on(AskScoreboard) const;
  void on(Tick);
  // A player has stopped, without a word.
  void on(const handoff::Terminated& end);

 private:
  struct Guest {
    std::string name;
    handoff::ActorRef<Player> player;
    Spot spot;
    std::uint64_t coins = 0;
  };

  // The guest, or null if it was not one: then he is asked to join.
  Guest* guest(const handoff::ActorRef<Player>& player);
  void go_to(Guest& guest, Spot spot);

  const std::chrono::milliseconds tick_;
  std::uint64_t ticks_ = 0;
  std::uint64_t vanished_ = 0;
  Spot coin_{.x = width / 2, .y = height / 2};
  std::map<std::uint64_t, Guest> guests_;  // By the player's id.
};

struct Open {
  using Reply = handoff::ActorRef<Room>;
  std::string name;
  std::chrono::milliseconds tick;
};

// The parent of all rooms: its policy decides what becomes of one that fails.
class Lobby : public handoff::Actor<Lobby, Open> {
 public:
  handoff::ActorRef<Room> on(const Open& open) {
    return spawn<Room>({.name = open.name}, open.tick);
  }
};

}  // namespace game_room
