// oneTBB concurrent_bounded_queue.
#include "../support/queues/tbb.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::queue_throughput<bench::TbbQueue>(argc, argv); }
