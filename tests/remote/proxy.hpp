// Stands between a client and a server, and loses answers: the server has carried out what it was asked for, and nobody hears of it.
//
//   Proxy proxy(server.port());
//   proxy.lose("POST /v1/tasks ");                 // the next answer to such a request: both connections are cut instead
//   ... tasks::open(proxy.url()) ...
//   EXPECT_EQ(proxy.lost(), 1);
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace handoff::tests {

class Proxy {
 public:
  explicit Proxy(std::uint16_t server)
      : server_(server), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "listen");
    }
    port_ = ntohs(address.sin_port);
    accepts_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() {
    accepts_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);  // Wakes accept().
    accepts_.join();
    pairs_.clear();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // The next answer to a request that begins so.
  void lose(std::string request) {
    const std::lock_guard turn(lock_);
    loses_ = std::move(request);
  }
  int lost() const { return lost_; }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void accept_all(const std::stop_token& stop) {
    for (;;) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0 || stop.stop_requested()) {
        if (client >= 0) ::close(client);
        return;
      }
      pairs_.emplace_back([this, client](const std::stop_token& ends) { pass_on(client, ends); });
    }
  }

  void pass_on(int client, const std::stop_token& stop) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_);
    const bool is_there =
        ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    {
      // A stop cuts both.
      const std::stop_callback cuts(stop, [&] {
        ::shutdown(client, SHUT_RDWR);
        ::shutdown(server, SHUT_RDWR);
      });
      if (is_there) pass_on_both(client, server);
    }
    ::close(client);
    ::close(server);
  }

  void pass_on_both(int client, int server) {
    std::string request;  // The beginning of the last one.
    bool is_answered = true;
    std::array<pollfd, 2> both{{{.fd = client, .events = POLLIN, .revents = 0},
                                {.fd = server, .events = POLLIN, .revents = 0}}};
    std::array<char, 65536> bytes;
    for (;;) {
      ::poll(both.data(), both.size(), -1);
      if (both[0].revents != 0) {
        const auto count = ::recv(client, bytes.data(), bytes.size(), 0);
        if (count <= 0) return;
        if (std::exchange(is_answered, false)) request.clear();
        request.append(bytes.data(), std::min<std::size_t>(static_cast<std::size_t>(count), 100));
        if (!send_all(server, bytes.data(), count)) return;
      }
      if (both[1].revents != 0) {
        const auto count = ::recv(server, bytes.data(), bytes.size(), 0);
        if (count <= 0 || is_to_lose(request)) return;
        is_answered = true;
        if (!send_all(client, bytes.data(), count)) return;
      }
    }
  }

  static bool send_all(int to, const char* bytes, ssize_t left) {
    while (left > 0) {
      const auto sent = ::send(to, bytes, static_cast<std::size_t>(left), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes += sent;
      left -= sent;
    }
    return true;
  }

  bool is_to_lose(const std::string& request) {
    const std::lock_guard turn(lock_);
    if (loses_.empty() || !request.starts_with(loses_)) return false;
    loses_.clear();
    ++lost_;
    return true;
  }

  const std::uint16_t server_;
  const int listener_;
  std::uint16_t port_ = 0;
  std::mutex lock_;
  std::string loses_;
  std::atomic<int> lost_ = 0;
  std::vector<std::jthread> pairs_;  // The accepting thread's, while that runs.
  std::jthread accepts_;
};

}  // namespace handoff::tests
