// Passes on what one says to all who are there. Everybody gets it in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "handoff/actor.hpp"
#include "messages.hpp"

namespace chat {

class Room : public handoff::Actor<Room, Join, Say, Leave> {
 public:
  Room(std::string name, handoff::ActorRef<Lobby> lobby, std::shared_ptr<Counts> counts);

  void on(const Join& join);
  void on(const Say& say);
  void on(const Leave& leave);
  void on(const handoff::Terminated& session);

 private:
  struct Member {
    std::string name;
    handoff::ActorRef<Session> session;
  };

  void remove(std::uint64_t who);
  void tell_all(std::string text);

  const std::string name_;
  const handoff::ActorRef<Lobby> lobby_;
  const std::shared_ptr<Counts> counts_;
  std::unordered_map<std::uint64_t, Member> members_;  // By the id of the session.
  std::uint64_t joins_ = 0;
};

}  // namespace chat
