// handoff::WorkerPool, submit, the future dropped.
#include "../support/pools/handoff_submit.hpp"

#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::pool_outside<bench::HandoffSubmitPool>(argc, argv);
}
