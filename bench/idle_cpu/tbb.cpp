// oneTBB concurrent_bounded_queue.
#include "../support/queues/tbb.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::TbbQueue>(argc, argv); }
