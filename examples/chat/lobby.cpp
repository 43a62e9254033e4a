#include "lobby.hpp"

#include <utility>

#include "room.hpp"
#include "session.hpp"

namespace chat {

bool Lobby::on(const Enter& enter) {
  if (!sessions_.try_emplace(enter.name, enter.who.id()).second) return false;
  names_.emplace(enter.who.id(), enter.name);
  watch(enter.who);
  return true;
}

void Lobby::on(const handoff::Terminated& session) {
  const auto found = names_.find(session.id);
  if (found == names_.end()) return;
  sessions_.erase(found->second);
  names_.erase(found);
}

void Lobby::on(Join join) {
  OpenRoom& open = room(join.room);
  if (open.actor.send(join)) {
    ++open.joins;
    return;
  }
  rooms_.erase(join.room);  // It has failed.
  OpenRoom& anew = room(join.room);
  if (anew.actor.send(std::move(join))) ++anew.joins;
}

void Lobby::on(Leave leave) {
  const auto found = rooms_.find(leave.room);
  if (found != rooms_.end()) found->second.actor.send(std::move(leave));
}

Lobby::OpenRoom& Lobby::room(const std::string& name) {
  OpenRoom& open = rooms_[name];
  if (!open.actor) open.actor = spawn<Room>({}, name, self(), counts_);
  return open;
}

void Lobby::on(const Emptied& emptied) {
  const auto found = rooms_.find(emptied.room);
  if (found == rooms_.end() || found->second.joins != emptied.joins) return;
  found->second.actor.stop();
  rooms_.erase(found);
}

handoff::ActorRef<Lobby> spawn_lobby(handoff::ActorSystem& system, std::shared_ptr<Counts> counts) {
  handoff::Supervision policy;
  policy.directive = handoff::Directive::stop;
  // A few messages of each client can be here, as each waits for his answer.
  return system.spawn<Lobby>(
      {.mailbox = {.capacity = 100'000}, .name = "lobby", .children = handoff::supervise(policy)},
      std::move(counts));
}

}  // namespace chat
