// An HTTP client for tests that sends exactly the bytes it is given, over a socket of its own.
//
//   raw::Client client(server.port());
//   client.send("GET /v1/queues HTTP/1.1\r\nHost: localhost\r\n\r\n");
//   const raw::Answer answer = client.read_answer();
//   EXPECT_EQ(answer.status, 200);
//
//   raw::get(port, "/healthz")                     a connection for one request
//   raw::post(port, "/v1/tasks", R"({...})")
//
// What takes longer than ten seconds throws, so that a test ends.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace raw {

struct Answer {
  int status = 0;
  std::string version{};
  std::vector<std::pair<std::string, std::string>> headers{};  // Names in lower case.
  std::string body{};

  // Empty if there is none.
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
  bool has(std::string_view name) const {
    return std::ranges::any_of(headers, [&](const auto& each) { return each.first == name; });
  }
};

struct ClientOptions {
  std::string address = "127.0.0.1";
  int receive_buffer = 0;  // In bytes; 0: as the system likes.
};

class Client {
 public:
  explicit Client(std::uint16_t port, const ClientOptions& options = {}) {
    const bool is_v6 = options.address.find(':') != std::string::npos;
    fd_ = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0) fail("socket");
    if (options.receive_buffer > 0) set(SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    const int connected =
        is_v6 ? connect_v6(options.address, port) : connect_v4(options.address, port);
    if (connected != 0) fail("connect");
  }
  virtual ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) {
    if (!try_send(bytes)) fail("send");
  }
  // False if the server does not take it any more.
  bool try_send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = write_some(bytes);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // No more will be sent, but the answer is still awaited.
  virtual void finish_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // Gone without a goodbye.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  // The next answer; by its length, its chunks, or until the server closes. `to_head`: there is no body.
  Answer read_answer(bool to_head = false) {
    Answer answer = read_head();
    if (to_head || answer.status == 204 || answer.status == 304 || answer.status < 200)
      return answer;
    if (answer.header("transfer-encoding") == "chunked") {
      while (auto chunk = read_chunk()) answer.body += *chunk;
    } else if (answer.has("content-length")) {
      answer.body = take(std::stoul(answer.header("content-length")));
    } else {
      answer.body = read_to_end();
    }
    return answer;
  }
  // Only the status and the headers.
  Answer read_head() {
    const std::string head = take_until("\r\n\r\n");
    Answer answer;
    const auto first_end = head.find("\r\n");
    const std::string first = head.substr(0, first_end);
    if (first.size() < 12 || !first.starts_with("HTTP/1."))
      throw std::runtime_error("no HTTP: " + head);
    answer.version = first.substr(0, 8);
    answer.status = std::stoi(first.substr(9, 3));
    for (auto at = first_end + 2; at < head.size() - 2;) {
      const auto end = head.find("\r\n", at);
      answer.headers.push_back(split_field(head.substr(at, end - at)));
      at = end + 2;
    }
    return answer;
  }
  // Nothing after the last one.
  std::optional<std::string> read_chunk() {
    const std::string size = take_until("\r\n");
    const auto length = std::stoul(size, nullptr, 16);
    std::string chunk = take(length);
    if (take(2) != "\r\n") throw std::runtime_error("a chunk is longer than it says");
    if (length == 0) return std::nullopt;
    return chunk;
  }
  // All that comes until the server closes the connection, in order or not.
  std::string read_to_end() {
    while (fill()) {
    }
    return std::exchange(received_, {});
  }
  // Waits for the server to close; false if it sends something instead.
  bool is_closed_by_server() { return received_.empty() && !fill(); }
  // Whether something can be read right now.
  bool has_input() const {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    return !received_.empty() || ::poll(&ready, 1, 0) == 1;
  }
  int fd() const { return fd_; }

 protected:
  // As recv() and send().
  virtual ssize_t read_some(char* to, std::size_t size) { return ::recv(fd_, to, size, 0); }
  virtual ssize_t write_some(std::string_view bytes) {
    wait_for(POLLOUT);
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Whether there is more to read than the socket knows.
  virtual bool has_buffered_input() const { return false; }
  void wait_for(short events) const {
    if (events == POLLIN && has_buffered_input()) return;
    pollfd ready{.fd = fd_, .events = events, .revents = 0};
    if (::poll(&ready, 1, 10'000) == 0) throw std::runtime_error("the server did nothing for 10 s");
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  void set(int level, int option, int value) const {
    ::setsockopt(fd_, level, option, &value, sizeof value);
  }
  int connect_v4(const std::string& address, std::uint16_t port) const {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    return ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  int connect_v6(const std::string& address, std::uint16_t port) const {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    ::inet_pton(AF_INET6, address.c_str(), &to.sin6_addr);
    return ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }

  static std::pair<std::string, std::string> split_field(const std::string& line) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("no header: " + line);
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return {name, line.substr(colon + 2)};
  }
  // False at the end, however it came.
  bool fill() {
    char bytes[16384];
    wait_for(POLLIN);
    const auto count = read_some(bytes, sizeof bytes);
    if (count <= 0) return false;
    received_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }
  std::string take(std::size_t size) {
    while (received_.size() < size) {
      if (!fill()) throw std::runtime_error("the server closed within an answer: " + received_);
    }
    std::string taken = received_.substr(0, size);
    received_.erase(0, size);
    return taken;
  }
  std::string take_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = received_.find(mark)) == std::string::npos) {
      if (!fill()) throw std::runtime_error("the server closed before an answer: " + received_);
    }
    return take(at + mark.size());
  }

  int fd_ = -1;
  std::string received_;
};

// `headers` are whole lines, each with its \r\n.
inline std::string request(std::string_view method, std::string_view target,
                           std::string_view body = {}, std::string_view headers = {}) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(headers);
  if (!body.empty() || method == "POST" || method == "PUT") {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text.append("\r\n").append(body);
}

inline Answer ask(std::uint16_t port, std::string_view text) {
  Client client(port);
  client.send(text);
  return client.read_answer();
}
inline Answer get(std::uint16_t port, std::string_view target, std::string_view headers = {}) {
  return ask(port, request("GET", target, {}, headers));
}
inline Answer post(std::uint16_t port, std::string_view target, std::string_view body,
                   std::string_view headers = {}) {
  return ask(port, request("POST", target, body, headers));
}

}  // namespace raw
