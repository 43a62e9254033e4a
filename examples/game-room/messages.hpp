// What is said between players and rooms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "handoff/actor.hpp"

namespace game_room {

class Player;
class Room;

struct Spot {
  std::int32_t x = 0;
  std::int32_t y = 0;

  friend bool operator==(const Spot&, const Spot&) = default;
};

// -- To a room ------------------------------------------------------------------------------------

struct Join {
  std::string name;
  handoff::ActorRef<Player> player;
};

// One step.
struct Move {
  handoff::ActorRef<Player> player;
  Spot step;
};

// What a player has typed: "teleport 3 4".
struct Command {
  handoff::ActorRef<Player> player;
  std::string text;
};

struct Score {
  std::string name;
  std::uint64_t coins = 0;
};
struct Scoreboard {
  std::uint64_t ticks = 0;  // Since it was opened, or made anew.
  std::uint64_t vanished = 0;
  std::vector<Score> players;  // The best first.
};
struct AskScoreboard {
  using Reply = Scoreboard;
};

struct Tick {};  // To itself.

// -- To a player ----------------------------------------------------------------------------------

// At every tick.
struct View {
  Spot you;
  Spot coin;
};

struct WhoAreYou {};  // The room does not know him: it was made anew.

struct Walk {};  // To himself.

}  // namespace game_room
