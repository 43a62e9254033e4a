// Rooms with a tick, and players who vanish without a word. A room that crashes is made anew, and the others do not notice. See README.md.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "game.hpp"
#include "handoff/log.hpp"
#include "handoff/signals.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using game_room::Game;
using game_room::Options;
using game_room::RoomState;

constexpr std::uint64_t endless = 1'000'000'000;  // Steps of a player who stays.

// The room that is poisoned is the first one; they are the others.
bool have_gone_on(const std::vector<RoomState>& before, const std::vector<RoomState>& after) {
  for (std::size_t i = 1; i < after.size(); ++i) {
    if (!before[i].board || !after[i].board || after[i].restarts > 0) return false;
    if (after[i].board->ticks <= before[i].board->ticks) return false;
  }
  return true;
}

void show(const Game& game, std::string_view when) {
  fmt::print("\n{:<28}  ticks  players  vanished  restarts  best\n", when);
  for (const RoomState& each : game.look(200ms)) {
    fmt::print("  {:<26}", each.name);
    if (!each.board) {
      fmt::print("  no answer: {}\n", handoff::to_string(each.board.error()));
      continue;
    }
    const auto& [ticks, vanished, players] = *each.board;
    fmt::print("  {:>5}  {:>7}  {:>8}  {:>8}", ticks, players.size(), vanished, each.restarts);
    if (!players.empty()) fmt::print("  {} {}", players.front().name, players.front().coins);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

// False if the rooms that were not poisoned have noticed something, or not everything has ended.
bool play(const Options& options, const std::stop_token& stop) {
  Game game(options);
  for (std::size_t room = 0; room < options.rooms; ++room) {
    // Each of them stays a little longer than the one before.
    for (std::uint64_t i = 0; i < options.players; ++i) game.add_player(room, 25 + 15 * i);
  }
  example::SlowService time;
  bool goes_on = time.answers_after(1s, stop);
  show(game, "After a second");
  const auto before = game.look(1s);

  game.poison(0);
  goes_on = goes_on && time.answers_after(100ms, stop);
  show(game, "A room has crashed");
  goes_on = goes_on && time.answers_after(1s, stop);
  show(game, "A second later");
  const auto after = game.look(10s);

  fmt::print("\n{}", handoff::to_table(game.inspect()));
  const auto report = game.end();
  fmt::print("\n{}\n", handoff::to_string(report));
  if (!goes_on) return report.is_complete();
  const bool is_right = report.is_complete() && game.failures() == 1 && game.poisoned() == 1 &&
                        after[0].restarts == 1 && have_gone_on(before, after);
  fmt::print("{}\n", is_right ? "One room was made anew, and the others went on."
                              : "SOMETHING IS WRONG: see the tables.");
  return is_right;
}

// -- The checks -----------------------------------------------------------------------------------

bool eventually(const std::function<bool()>& fact) {
  example::SlowService pause;
  for (const auto end = handoff::now() + 1min; handoff::now() < end; pause.answers_after(1ms)) {
    if (fact()) return true;
  }
  return false;
}

bool all_of(const Game& game, const std::function<bool(const game_room::Scoreboard&)>& holds) {
  return std::ranges::all_of(game.look(10s), [&](const RoomState& each) {
    return each.board.has_value() && holds(*each.board);
  });
}

const Options quick{
    .rooms = 3, .players = 4, .tick = 5, .pace = 5, .backoff = 50, .tells_failures = false};

// Players who stop without a word are out of their rooms, all of them.
bool vanished_players_are_removed() {
  Game game(quick);
  for (std::size_t room = 0; room < 3; ++room) {
    for (std::uint64_t i = 0; i < 4; ++i) game.add_player(room, 2 * i);
    game.add_player(room, endless);
  }
  const bool is_right = eventually([&] {
    return all_of(
        game, [](const auto& board) { return board.vanished == 4 && board.players.size() == 1; });
  });
  return is_right && game.end().is_complete() && game.failures() == 0;
}

// A room that was poisoned is made anew, and its players come back; the others tick on.
bool a_crash_stays_in_its_room() {
  Game game(quick);
  for (std::size_t room = 0; room < 3; ++room) {
    for (std::uint64_t i = 0; i < 4; ++i) game.add_player(room, endless);
  }
  const auto is_at_work = [&] {
    return all_of(game,
                  [](const auto& board) { return board.ticks >= 3 && board.players.size() == 4; });
  };
  const auto coins = [&] {
    return all_of(game, [](const auto& board) { return board.players.front().coins > 0; });
  };
  if (!eventually(is_at_work) || !eventually(coins)) return false;
  const auto before = game.look(10s);
  game.poison(0);
  const bool is_back = eventually([&] { return game.look(10s)[0].restarts == 1 && is_at_work(); });
  const bool others_went_on = eventually([&] { return have_gone_on(before, game.look(10s)); });
  return is_back && others_went_on && game.end().is_complete() && game.failures() == 1 &&
         game.poisoned() == 1;
}

// A room that crashes again and again is given up, and so do its players. The others go on.
bool a_room_that_does_not_recover_is_given_up() {
  auto options = quick;
  options.backoff = 1;
  Game game(options);
  for (std::size_t room = 0; room < 3; ++room) game.add_player(room, endless);
  const auto before = game.look(10s);
  for (int i = 0; i < 6; ++i) game.poison(0);
  const auto is_given_up = [&] {
    const auto now = game.look(10s);
    return !now[0].board && now[0].board.error() == handoff::AskError::Code::closed &&
           have_gone_on(before, now) &&
           game.inspect().size() == 5;  // Lobby, two rooms, their players.
  };
  return eventually(is_given_up) && game.failures() == 6 && game.end().is_complete();
}

int self_test() {
  handoff::set_log([](std::string_view) {});
  const auto check = [](std::string_view what, bool is_right) {
    fmt::print("{} {}\n", is_right ? "ok    " : "FAILED", what);
    return is_right;
  };
  const bool vanished = check("players who vanish are removed", vanished_players_are_removed());
  const bool crash = check("a crash stays in its room", a_crash_stays_in_its_room());
  const bool given_up =
      check("a room that does not recover is given up", a_room_that_does_not_recover_is_given_up());
  return vanished && crash && given_up ? 0 : 1;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line("game-room",
                            "rooms that tick, and players who vanish without a word.\n\n"
                            "After a second one room is sent a command that makes it crash. It is "
                            "made anew, and the\nothers do not notice.");
  line.add("--rooms", "actors that tick", options.rooms, 2, 10'000);
  line.add("--players", "actors that walk, in each room", options.players, 1, 1'000);
  line.add("--tick", "milliseconds between two ticks", options.tick, 1, 1'000);
  line.add("--pace", "milliseconds between two steps", options.pace, 1, 1'000);
  line.add("--backoff", "milliseconds before a crashed room is made anew", options.backoff, 0,
           1'000);
  line.add_note("Ctrl-C ends it early, and in order.");
  line.add_example("game-room", "the default: about three seconds");
  line.add_example("game-room --backoff 0", "made anew at once: nobody sees that it was gone");
  line.add_example("game-room --rooms 1000 --players 2", "a thousand rooms, two thousand players");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return self_test();
  try {
    handoff::set_log([](std::string_view text) { fmt::print("log: {}\n", text); });
    return play(options, handoff::stop_on_signals(SIGTERM, SIGINT)) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "game-room: {}\n", error.what());
    return 1;
  }
}
