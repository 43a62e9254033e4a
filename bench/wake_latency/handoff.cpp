// handoff::BlockingQueue.
#include "../support/queues/handoff.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::HandoffQueue>(argc, argv); }
