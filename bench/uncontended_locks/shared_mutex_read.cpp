// handoff::SharedMutex against std::shared_mutex, locked shared.
#include <handoff/sync.hpp>
#include <shared_mutex>

#include "workload.hpp"

int main(int argc, char** argv) {
  handoff::SharedMutex our_mutex;
  std::shared_mutex standard_mutex;
  const auto pair = [](auto& mutex) {
    return [&mutex] {
      mutex.lock_shared();
      mutex.unlock_shared();
    };
  };
  return bench::uncontended_locks(argc, argv, bench::ours(pair(our_mutex)),
                                  bench::standard(pair(standard_mutex)));
}
