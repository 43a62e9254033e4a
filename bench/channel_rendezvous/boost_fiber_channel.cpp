// Boost.Fiber unbuffered_channel.
#include "../support/channels/boost_fiber.hpp"
#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::channel_rendezvous<bench::BoostFiberChannels<bench::FiberRendezvous>>(argc, argv);
}
