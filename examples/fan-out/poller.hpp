// Lets coroutines wait for sockets: one thread watches all of them, and sets an event when one is ready.
//
//   if (!co_await poller.readable(socket)) co_return;     // refused: the coroutine is asked to stop
//
// This is all that it takes to bring a source of events of your own to Handoff's coroutines. With Boost.Asio you need
// none of it: see examples/event-loop.
#pragma once

#include <cstdint>
#include <expected>
#include <thread>
#include <unordered_map>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/mutex.hpp"
#include "handoff/refusal.hpp"

namespace fan_out {

class Poller {
 public:
  using Waited = std::expected<void, handoff::Refusal>;

  // Throws std::system_error if the system has no room for it.
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Waits until there is something to read, or the other end has hung up. One coroutine a socket.
  handoff::Lazy<Waited> readable(int socket);
  // Waits until something can be written, or a connection has come about or failed.
  handoff::Lazy<Waited> writable(int socket);

 private:
  class Watch;

  handoff::Lazy<Waited> wait_for(int socket, std::uint32_t what);
  void watch_all();

  const int epoll_;
  const int end_;  // Written to once, to end the thread.
  handoff::Mutex mutex_{{.name = "poller"}};
  // Guarded by mutex_. By number, not by address: what epoll reports may be of a wait that is over.
  std::unordered_map<std::uint64_t, handoff::Event*> watched_;
  std::uint64_t last_number_ = 0;
  std::thread thread_;
};

}  // namespace fan_out
