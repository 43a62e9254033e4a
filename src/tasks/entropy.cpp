// Each thread has a buffer, and the buffer an epoch. The process has an epoch too, in a page that the kernel wipes when it forks. A buffer of
// another epoch than the process was filled before the fork, in the parent as well as here: it is thrown away.
#include "tasks/entropy.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

using Epoch = std::uint64_t;
constexpr Epoch none = 0;

struct Buffer {
  std::array<std::uint64_t, 32> numbers;  // 256 bytes: getrandom() gives that many at once or none.
  std::size_t left = 0;
  Epoch epoch = none;
};

void fill(void* to, std::size_t size) {
  while (::getrandom(to, size, 0) != static_cast<ssize_t>(size))
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
}

// The wiped page; null if there is no such thing here (Linux before 4.14).
detail::atomic<Epoch>* make_epoch() {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (::madvise(page, size, MADV_WIPEONFORK) != 0) {
    ::munmap(page, size);
    return nullptr;
  }
  return new (page) detail::atomic<Epoch>(none);
}

// Relaxed throughout: a thread compares its own buffer with it, and nothing else is published by it.
Epoch current_epoch(detail::atomic<Epoch>& of_process) {
  if (const Epoch epoch = of_process.load(detail::relaxed); epoch != none) [[likely]]
    return epoch;
  Epoch fresh = none;
  while (fresh == none) fill(&fresh, sizeof fresh);
  Epoch expected = none;
  return of_process.compare_exchange_strong(expected, fresh, detail::relaxed) ? fresh : expected;
}

}  // namespace

std::uint64_t random_bits() {
  static detail::atomic<Epoch>* const of_process = make_epoch();
  if (of_process == nullptr) [[unlikely]] {
    std::uint64_t number;
    fill(&number, sizeof number);
    return number;
  }

  static thread_local constinit Buffer buffer{};
  const Epoch epoch = current_epoch(*of_process);
  if (buffer.left == 0 || buffer.epoch != epoch) {
    fill(buffer.numbers.data(), sizeof buffer.numbers);
    buffer.left = buffer.numbers.size();
    buffer.epoch = epoch;
  }
  return buffer.numbers[--buffer.left];
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
