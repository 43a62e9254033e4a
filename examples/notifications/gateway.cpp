#include "gateway.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "handoff/waits.hpp"

namespace notifications {

namespace {
[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}
}  // namespace

Gateway::Gateway(std::uint64_t count) : seen_(count) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  near_ = ends[0];
  far_ = ends[1];
  receiver_ = std::thread([this] { receive(); });
}

Gateway::~Gateway() {
  finish();
  close(near_);
  close(far_);
}

void Gateway::send(std::span<const Notification> packet) {
  const auto size = packet.size_bytes();
  ssize_t sent = 0;
  do {
    sent = ::send(near_, packet.data(), size, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(size)) fail("send");
}

void Gateway::finish() {
  if (!receiver_.joinable()) return;
  shutdown(near_, SHUT_WR);  // The receiver reads what is left, then the end.
  receiver_.join();
}

void Gateway::receive() {
  handoff::name_this_thread("gateway");
  std::vector<Notification> packet(most_in_a_packet);
  while (true) {
    const auto size = recv(far_, packet.data(), packet.size() * sizeof(Notification), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    const auto count = static_cast<std::size_t>(size) / sizeof(Notification);
    for (std::size_t i = 0; i < count; ++i) note(packet[i]);
    arrived_ += count;
  }
}

void Gateway::note(const Notification& notification) {
  if (notification.number >= seen_.size() || seen_[notification.number]) {
    ++arrived_twice_;
  } else {
    seen_[notification.number] = true;
  }
}

}  // namespace notifications
