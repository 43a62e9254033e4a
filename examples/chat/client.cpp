#include "client.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace chat {

namespace {

// The example of RFC 6455, 1.3: the answer to this key is known.
constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
constexpr std::array<char, 4> mask{'\x2b', '\x5c', '\x01', '\x7f'};

sockaddr_in loopback(std::uint8_t last, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(0x7f000000U + last);
  return address;
}

const sockaddr* plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Client::Client(std::uint16_t port, std::uint8_t from, int receive_buffer) : port_(port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail("socket");
  const int yes = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  setsockopt(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
  if (receive_buffer > 0) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  const auto here = loopback(from, 0);
  const auto there = loopback(1, port);
  if (bind(socket_, plain(here), sizeof(here)) != 0 ||
      (connect(socket_, plain(there), sizeof(there)) != 0 && errno != EINPROGRESS)) {
    const int error = errno;
    close_socket();
    errno = error;
    fail("connect");
  }
}

Client::~Client() { close_socket(); }

void Client::close_socket() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  state_ = State::closed;
}

void Client::kill() {
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  close_socket();
}

void Client::on_ready(const std::function<void(std::string_view)>& hear) {
  if (state_ == State::connecting) {
    state_ = State::upgrading;
    unsent_ = fmt::format(
        "GET /chat HTTP/1.1\r\nHost: localhost:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\nOrigin: http://localhost:{}\r\n\r\n",
        port_, key, port_);
  }
  write();
  read();
  if (state_ == State::upgrading) read_answer();
  while (state_ == State::open && read_frame(hear)) {
  }
  received_.erase(0, std::exchange(read_, 0));
  if (received_.empty() && received_.capacity() > 1'000) received_.shrink_to_fit();
  write();
}

void Client::write() {
  while (socket_ >= 0 && !unsent_.empty()) {
    const auto sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent <= 0) return close_socket();
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Client::read() {
  std::array<char, 16'384> bytes;
  while (socket_ >= 0) {
    const auto got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got > 0) received_.append(bytes.data(), static_cast<std::size_t>(got));
    if (got == static_cast<ssize_t>(bytes.size())) continue;
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
      // What came before the end counts: the goodbye.
      while (state_ == State::open && read_frame([](std::string_view) {})) {
      }
      close_socket();
    }
    return;
  }
}

void Client::read_answer() {
  const auto end = received_.find("\r\n\r\n");
  if (end == std::string::npos) return;
  const auto head = std::string_view(received_).substr(0, end);
  if (!head.starts_with("HTTP/1.1 101") || head.find(accepted) == std::string_view::npos) {
    return close_socket();
  }
  read_ = end + 4;
  state_ = State::open;
}

bool Client::read_frame(const std::function<void(std::string_view)>& hear) {
  const auto rest = std::string_view(received_).substr(read_);
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
  if (rest.size() < 2) return false;
  std::size_t size = byte(1) & 0x7fU;
  std::size_t head = 2;
  if (size == 126) {
    head = 4;
    if (rest.size() < head) return false;
    size = byte(2) * 256U + byte(3);
  }
  // Whole messages only, not masked, and none of the longest kind: the server has no others.
  if ((byte(0) & 0xf0U) != 0x80U || (byte(1) & 0x80U) != 0 || size == 127) {
    close_socket();
    return false;
  }
  if (rest.size() < head + size) return false;
  read_ += head + size;
  take_frame(byte(0) & 0x0fU, rest.substr(head, size), hear);
  return true;
}

void Client::take_frame(std::uint8_t kind, std::string_view text,
                        const std::function<void(std::string_view)>& hear) {
  while (kind == 0x1 && !text.empty()) {
    const auto end = text.find('\n');
    hear(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (kind == 0x9) send_frame(0xA, text);  // A ping.
  if (kind == 0x8 && text.size() >= 2) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    close_code_ = static_cast<std::uint16_t>(byte(0) * 256U + byte(1));
    send_frame(0x8, text.substr(0, 2));
  }
}

void Client::send_frame(std::uint8_t kind, std::string_view text) {
  unsent_ += static_cast<char>(0x80U | kind);
  if (text.size() < 126) {
    unsent_ += static_cast<char>(0x80U | text.size());
  } else {
    unsent_ += static_cast<char>(0x80U | 126U);
    unsent_ += static_cast<char>(text.size() >> 8U);
    unsent_ += static_cast<char>(text.size() & 0xffU);
  }
  unsent_.append(mask.data(), mask.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsent_ += static_cast<char>(text[i] ^ mask[i % mask.size()]);
  }
  write();
}

}  // namespace chat
