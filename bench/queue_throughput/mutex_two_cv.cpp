// std::mutex and two std::condition_variables around a ring.
#include "../support/queues/mutex_two_cv.hpp"

#include "workload.hpp"

int main(int argc, char** argv) {
  return bench::queue_throughput<bench::MutexTwoCvQueue>(argc, argv);
}
