// handoff::BlockingQueue with a stop token and a deadline on every call.
#include "../support/queues/handoff_stop_deadline.hpp"

#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::wake_latency<bench::HandoffStopDeadlineQueue>(argc, argv);
}
