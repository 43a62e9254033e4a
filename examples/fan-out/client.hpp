// Asks all mirrors at once, takes the first answer and cancels the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/lazy.hpp"
#include "mirror.hpp"
#include "poller.hpp"

namespace fan_out {

// How one asking of one mirror has ended.
enum class Ending : std::uint8_t { answered, cancelled, failed };
inline constexpr std::size_t endings = 3;

// One page, and what became of asking for it.
struct Fetched {
  std::uint64_t page = 0;
  std::vector<Ending> asked;  // By mirror.
  std::size_t winner = 0;
  bool has_winner = false;
  bool was_stopped = false;  // We were asked to stop before anybody had answered.
  std::uint64_t still_asked =
      0;  // Askings that had not ended when this one was over: there must be none.
  handoff::Duration took{};
};

class Client {
 public:
  Client(std::deque<Mirror>& mirrors, Poller& poller) : mirrors_(mirrors), poller_(poller) {}

  // Fetches so many pages, one after the other, until it is asked to stop.
  handoff::Lazy<> fetch_all(std::uint64_t pages, const std::function<void(const Fetched&)>& tell);

  std::uint64_t dialled() const { return dialled_; }      // Connections begun,
  std::uint64_t connected() const { return connected_; }  // and come about.
  std::uint64_t asked_now() const { return asked_now_; }

 private:
  handoff::Lazy<Fetched> fetch(std::uint64_t page);
  handoff::Lazy<std::string> ask(std::size_t mirror, std::uint64_t page, Ending& ending);
  handoff::Lazy<std::string> ask(std::uint16_t port, std::uint64_t page);

  std::deque<Mirror>& mirrors_;
  Poller& poller_;
  std::atomic<std::uint64_t> dialled_ = 0;
  std::atomic<std::uint64_t> connected_ = 0;
  std::atomic<std::uint64_t> asked_now_ = 0;
};

}  // namespace fan_out
