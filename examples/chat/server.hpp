// The network: one event loop of Boost.Asio, which serves the page and speaks WebSocket with all clients. Whoever comes
// gets a session; what it says goes to the session, and what the session adds to its Outgoing goes to the client.
//
// Everything has a limit: the size of a request and of a message, the time to send them, the number of clients, and what
// waits to be written to one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "handoff/actor_ref.hpp"
#include "handoff/clock.hpp"
#include "messages.hpp"
#include "outgoing.hpp"

namespace chat {

struct ServerOptions {
  std::string address = "127.0.0.1";  // To listen at.
  std::uint16_t port = 0;             // 0: any that is free.
  std::string host = "localhost";     // How browsers may call us; localhost and 127.0.0.1 they may.
  std::size_t most_clients = 20'000;
  std::size_t backlog = 128;  // Messages that wait to be written to one client.
};

class Server {
 public:
  using MakeSession =
      std::function<handoff::ActorRef<Session>(const std::shared_ptr<Outgoing>& outgoing)>;

  // Throws std::system_error if it cannot listen there.
  Server(const ServerOptions& options, std::shared_ptr<Counts> counts, MakeSession make_session);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  void stop_listening();
  // Waits until all clients have gone, for so long; then cuts off who is left.
  void end(handoff::Duration patience);

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace chat
