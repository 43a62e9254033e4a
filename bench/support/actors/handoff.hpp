// What the contenders of handoff's actors share.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <handoff/actor.hpp>
#include <stdexcept>
#include <string>

namespace bench {

constexpr std::size_t mailbox_capacity = 1000;

inline handoff::ActorOptions actor_options(std::size_t capacity = mailbox_capacity) {
  return {.mailbox = {.capacity = capacity, .when_full = handoff::WhenFull::block}};
}

// For sends that must be accepted, or the measurement is void.
template <typename Error>
void must(const std::expected<void, Error>& sent) {
  if (!sent) throw std::runtime_error("a message was refused");
}

inline void shut_down(handoff::ActorSystem& system) {
  static_cast<void>(system.shutdown(handoff::finish_within(std::chrono::seconds{30})));
}

}  // namespace bench
