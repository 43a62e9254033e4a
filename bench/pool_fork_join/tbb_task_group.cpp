// oneTBB task_group: run and wait.
#include "../support/pools/tbb_fork_join.hpp"
#include "workload.hpp"

int main(int argc, char** argv) { return bench::pool_fork_join<bench::TbbTaskGroup>(argc, argv); }
