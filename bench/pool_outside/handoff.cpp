// handoff::WorkerPool, post.
#include "../support/pools/handoff.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::pool_outside<bench::HandoffPool>(argc, argv); }
