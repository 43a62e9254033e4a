// moodycamel BlockingConcurrentQueue, bounded by its LightweightSemaphore.
#include "../support/queues/moodycamel.hpp"

#include "workload.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::MoodycamelQueue>(argc, argv); }
