// handoff::BlockingQueue.
#include "../support/queues/handoff.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::HandoffQueue>(argc, argv); }
