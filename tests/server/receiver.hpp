// Somebody whom tasks are sent to: an HTTP server of the test's own, which keeps all that it gets and answers as the test says.
//
//   Receiver receiver([](const Received& request) { return answer(request.count == 1 ? 500 : 200, "{}"); });
//   ... deliver_to receiver.url() ...
//   eventually([&] { return receiver.count() == 2; });
//   EXPECT_EQ(receiver.all()[0].header("handoff-attempt"), "1");
//
// An empty answer is none: the connection stays open until let_go() or the end, and is then closed.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace handoff::tests {

struct Received {
  int count = 0;  // From 1 on.
  std::string line;
  std::vector<std::pair<std::string, std::string>> headers;  // Names in lower case.
  std::string body;

  std::string path() const {
    const auto begin = line.find(' ') + 1;
    return line.substr(begin, line.find(' ', begin) - begin);
  }
  // "(none)" if it is not there.
  std::string header(std::string_view name) const {
    const auto found =
        std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
    return found == headers.end() ? "(none)" : found->second;
  }
};

// `headers` are whole lines, each with its \r\n.
inline std::string answer(int status, std::string_view body = "", std::string_view headers = "") {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Whatever\r\n";
  text.append(headers);
  if (status != 204) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text.append("\r\n").append(body);
}

class Receiver {
 public:
  using Answers = std::function<std::string(const Received&)>;

  explicit Receiver(
      Answers answers = [](const Received&) { return answer(200); }, std::uint16_t port = 0)
      : answers_(std::move(answers)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        release_(::eventfd(0, EFD_CLOEXEC)) {
    listen(port);
    accepts_ = std::jthread([this] { accept_all(); });
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() {
    raise(stop_);
    accepts_.join();
    connections_.clear();
    for (const int each : {listener_, stop_, release_}) ::close(each);
  }

  std::uint16_t port() const { return port_; }
  std::string url(std::string_view path = "/hook") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  std::vector<Received> all() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  std::size_t count() const { return all().size(); }
  // Those who wait for an answer get this one.
  void let_go(std::string text) {
    {
      const std::lock_guard lock(mutex_);
      last_words_ = std::move(text);
    }
    raise(release_);
  }

 private:
  static void raise(int event) {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event, &one, sizeof one));
  }
  void listen(std::uint16_t port) {
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 128) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "listen");
    }
    port_ = ntohs(address.sin_port);
  }
  // Waits for one of two; true if it is the first, and the second is not there.
  static bool is_ready(int descriptor, int unless) {
    std::array<pollfd, 2> both{pollfd{.fd = descriptor, .events = POLLIN, .revents = 0},
                               pollfd{.fd = unless, .events = POLLIN, .revents = 0}};
    ::poll(both.data(), both.size(), -1);
    return both[1].revents == 0;
  }
  void accept_all() {
    while (is_ready(listener_, stop_)) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      connections_.emplace_back([this, connection] {
        serve(connection);
        ::close(connection);
      });
    }
  }
  void serve(int connection) {
    std::string bytes;
    for (;;) {
      const auto end = bytes.find("\r\n\r\n");
      if (end != std::string::npos &&
          bytes.size() >= end + 4 + length_in(bytes.substr(0, end + 2))) {
        const std::string text = respond(bytes, end);
        if (text.empty()) return wait_and_say(connection);
        if (::send(connection, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
        continue;
      }
      if (!is_ready(connection, stop_)) return;
      std::array<char, 16384> some;
      const auto count = ::recv(connection, some.data(), some.size(), 0);
      if (count <= 0) return;
      bytes.append(some.data(), static_cast<std::size_t>(count));
    }
  }
  static std::string lowered(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
  }
  static std::size_t length_in(const std::string& head) {
    const std::string small = lowered(head);
    constexpr std::string_view name = "\r\ncontent-length: ";
    const auto at = small.find(name);
    return at == std::string::npos ? 0 : std::stoul(small.substr(at + name.size()));
  }
  // Takes the request out of the bytes.
  std::string respond(std::string& bytes, std::size_t head_end) {
    Received request;
    const std::string head = bytes.substr(0, head_end + 2);
    request.line = head.substr(0, head.find("\r\n"));
    for (auto at = request.line.size() + 2; at < head.size();) {
      const auto end = head.find("\r\n", at);
      const std::string field = head.substr(at, end - at);
      const auto colon = field.find(": ");
      request.headers.emplace_back(lowered(field.substr(0, colon)), field.substr(colon + 2));
      at = end + 2;
    }
    request.body = bytes.substr(head_end + 4, length_in(head));
    bytes.erase(0, head_end + 4 + request.body.size());
    {
      const std::lock_guard lock(mutex_);
      request.count = static_cast<int>(received_.size()) + 1;
      received_.push_back(request);
    }
    return answers_(request);
  }
  void wait_and_say(int connection) {
    if (!is_ready(release_, stop_)) return;
    const std::lock_guard lock(mutex_);
    static_cast<void>(::send(connection, last_words_.data(), last_words_.size(), MSG_NOSIGNAL));
  }

  const Answers answers_;
  const int listener_;
  const int stop_;
  const int release_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Received> received_;       // Guarded by mutex_.
  std::string last_words_;               // The same.
  std::list<std::jthread> connections_;  // Of the thread that accepts.
  std::jthread accepts_;
};

}  // namespace handoff::tests
