// A mirror: a TCP server that takes its time. Asked "get 7" it answers "page 7", or an error if it is broken.
//
// Who hangs up before the answer is noticed at once, and not worked for any longer.
#pragma once

#include <atomic>
#include <cstdint>

#include "handoff/clock.hpp"
#include "handoff/lazy.hpp"
#include "handoff/scope.hpp"
#include "poller.hpp"
#include "socket.hpp"

namespace fan_out {

struct MirrorOptions {
  std::uint64_t seed = 1;
  std::uint64_t number = 0;  // Which of the mirrors it is.
  handoff::Duration longest{};
  bool is_broken = false;
};

// How long this mirror takes for a page: the same for the same seed.
handoff::Duration delay_of(const MirrorOptions& options, std::uint64_t page);

class Mirror {
 public:
  Mirror(const MirrorOptions& options, Poller& poller) : options_(options), poller_(poller) {}

  std::uint16_t port() const { return port_; }
  bool is_broken() const { return options_.is_broken; }

  // Serves everybody who comes, each by a coroutine of the scope, until it is asked to stop.
  handoff::Lazy<> serve(handoff::Scope& scope);

  // Guests: those who came, and what became of them.
  std::uint64_t came() const { return came_; }
  std::uint64_t answered() const { return answered_; }
  std::uint64_t hung_up() const { return hung_up_; }
  std::uint64_t left() const { return answered_ + hung_up_; }

 private:
  handoff::Lazy<> serve_one(Socket guest);
  handoff::Lazy<bool> answer(const Socket& guest);

  const MirrorOptions options_;
  Poller& poller_;
  const Socket listener_ = listen_on_loopback();
  const std::uint16_t port_ = port_of(listener_);
  std::atomic<std::uint64_t> came_ = 0;
  std::atomic<std::uint64_t> answered_ = 0;
  std::atomic<std::uint64_t> hung_up_ = 0;
};

}  // namespace fan_out
