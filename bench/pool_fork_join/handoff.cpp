// handoff::WorkerPool, fork_join.
#include "../support/pools/handoff_fork_join.hpp"
#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::pool_fork_join<bench::HandoffForkJoin>(argc, argv);
}
