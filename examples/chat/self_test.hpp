// Ten thousand clients, and what they check.
#pragma once

#include <cstdint>

namespace chat {

// The exit status. What is wrong has been printed. Throws if there is no server, or no socket.
int self_test(std::uint64_t sessions);

}  // namespace chat
