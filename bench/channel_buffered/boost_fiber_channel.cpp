// Boost.Fiber buffered_channel.
#include "../support/channels/boost_fiber.hpp"
#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::channel_buffered<bench::BoostFiberChannels<bench::FiberBuffer>>(argc, argv);
}
