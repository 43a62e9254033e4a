// handoff::Channel between coroutines.
#include "../support/channels/handoff.hpp"

#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::channel_buffered<bench::HandoffChannels>(argc, argv);
}
