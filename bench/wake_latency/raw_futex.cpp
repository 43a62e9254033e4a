// The floor: one futex, no queue.
#include "../support/queues/raw_futex.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::RawFutexSlot>(argc, argv); }
