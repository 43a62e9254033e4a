// oneTBB task_group in a task_arena.
#include "../support/pools/tbb.hpp"
#include "workload.hpp"

int main(int argc, char** argv) { return bench::pool_memory<bench::TbbPool>(argc, argv); }
