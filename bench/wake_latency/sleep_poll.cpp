// Anti-pattern: consumers look every 10 ms.
#include "../support/queues/sleep_poll.hpp"

#include "workload.hpp"

// Items come at any moment of the poll interval, not always early in it.
constexpr bench::Pauses pauses{.longest = bench::SleepPollQueue::poll_interval};

int main(int argc, char** argv) {
  return bench::wake_latency<bench::SleepPollQueue>(argc, argv, pauses);
}
