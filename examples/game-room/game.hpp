// Rooms under one lobby, and players who come and go.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "handoff/actor.hpp"
#include "player.hpp"
#include "room.hpp"

namespace game_room {

struct Options {
  std::uint64_t rooms = 4;
  std::uint64_t players = 4;    // In each room.
  std::uint64_t tick = 100;     // Milliseconds.
  std::uint64_t pace = 60;      // Milliseconds between the steps of a player.
  std::uint64_t backoff = 600;  // Milliseconds from a failure to the restart.
  bool tells_failures = true;
};

// What is known of a room. The board is missing if the room has not answered in time.
struct RoomState {
  std::string name;
  std::expected<Scoreboard, handoff::AskError> board;
  std::uint64_t restarts = 0;
};

class Game {
 public:
  // Throws std::runtime_error if a room cannot be opened.
  explicit Game(const Options& options);

  // Comes to a room, and is gone after so many steps.
  void add_player(std::size_t room, std::uint64_t steps);
  // A command that no honest player would type.
  void poison(std::size_t room);

  // Asks every room; who does not answer within `patience` is said to be silent.
  std::vector<RoomState> look(std::chrono::milliseconds patience) const;
  std::vector<handoff::ActorInfo> inspect() const { return system_.inspect(); }
  std::uint64_t failures() const { return failures_; }
  // The failure was what it should be: at the command, which could be looked at.
  std::uint64_t poisoned() const { return poisoned_; }

  handoff::ActorShutdownReport end() {
    return system_.shutdown(handoff::finish_within(std::chrono::seconds(30)).then_interrupt());
  }

 private:
  void note(const handoff::Failure& failure, handoff::Directive directive);

  const Options options_;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<std::uint64_t> poisoned_ = 0;
  std::size_t players_ = 0;
  handoff::ActorSystem system_;
  std::vector<std::string> names_;
  std::vector<handoff::ActorRef<Room>> rooms_;
};

}  // namespace game_room
