// What clients say to the server, what the server says to them, and what the actors say to each other.
//
//   client                     server
//   login NAME                 welcome NAME, or sorry WHY
//   join ROOM                  joined ROOM COUNT; leaves the room before
//   say TEXT                   said NAME TEXT, to all in the room
//                              came NAME, left NAME, in small rooms
//
// A client sends a line in each message of the WebSocket; the server may send several in one, with line ends between them.
// Names are letters, digits, - and _: so a space ends them. TEXT goes on to the end of the line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/actor_ref.hpp"

namespace chat {

class Lobby;
class Room;
class Session;

inline constexpr std::size_t longest_name = 20;
inline constexpr std::size_t longest_text = 2'000;
inline constexpr std::size_t small_room = 10;  // Up to so many members, who comes and goes is told.

bool is_name(std::string_view text);
// Up to longest_text bytes, without control characters.
bool is_text(std::string_view text);
// What follows the word and a space.
std::optional<std::string_view> after(std::string_view line, std::string_view word);

// What goes to many clients, of which there is one copy.
using Frame = std::shared_ptr<const std::string>;

// -- To a session ---------------------------------------------------------------------------------

// What its client has said. It is asked and not sent: the next one is read when this one is done with.
struct Line {
  using Reply = void;
  std::string text;
};
struct Deliver {
  Frame frame;
};
struct Joined {
  handoff::ActorRef<Room> room;
  std::string name;
  std::size_t members = 0;
};
struct TooLate {};  // To log in.

// -- To the lobby ---------------------------------------------------------------------------------

// True: the name is his now, until he stops.
struct Enter {
  using Reply = bool;
  std::string name;
  handoff::ActorRef<Session> who;
};
struct Join {
  std::string room;
  std::string name;
  handoff::ActorRef<Session> who;
};
struct Leave {
  std::string room;
  std::uint64_t who = 0;  // The id of the session.
};
// A room has no members any more, and has handled so many that came.
struct Emptied {
  std::string room;
  std::uint64_t joins = 0;
};

// -- To a room: what the lobby passes on, and -----------------------------------------------------

struct Say {
  std::uint64_t who = 0;  // The id of the session.
  std::string text;
};

// -------------------------------------------------------------------------------------------------

// What has happened, for people.
struct Counts {
  std::atomic<std::uint64_t> clients = 0;    // Connected now.
  std::atomic<std::uint64_t> sessions = 0;   // Came over a WebSocket.
  std::atomic<std::uint64_t> ended = 0;      // Of them.
  std::atomic<std::uint64_t> said = 0;       // Lines that went to a room.
  std::atomic<std::uint64_t> delivered = 0;  // Messages that were written to clients.
  std::atomic<std::uint64_t> cut_off = 0;    // Sessions that were too slow.
};

}  // namespace chat
