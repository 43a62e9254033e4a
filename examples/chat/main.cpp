// A chat: sessions and rooms are actors, clients come over WebSocket. See README.md.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/signals.hpp"
#include "limits.hpp"
#include "lobby.hpp"
#include "self_test.hpp"
#include "server.hpp"
#include "session.hpp"
#include "support/command_line.hpp"
#include "support/terminal.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;

struct Options {
  std::string address = "127.0.0.1";
  std::string host = "localhost";
  std::uint64_t port = 8080;
  std::uint64_t clients = 20'000;
  std::uint64_t backlog = 128;
  std::uint64_t patience = 5;
  std::uint64_t sessions = chat::sessions_in_test();
};

// Serves until it is asked to stop. False if a session was lost.
bool serve(const Options& options, const std::stop_token& stop) {
  const auto counts = std::make_shared<chat::Counts>();
  handoff::ActorSystem system{{.name = "chat"}};
  const auto lobby = chat::spawn_lobby(system, counts);
  const auto make_session = [&](const std::shared_ptr<chat::Outgoing>& outgoing) {
    // A room that finds no room here does not wait, and ends the session: a client must not hold up the others.
    return system.spawn<chat::Session>(
        {.mailbox = {.capacity = 256, .when_full = handoff::WhenFull::reject}}, outgoing, lobby,
        counts);
  };
  chat::Server server({.address = options.address,
                       .port = static_cast<std::uint16_t>(options.port),
                       .host = options.host,
                       .most_clients = options.clients,
                       .backlog = options.backlog},
                      counts, make_session);
  fmt::print("http://{}:{}/\n", options.address, server.port());
  std::fflush(stdout);

  handoff::Event never{{.name = "until a signal comes"}};
  static_cast<void>(never.wait({.stop = stop}));

  // Nobody comes any more; every session says goodbye; the loop ends when the last client has answered.
  server.stop_listening();
  const auto report = system.shutdown(handoff::finish_within(10s).then_interrupt());
  server.end(std::chrono::seconds(options.patience));  // Who does not answer by then is cut off.
  fmt::print("{} sessions, of which {} were too slow; {} lines were said, {} messages written\n",
             for_people(counts->sessions), for_people(counts->cut_off), for_people(counts->said),
             for_people(counts->delivered));
  fmt::print("{} dead letters; {}\n", for_people(system.dead_letter_count()), to_string(report));
  return counts->sessions == counts->ended && report.still_alive.empty();
}

bool is_address(std::string_view text) {
  in_addr address{};
  return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") ==
             std::string_view::npos;
}

example::CommandLine command_line(Options& options) {
  example::CommandLine line("chat",
                            "a chat server: sessions and rooms are actors.\n\n"
                            "Open the address it prints in a browser, in two windows.");
  line.add("--address", "where it listens", options.address, "an IPv4 address", &is_address);
  line.add("--host", "how browsers may call it, beside localhost", options.host,
           "a name, or name:port", &is_host);
  line.add("--port", "the port; 0 is any that is free", options.port, 0, 65'535);
  line.add("--clients", "clients at a time", options.clients, 1, 1'000'000);
  line.add("--backlog", "messages that may wait for one client", options.backlog, 1, 100'000);
  line.add("--patience", "seconds for clients to answer our goodbye", options.patience, 0, 3'600);
  line.add("--sessions", "sessions of --test", options.sessions, 100, 100'000);
  line.add_note("Ctrl-C ends it: every client is told, and every session is accounted for.");
  line.add_example("chat", "for browsers on this machine");
  line.add_example("chat --test --sessions 1000", "a thousand clients, and what they check");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  chat::allow_open_files(options.clients);
  try {
    if (line.is_test()) return chat::self_test(options.sessions);
    return serve(options, handoff::stop_on_signals(SIGTERM, SIGINT)) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "chat: {}\n", error.what());
    return 1;
  }
}
