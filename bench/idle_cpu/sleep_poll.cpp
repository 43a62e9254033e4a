// Anti-pattern: consumers look every 10 ms.
#include "../support/queues/sleep_poll.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::SleepPollQueue>(argc, argv); }
