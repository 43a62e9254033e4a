#include "server/http/client_watch.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <span>

namespace handoff::server {

namespace {

// A goodbye in TLS: an alert, which since TLS 1.3 looks like data but is shorter than any request.
bool is_tls_goodbye(std::span<const unsigned char> record) {
  constexpr unsigned char alert = 21;
  constexpr std::size_t longest_alert = 5 + 19;
  return record[0] == alert || (record.size() >= 5 && record.size() <= longest_alert);
}

}  // namespace

void ClientWatch::begin() { wait(); }

void ClientWatch::end() {
  boost::system::error_code ignored;
  if (is_waiting_) socket_->cancel(ignored);
  socket_ = nullptr;
}

void ClientWatch::wait() {
  is_waiting_ = true;
  socket_->async_wait(Socket::wait_read,
                      [self = shared_from_this()](boost::system::error_code error) {
                        self->is_waiting_ = false;
                        if (!error && self->socket_ != nullptr) self->look();
                      });
}

bool ClientWatch::has_client_ended() {
  if (has_client_ended_ || socket_ == nullptr) return has_client_ended_;
  // What he has sent before hides nothing here, unlike in look().
  pollfd ended{.fd = socket_->native_handle(), .events = POLLRDHUP, .revents = 0};
  has_client_ended_ = ::poll(&ended, 1, 0) == 1;
  return has_client_ended_;
}

void ClientWatch::on_tick() {
  if (!is_waiting_ && has_client_ended()) hurry();
}

// Who sends his next request is there. Until that is read there would always be something to see here, so from now on on_tick() looks.
void ClientWatch::look() {
  unsigned char bytes[64];
  const auto count = ::recv(socket_->native_handle(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return wait();
  if (count > 0 && !(is_tls_ && is_tls_goodbye({bytes, static_cast<std::size_t>(count)}))) return;
  has_client_ended_ = true;
  hurry();
}

}  // namespace handoff::server
