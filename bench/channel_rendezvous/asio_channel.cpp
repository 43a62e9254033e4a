// Boost.Asio experimental channel.
#include "../support/channels/asio.hpp"
#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::channel_rendezvous<bench::AsioChannels>(argc, argv);
}
