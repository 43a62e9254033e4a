// What came of an attempt to read or write without waiting.
#pragma once

#include <cstddef>
#include <cstdint>

namespace handoff::server {

struct IoResult {
  // done: some bytes went over. wants_read, wants_write: try again when the socket can do that. ended: the other side has ended.
  enum class State : std::uint8_t { done, wants_read, wants_write, ended, failed };

  State state = State::failed;
  std::size_t bytes = 0;
};

}  // namespace handoff::server
