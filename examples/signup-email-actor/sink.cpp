#include "sink.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "handoff/waits.hpp"

namespace signup {

namespace {

constexpr std::size_t most_connections = 64;
constexpr std::size_t most_unsent = 10'000;  // Of one who does not read what he is told.

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// May be one of two of that number: so that a port stays ours while nobody listens there.
FileDescriptor socket_at(std::uint16_t port) {
  FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
  const int yes = 1;
  setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(made.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail("bind");
  }
  return made;
}

std::uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("getsockname");
  }
  return ntohs(address.sin_port);
}

}  // namespace

FileDescriptor::FileDescriptor(int number, const char* what) : number_(number) {
  if (number < 0) fail(what);
}
FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}
FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}
FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Port::Port() : socket_(socket_at(0)), number_(port_of(socket_)) {}

Sink::Sink(const Port& port, Inbox& inbox)
    : inbox_(inbox), listener_(socket_at(port.number())), end_(eventfd(0, EFD_CLOEXEC), "eventfd") {
  if (listen(listener_.number(), SOMAXCONN) != 0) fail("listen");
  thread_ = std::thread([this] { serve_all(); });
}

Sink::~Sink() {
  eventfd_write(end_.number(), 1);
  thread_.join();
}

void Sink::serve_all() {
  handoff::name_this_thread("SMTP server");
  while (true) {
    const bool has_room = connections_.size() < most_connections;
    std::vector<pollfd> wanted{
        {.fd = end_.number(), .events = POLLIN, .revents = 0},
        {.fd = has_room ? listener_.number() : -1, .events = POLLIN, .revents = 0}};
    for (const auto& each : connections_) {
      const short events = each->unsent.empty() ? POLLIN : POLLIN | POLLOUT;
      wanted.push_back({.fd = each->socket.number(), .events = events, .revents = 0});
    }
    if (poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return;
    if (wanted[0].revents != 0) return;
    for (std::size_t i = connections_.size(); i-- > 0;) {
      const short events = wanted[i + 2].revents;
      if (events == 0 || serve(*connections_[i], events)) continue;
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (wanted[1].revents != 0) accept_one();
  }
}

void Sink::accept_one() {
  const int number = accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (number < 0) return;  // He has gone again.
  inbox_.count_connection();
  connections_.push_back(std::make_unique<Connection>(
      Connection{FileDescriptor(number, "accept"), Dialogue(inbox_), Dialogue::greeting()}));
}

bool Sink::serve(Connection& connection, short events) {
  const int socket = connection.socket.number();
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
    std::array<char, 4096> bytes;
    const auto got = recv(socket, bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
    if (got > 0) {
      connection.unsent += connection.dialogue.hear({bytes.data(), static_cast<std::size_t>(got)});
    }
  }
  if (!connection.unsent.empty()) {
    const auto sent =
        send(socket, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) connection.unsent.erase(0, static_cast<std::size_t>(sent));
  }
  if (connection.dialogue.is_over() && connection.unsent.empty()) return false;
  return connection.unsent.size() <= most_unsent;
}

}  // namespace signup
