// handoff::BlockingQueue.
#include "../support/queues/handoff.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::queue_throughput<bench::HandoffQueue>(argc, argv); }
