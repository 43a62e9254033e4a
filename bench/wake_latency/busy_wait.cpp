// Anti-pattern: consumers spin.
#include "../support/queues/busy_wait.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::BusyWaitQueue>(argc, argv); }
