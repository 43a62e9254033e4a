// handoff::Semaphore against std::counting_semaphore and POSIX sem_t: one of eight permits is taken and given back.
#include <gnu/libc-version.h>
#include <semaphore.h>

#include <handoff/sync.hpp>
#include <semaphore>

#include "workload.hpp"

int main(int argc, char** argv) {
  constexpr int permits = 8;
  handoff::Semaphore our_semaphore{{.permits = permits}};
  std::counting_semaphore<> standard_semaphore{permits};
  sem_t posix_semaphore;
  sem_init(&posix_semaphore, 0, permits);

  const auto our_pair = [&our_semaphore] {
    (void)our_semaphore.acquire();  // Without a deadline or a stop token, nothing can refuse it.
    our_semaphore.release();
  };
  const auto standard_pair = [&standard_semaphore] {
    standard_semaphore.acquire();
    standard_semaphore.release();
  };
  const auto posix_pair = [&posix_semaphore] {
    sem_wait(&posix_semaphore);
    sem_post(&posix_semaphore);
  };
  return bench::uncontended_locks(
      argc, argv, bench::ours(our_pair), bench::standard(standard_pair),
      bench::LockContender{.name = "posix",
                           .version = std::string{"glibc "} + gnu_get_libc_version(),
                           .pair = posix_pair});
}
