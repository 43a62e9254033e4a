// How the server treats single clients: what it refuses, and whom it cuts off.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace chat {

struct Manner {
  bool is_right;
  std::string_view what;
};

std::vector<Manner> check_manners(std::uint16_t port);

}  // namespace chat
