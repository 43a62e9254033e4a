// TCP on the loopback interface, for coroutines that speak in lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "handoff/lazy.hpp"
#include "poller.hpp"

namespace fan_out {

// Thrown out of whatever the coroutine waits for when it is asked to stop.
struct Cancelled {};

// An open socket; closed with it.
class Socket {
 public:
  explicit Socket(int number) : number_(number) { ++open_; }
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket();

  int number() const { return number_; }
  static std::uint64_t open() { return open_; }  // How many there are.

 private:
  static inline std::atomic<std::uint64_t> open_ = 0;
  int number_;
};

// All of these throw std::system_error if it does not work, those that wait also Cancelled.

Socket listen_on_loopback();
std::uint16_t port_of(const Socket& listener);
// The next one who has come, if there is one.
std::optional<Socket> accept_now(const Socket& listener);

handoff::Lazy<Socket> connect_to(Poller& poller, std::uint16_t port);
// Without its end. Empty if the other end has hung up.
handoff::Lazy<std::string> read_line(Poller& poller, const Socket& socket);
// Never waits: a short line has room on a connection that has sent nothing yet.
void send_line(const Socket& socket, std::string_view line);

}  // namespace fan_out
