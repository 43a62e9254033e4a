// Where everybody comes in: who has which name, and which rooms there are. A room is made for the first who joins it, and
// ended after the last.
//
// All who join and leave a room do so through the lobby. So they do it in order, and the lobby knows whether somebody is on
// his way to a room that says that it is empty.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "handoff/actor.hpp"
#include "messages.hpp"

namespace chat {

class Lobby : public handoff::Actor<Lobby, Enter, Join, Leave, Emptied> {
 public:
  explicit Lobby(std::shared_ptr<Counts> counts) : counts_(std::move(counts)) {}

  bool on(const Enter& enter);
  void on(Join join);
  void on(Leave leave);
  void on(const Emptied& emptied);
  void on(const handoff::Terminated& session);

 private:
  struct OpenRoom {
    handoff::ActorRef<Room> actor;
    std::uint64_t joins = 0;  // Who were sent there.
  };
  OpenRoom& room(const std::string& name);

  const std::shared_ptr<Counts> counts_;
  std::unordered_map<std::string, std::uint64_t> sessions_;  // The id of each by its name,
  std::unordered_map<std::uint64_t, std::string> names_;     // and the other way round.
  std::unordered_map<std::string, OpenRoom> rooms_;
};

// A room that fails ends: its members join it anew, and the others notice nothing.
handoff::ActorRef<Lobby> spawn_lobby(handoff::ActorSystem& system, std::shared_ptr<Counts> counts);

}  // namespace chat
