// handoff::Mutex against std::mutex.
#include <handoff/sync.hpp>
#include <mutex>

#include "workload.hpp"

int main(int argc, char** argv) {
  handoff::Mutex our_mutex;
  std::mutex standard_mutex;
  const auto pair = [](auto& mutex) {
    return [&mutex] {
      mutex.lock();
      mutex.unlock();
    };
  };
  return bench::uncontended_locks(argc, argv, bench::ours(pair(our_mutex)),
                                  bench::standard(pair(standard_mutex)));
}
