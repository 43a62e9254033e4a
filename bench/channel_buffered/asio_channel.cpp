// Boost.Asio experimental channel.
#include "../support/channels/asio.hpp"
#include "workload.hpp"

int main(int argc, char** argv) { return bench::channel_buffered<bench::AsioChannels>(argc, argv); }
