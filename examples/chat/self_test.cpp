#include "self_test.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "crowd.hpp"
#include "handoff/clock.hpp"
#include "limits.hpp"
#include "manners.hpp"
#include "messages.hpp"
#include "server_process.hpp"
#include "support/terminal.hpp"

namespace chat {

namespace {

using example::for_people;

constexpr std::size_t members = 50;   // Of a room.
constexpr std::size_t talkers = 3;    // Of them.
constexpr std::size_t messages = 4;   // Of each, in each round.
constexpr std::size_t at_once = 200;  // Clients that are on their way in.

class Checks {
 public:
  bool that(bool is_right, std::string_view what) {
    fmt::print("{}  {}\n", is_right ? "ok   " : "WRONG", what);
    std::fflush(stdout);
    wrong_ += is_right ? 0 : 1;
    return is_right;
  }
  int status() const { return wrong_ == 0 ? 0 : 1; }

 private:
  int wrong_ = 0;
};

std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Rooms with members of whom some talk. Client i is the (i % members)th of room i / members, and is called c<i>.
class Rooms {
 public:
  Rooms(std::uint16_t port, std::size_t sessions)
      : people_(sessions),
        crowd_(port, [this](std::size_t client, std::string_view text) { hear(client, text); }) {}

  bool come() {
    return crowd_.run_until([&] {
      while (crowd_.size() < people_.size() && crowd_.size() < in_ + at_once) {
        const auto client = crowd_.add();
        crowd_.send(client, fmt::format("login c{}", client));
        crowd_.send(client, fmt::format("join r{}", client / members));
      }
      return in_ == people_.size();
    });
  }

  // Every talker says what he has to say. True if everybody has heard everybody, in order.
  bool talk() {
    ++rounds_;
    finished_ = 0;
    for (std::size_t i = 0; i < people_.size(); ++i) {
      if (i % members >= talkers) continue;
      for (std::size_t each = 0; each < messages; ++each) {
        crowd_.send(i, fmt::format("say {}", said_of(i)++));
      }
    }
    return crowd_.run_until([&] { return finished_ == crowd_.open() || has_mistake_; }) &&
           finished_ == crowd_.open() && !has_mistake_;
  }

  // Every tenth that does not talk.
  std::size_t kill_some() {
    std::size_t killed = 0;
    for (std::size_t i = 0; i < people_.size(); ++i) {
      if (i % members < talkers || i % 10 != 9) continue;
      crowd_.kill(i);
      ++killed;
    }
    return killed;
  }

  // The server has been told to end. True if it says so to everybody.
  bool hear_goodbye() {
    const auto open = crowd_.open();
    if (!crowd_.run_until([&] { return crowd_.open() == 0; })) return false;
    std::size_t told = 0;
    for (std::size_t i = 0; i < crowd_.size(); ++i) told += crowd_[i].close_code() == 1001 ? 1 : 0;
    return told == open;
  }

  std::uint64_t heard() const { return heard_; }
  std::size_t open() const { return crowd_.open(); }

 private:
  struct Person {
    std::array<std::uint16_t, talkers> next{};  // What each talker of his room will say next.
    std::uint16_t said = 0;
    std::uint16_t heard = 0;
  };

  std::uint16_t& said_of(std::size_t client) { return people_[client].said; }
  std::size_t talkers_of(std::size_t client) const {
    const auto first = client / members * members;
    return std::min(talkers, people_.size() - first);
  }
  bool has_heard_all(std::size_t client) const {
    return people_[client].heard == rounds_ * messages * talkers_of(client);
  }

  void hear(std::size_t client, std::string_view text) {
    if (after(text, "joined")) ++in_;
    if (after(text, "sorry")) has_mistake_ = true;
    const auto said = after(text, "said");
    if (!said) return;
    ++heard_;
    // c<number> <which>
    const auto space = said->find(' ');
    const auto who = number_in(said->substr(1, space - 1));
    const auto which = number_in(said->substr(space + 1));
    Person& person = people_[client];
    const bool is_ours = who / members == client / members && who % members < talkers;
    if (!is_ours || person.next[who % members] != which) {
      has_mistake_ = true;
      return;
    }
    ++person.next[who % members];
    ++person.heard;
    if (has_heard_all(client)) ++finished_;
  }

  std::vector<Person> people_;
  Crowd crowd_;
  std::size_t in_ = 0;
  std::size_t rounds_ = 0;
  std::size_t finished_ = 0;  // Who have heard all of this round.
  std::uint64_t heard_ = 0;
  bool has_mistake_ = false;
};

}  // namespace

int self_test(std::uint64_t sessions) {
  Checks checks;
  const auto allowed = allow_open_files(sessions);
  if (allowed < sessions) {
    fmt::print("Only {} sessions: more files may not be open here.\n", for_people(allowed));
    sessions = allowed;
  }
  const auto began = handoff::now();
  ServerProcess server(sessions + 100);
  for (const auto& [is_right, what] : check_manners(server.port())) checks.that(is_right, what);

  Rooms rooms(server.port(), sessions);
  if (!checks.that(rooms.come(), fmt::format("{} clients log in and join rooms of {}",
                                             for_people(sessions), members))) {
    return checks.status();
  }
  const auto memory = example::resident_bytes(server.id());
  checks.that(rooms.talk(), "everybody hears what is said in his room, in order");
  const auto killed = rooms.kill_some();
  checks.that(rooms.talk(),
              fmt::format("{} clients are killed: the others hear everything", for_people(killed)));
  checks.that(rooms.open() == sessions - killed, "nobody else was thrown out");

  server.terminate();
  checks.that(rooms.hear_goodbye(), "the server is told to end, and says goodbye to everybody");
  checks.that(server.has_ended_well(), "and it ends, with every session accounted for");
  fmt::print("       {} messages arrived; {} of memory with {} sessions; {} in all\n",
             for_people(rooms.heard()), example::mebibytes(memory), for_people(sessions),
             for_people(handoff::now() - began));
  return checks.status();
}

}  // namespace chat
