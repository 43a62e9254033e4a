// Looks whether a client is still there while somebody takes his time to answer it, and hurries him if it is not.
#pragma once

#include <memory>
#include <stop_token>

#include "server/http/io_thread.hpp"

namespace handoff::server {

class ClientWatch : public std::enable_shared_from_this<ClientWatch> {
 public:
  // The socket must be there until end().
  ClientWatch(Socket& socket, bool is_tls) : socket_(&socket), is_tls_(is_tls) {}

  void begin();
  void end();

  std::stop_token token() const { return hurry_.get_token(); }
  void hurry() { hurry_.request_stop(); }
  // Now. It may have ended only its own side, and still wait for the answer.
  bool has_client_ended();
  void on_tick();  // Now and then: for clients that have sent something, which hides their end.

 private:
  void wait();
  void look();

  Socket* socket_;  // Null: it has ended.
  const bool is_tls_;
  bool is_waiting_ = false;
  bool has_client_ended_ = false;
  std::stop_source hurry_;
};

}  // namespace handoff::server
