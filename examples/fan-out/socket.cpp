#include "socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace fan_out {

namespace {
[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Socket new_socket() {
  const int number = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (number < 0) fail(errno, "socket");
  return Socket(number);
}

// The system's calls want a pointer to any address.
const sockaddr* as_any(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// errno belongs to the thread, and after a co_await a coroutine may be on another one. So it is looked at in plain
// functions only.

// True if the connection is there at once.
bool begin_to_connect(const Socket& socket, std::uint16_t port) {
  const auto address = loopback(port);
  if (connect(socket.number(), as_any(address), sizeof address) == 0) return true;
  if (errno != EINPROGRESS) fail(errno, "connect");
  return false;
}

int error_of(const Socket& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

enum class Read { something, nothing_yet, end };

Read read_some(const Socket& socket, std::string& line) {
  std::array<char, 64> piece{};
  const auto size = recv(socket.number(), piece.data(), piece.size(), 0);
  if (size > 0) {
    line.append(piece.data(), static_cast<std::size_t>(size));
    return Read::something;
  }
  if (size == 0 || errno == ECONNRESET) return Read::end;
  if (errno != EAGAIN && errno != EINTR) fail(errno, "recv");
  return Read::nothing_yet;
}
}  // namespace

Socket::~Socket() {
  if (number_ < 0) return;
  close(number_);
  --open_;
}

Socket listen_on_loopback() {
  Socket listener = new_socket();
  const auto address = loopback(0);  // Any port that is free.
  if (bind(listener.number(), as_any(address), sizeof address) != 0) fail(errno, "bind");
  if (listen(listener.number(), SOMAXCONN) != 0) fail(errno, "listen");
  return listener;
}

std::uint16_t port_of(const Socket& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail(errno, "getsockname");
  }
  return ntohs(address.sin_port);
}

std::optional<Socket> accept_now(const Socket& listener) {
  while (true) {
    const int number = accept4(listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (number >= 0) return Socket(number);
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR && errno != ECONNABORTED) fail(errno, "accept4");
  }
}

handoff::Lazy<Socket> connect_to(Poller& poller, std::uint16_t port) {
  Socket socket = new_socket();
  if (begin_to_connect(socket, port)) co_return socket;
  if (!co_await poller.writable(socket.number())) throw Cancelled();
  if (const int error = error_of(socket)) fail(error, "connect");
  co_return socket;
}

handoff::Lazy<std::string> read_line(Poller& poller, const Socket& socket) {
  constexpr std::size_t longest = 200;
  std::string line;
  while (line.size() <= longest) {
    switch (read_some(socket, line)) {
      case Read::end: co_return std::string();
      case Read::nothing_yet:
        if (!co_await poller.readable(socket.number())) throw Cancelled();
        break;
      case Read::something:
        if (line.back() != '\n') break;
        line.pop_back();
        co_return line;
    }
  }
  fail(EMSGSIZE, "a line of the protocol");
}

void send_line(const Socket& socket, std::string_view line) {
  const auto text = std::string(line) + '\n';
  const auto sent = send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL);
  if (sent >= 0 && static_cast<std::size_t>(sent) == text.size()) return;
  fail(sent < 0 ? errno : EMSGSIZE, "send");
}

}  // namespace fan_out
