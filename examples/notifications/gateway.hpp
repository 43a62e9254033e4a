// The push service on the other side of a socket: it takes packets of notifications and remembers which ones came.
//
// A real socket between two ends of this process. It is of the kind that keeps packets whole and loses none
// (SOCK_SEQPACKET), and its sender waits while the receiver is behind.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace notifications {

struct Notification {
  std::uint64_t number;
  std::array<char, 56> text;
};
static_assert(sizeof(Notification) == 64);

inline constexpr std::size_t most_in_a_packet = 100;

class Gateway {
 public:
  // For notifications with numbers below `count`.
  explicit Gateway(std::uint64_t count);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Sends a packet; waits while the other end is behind. Any thread. Throws std::system_error if it cannot.
  void send(std::span<const Notification> packet);
  // No more will be sent. Waits until everything that was has arrived.
  void finish();

  std::uint64_t arrived() const { return arrived_; }
  std::uint64_t arrived_twice() const { return arrived_twice_; }  // Or with a number that is none.

 private:
  void receive();
  void note(const Notification& notification);

  int near_ = -1;
  int far_ = -1;
  std::atomic<std::uint64_t> arrived_ = 0;
  std::atomic<std::uint64_t> arrived_twice_ = 0;
  std::vector<bool> seen_;  // By number; used by the receiver only.
  std::thread receiver_;
};

}  // namespace notifications
