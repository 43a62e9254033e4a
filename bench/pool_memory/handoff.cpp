// handoff::WorkerPool, post.
#include "../support/pools/handoff.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::pool_memory<bench::HandoffPool>(argc, argv); }
