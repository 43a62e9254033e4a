// A server that takes connections and never answers.
//
//   DeafServer deaf;
//   ... send a request to deaf.url() ...
//   deaf.read();                // until a whole request is there
//   deaf.read_and_close();      // and hangs up
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace handoff::tests {

class DeafServer {
 public:
  DeafServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "listen");
    }
    port_ = ntohs(address.sin_port);
  }
  DeafServer(const DeafServer&) = delete;
  DeafServer& operator=(const DeafServer&) = delete;
  ~DeafServer() {
    hang_up();
    ::close(listener_);
  }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

  // The first bytes of a request.
  void read() {
    hang_up();
    connection_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::array<char, 4096> bytes;
    if (::recv(connection_, bytes.data(), bytes.size(), 0) <= 0) {
      throw std::system_error(errno, std::generic_category(), "recv");
    }
  }
  void read_and_close() {
    read();
    hang_up();
  }

 private:
  void hang_up() {
    if (connection_ >= 0) ::close(std::exchange(connection_, -1));
  }

  const int listener_;
  std::uint16_t port_ = 0;
  int connection_ = -1;
};

}  // namespace handoff::tests
