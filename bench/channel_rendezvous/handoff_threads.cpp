// handoff::Channel between threads.
#include "../support/channels/handoff_threads.hpp"

#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::channel_rendezvous<bench::HandoffThreadChannels>(argc, argv);
}
