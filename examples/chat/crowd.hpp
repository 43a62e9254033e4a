// Many clients in one thread. What each of them hears goes to a function.
//
//   Crowd crowd(port);
//   const auto ada = crowd.add();
//   crowd.send(ada, "login ada");
//   crowd.run_until([&] { return is_welcome; });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client.hpp"

namespace chat {

class Crowd {
 public:
  using Hear = std::function<void(std::size_t client, std::string_view text)>;

  Crowd(std::uint16_t port, Hear hear);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // The number of the new client. What it sends before it is connected waits.
  std::size_t add(int receive_buffer = 0);
  void send(std::size_t client, std::string_view text);
  void kill(std::size_t client);
  void stop_reading(std::size_t client);  // It stays connected, and takes nothing any more.

  // False if that does not come true within a minute.
  bool run_until(const std::function<bool()>& fact);

  std::size_t size() const { return clients_.size(); }
  std::size_t open() const { return open_; }
  const Client& operator[](std::size_t client) const { return *clients_[client].client; }

 private:
  struct Entry {
    std::unique_ptr<Client> client;
    std::vector<std::string> waiting = {};  // To be said once it is connected.
    bool is_open = false;
    bool wants_to_write = true;
  };
  void ready(std::size_t number);
  void watch(std::size_t number);
  void closed(Entry& entry);

  const std::uint16_t port_;
  const Hear hear_;
  const int epoll_;
  std::vector<Entry> clients_;
  std::size_t open_ = 0;
};

}  // namespace chat
