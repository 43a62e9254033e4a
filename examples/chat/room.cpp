#include "room.hpp"

#include <fmt/core.h>

#include <utility>

#include "lobby.hpp"
#include "session.hpp"

namespace chat {

Room::Room(std::string name, handoff::ActorRef<Lobby> lobby, std::shared_ptr<Counts> counts)
    : name_(std::move(name)), lobby_(std::move(lobby)), counts_(std::move(counts)) {}

void Room::on(const Join& join) {
  ++joins_;
  if (members_.contains(join.who.id())) return;  // He has asked twice.
  if (members_.size() < small_room) tell_all(fmt::format("came {}", join.name));
  members_.emplace(join.who.id(), Member{.name = join.name, .session = join.who});
  watch(join.who);  // Clients vanish.
  Joined joined{.room = self(), .name = name_, .members = members_.size()};
  if (!join.who.send(std::move(joined))) join.who.stop();  // As below.
}

void Room::on(const Say& say) {
  const auto found = members_.find(say.who);
  if (found == members_.end()) return;  // He has left meanwhile.
  tell_all(fmt::format("said {} {}", found->second.name, say.text));
}

void Room::on(const Leave& leave) { remove(leave.who); }

void Room::on(const handoff::Terminated& session) { remove(session.id); }

void Room::remove(std::uint64_t who) {
  const auto found = members_.find(who);
  if (found == members_.end()) return;
  const Member gone = std::move(found->second);
  members_.erase(found);
  unwatch(gone.session);
  if (members_.size() < small_room) tell_all(fmt::format("left {}", gone.name));
  // Others may be on their way here: the lobby knows, and stops us if not.
  if (members_.empty()) lobby_.send(Emptied{.room = name_, .joins = joins_});
}

void Room::tell_all(std::string text) {
  const auto frame = std::make_shared<const std::string>(std::move(text));
  for (const auto& [id, member] : members_) {
    const auto sent = member.session.send(Deliver{frame});
    if (sent || sent.error() != handoff::Refusal::full) continue;
    // Not even its mailbox has room. We do not wait for one: the others would.
    ++counts_->cut_off;
    member.session.stop();
  }
}

}  // namespace chat
