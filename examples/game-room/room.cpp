#include "room.hpp"

#include <algorithm>
#include <sstream>

#include "player.hpp"

namespace game_room {

void Room::on(const Join& join) {
  const auto [guest, is_new] = guests_.try_emplace(join.player.id());
  if (!is_new) return;
  const auto place = static_cast<std::int32_t>(guests_.size());
  guest->second = {.name = join.name,
                   .player = join.player,
                   .spot = {.x = place * 7 % width, .y = place * 3 % height}};
  watch(join.player);  // If he has stopped already, we hear that too.
}

void Room::on(const Move& move) {
  Guest* const who = guest(move.player);
  if (who == nullptr) return;
  const auto limit = [](std::int32_t step) { return std::clamp(step, -1, 1); };
  go_to(*who, {.x = std::clamp(who->spot.x + limit(move.step.x), 0, width - 1),
               .y = std::clamp(who->spot.y + limit(move.step.y), 0, height - 1)});
}

// Here is a bug: nobody thought of text that is no number. std::stoi throws, and the room fails.
void Room::on(const Command& command) {
  Guest* const who = guest(command.player);
  std::istringstream words(command.text);
  std::string verb;
  std::string x;
  std::string y;
  words >> verb >> x >> y;
  if (verb != "teleport") return;
  const Spot spot{.x = std::clamp(std::stoi(x), 0, width - 1),
                  .y = std::clamp(std::stoi(y), 0, height - 1)};
  if (who != nullptr) go_to(*who, spot);
}

Room::Guest* Room::guest(const handoff::ActorRef<Player>& player) {
  const auto found = guests_.find(player.id());
  if (found != guests_.end()) return &found->second;
  player.send(WhoAreYou());  // Refused if he has gone: then we need not know.
  return nullptr;
}

void Room::go_to(Guest& guest, Spot spot) {
  guest.spot = spot;
  if (spot != coin_) return;
  ++guest.coins;
  coin_ = {.x = (coin_.x * 7 + 3) % width, .y = (coin_.y * 3 + 5) % height};
}

void Room::on(Tick) {
  ++ticks_;
  // A player has room for the latest view only, so this never waits for a slow one.
  for (const auto& [id, guest] : guests_) guest.player.send(View{guest.spot, coin_});
}

void Room::on(const handoff::Terminated& end) { vanished_ += guests_.erase(end.id); }

Scoreboard Room::on(AskScoreboard) const {
  Scoreboard board{.ticks = ticks_, .vanished = vanished_, .players = {}};
  for (const auto& [id, guest] : guests_) board.players.push_back({guest.name, guest.coins});
  std::ranges::sort(board.players, [](const Score& one, const Score& two) {
    return one.coins != two.coins ? one.coins > two.coins : one.name < two.name;
  });
  return board;
}

}  // namespace game_room
