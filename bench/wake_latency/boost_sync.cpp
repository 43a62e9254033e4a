// Boost sync_bounded_queue.
#include "../support/queues/boost_sync.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::BoostSyncQueue>(argc, argv); }
