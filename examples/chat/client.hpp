// A client of the test: WebSocket (RFC 6455) over a socket that never blocks. Written anew and not with Beast, so that both
// sides do not share their mistakes; and small, since there are ten thousand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace chat {

class Client {
 public:
  enum class State : std::uint8_t { connecting, upgrading, open, closed };

  // Connects to the loopback interface, from 127.0.0.`from`: each such address has ports of its own. Throws std::system_error.
  Client(std::uint16_t port, std::uint8_t from, int receive_buffer = 0);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int socket() const { return socket_; }
  State state() const { return state_; }
  bool wants_to_write() const { return state_ == State::connecting || !unsent_.empty(); }
  // The code of the close that came, or 0 if the connection broke.
  std::uint16_t close_code() const { return close_code_; }

  void send(std::string_view text) { send_frame(0x1, text); }
  // As if the machine had been switched off, but for the fact that the server hears of it.
  void kill();
  // Something can be read or written. `hear` is called with each line.
  void on_ready(const std::function<void(std::string_view text)>& hear);

 private:
  void send_frame(std::uint8_t kind, std::string_view text);
  void write();
  void read();
  void read_answer();
  // False: there is no whole frame.
  bool read_frame(const std::function<void(std::string_view)>& hear);
  void take_frame(std::uint8_t kind, std::string_view text,
                  const std::function<void(std::string_view)>& hear);
  void close_socket();

  int socket_ = -1;
  State state_ = State::connecting;
  std::uint16_t close_code_ = 0;
  std::string received_;
  std::size_t read_ = 0;  // How far.
  std::string unsent_;
  std::uint16_t port_;
};

}  // namespace chat
