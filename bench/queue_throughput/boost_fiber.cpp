// Boost.Fiber buffered_channel, used across threads.
#include "../support/queues/boost_fiber.hpp"

#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::queue_throughput<bench::BoostFiberQueue>(argc, argv);
}
