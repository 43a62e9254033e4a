// oneTBB concurrent_bounded_queue.
#include "../support/queues/tbb.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::TbbQueue>(argc, argv); }
