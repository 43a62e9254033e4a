#include "game.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace game_room {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view poison_text = "teleport to nowhere";

template <std::size_t N>
std::string nth(const std::array<std::string_view, N>& names, std::size_t number,
                std::string_view what) {
  return number < N ? std::string(names[number]) : fmt::format("{} {}", what, number + 1);
}

std::string room_name(std::size_t number) {
  static constexpr std::array<std::string_view, 6> names{"castle", "forest", "harbour",
                                                         "market", "mill",   "tower"};
  return nth(names, number, "room");
}

std::string player_name(std::size_t number) {
  static constexpr std::array<std::string_view, 16> names{
      "Ada", "Bo",  "Cleo", "Dan", "Eva", "Finn", "Gus",  "Hana",
      "Ivo", "Jil", "Kai",  "Lea", "Max", "Nora", "Otto", "Pia"};
  return nth(names, number, "player");
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& each) {
    return each.what();
  } catch (...) {
    return "something else";
  }
}

}  // namespace

Game::Game(const Options& options)
    : options_(options),
      system_({.name = "game"},
              {.on_failure = [this](const handoff::Failure& failure,
                                    handoff::Directive directive) { note(failure, directive); },
               .on_dead_letter = {}}) {
  const handoff::ActorOptions with_policy{
      .name = "lobby",
      .children = handoff::supervise({.directive = handoff::Directive::restart,
                                      .most_restarts = 5,
                                      .within = 1min,
                                      .backoff = std::chrono::milliseconds(options.backoff)})};
  const auto lobby = system_.spawn<Lobby>(with_policy);
  for (std::size_t i = 0; i < options.rooms; ++i) {
    names_.push_back(room_name(i));
    auto room = lobby.ask(Open{names_.back(), std::chrono::milliseconds(options.tick)}, 10s);
    if (!room) throw std::runtime_error("no room: " + handoff::to_string(room.error()));
    rooms_.push_back(*room);
  }
}

void Game::add_player(std::size_t room, std::uint64_t steps) {
  const auto name = player_name(players_++);
  system_.spawn<Player>({.mailbox = Player::mailbox, .name = name}, name, rooms_[room],
                        std::chrono::milliseconds(options_.pace), steps);
}

void Game::poison(std::size_t room) {
  const auto sent = rooms_[room].send(Command{{}, std::string(poison_text)});
  if (!sent) throw std::runtime_error("no command: " + std::string(to_string(sent.error())));
}

// By whoever runs the actor: from several threads at once.
void Game::note(const handoff::Failure& failure, handoff::Directive directive) {
  ++failures_;
  const auto* const command = failure.message.get_if<Command>();
  if (command != nullptr && command->text == poison_text) ++poisoned_;
  if (!options_.tells_failures) return;
  fmt::print("\n{} failed at \"{}\": {} ({})\n", failure.actor,
             command != nullptr ? command->text : failure.message.type(), text_of(failure.error),
             to_string(directive));
}

std::vector<RoomState> Game::look(std::chrono::milliseconds patience) const {
  std::vector<RoomState> states;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    states.push_back({.name = names_[i], .board = rooms_[i].ask(AskScoreboard(), patience)});
  }
  const auto infos = system_.inspect();
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    const auto found = std::ranges::find(infos, rooms_[i].path(), &handoff::ActorInfo::path);
    if (found != infos.end()) states[i].restarts = found->restarts;
  }
  return states;
}

}  // namespace game_room
