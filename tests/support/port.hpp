// A port for those who come, go and come back: nobody else gets it meanwhile.
//
//   const Port port;                             // ours as long as this lives
//   { Receiver receiver(answers, port.number()); }
//   ...                                          // nobody listens: connections are refused
//   Receiver back(answers, port.number());
//
// It is bound, and nobody listens on it: whoever is given any free port is given another one, and whoever asks for this one and says SO_REUSEADDR
// gets it all the same.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace handoff::tests {

class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, any, size) != 0 || ::getsockname(socket_, any, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "bind");
    }
    number_ = ntohs(address.sin_port);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() { ::close(socket_); }

  std::uint16_t number() const { return number_; }

 private:
  const int socket_;
  std::uint16_t number_ = 0;
};

}  // namespace handoff::tests
